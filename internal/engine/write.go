package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// written is the part of an application that the engine writes.
type written struct {
	Metadata  writtenMeta                `json:"metadata"`
	Operation *v1alpha1.Operation        `json:"operation,omitempty"`
	Status    v1alpha1.ApplicationStatus `json:"status"`
}

type writtenMeta struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
}

func part(app *v1alpha1.Application) written {
	return written{
		Metadata:  writtenMeta{Annotations: app.Annotations, Finalizers: app.Finalizers},
		Operation: app.Operation,
		Status:    app.Status,
	}
}

// write sends the difference between an application as it was read and as it
// should be, and nothing if there is none. The server takes it only if nobody
// else wrote in between: a look at an old application must not overwrite what
// it did not see.
func (e *Engine) write(ctx context.Context, was, next *v1alpha1.Application) (*v1alpha1.Application, error) {
	patch, err := patchOf(was, next)
	if err != nil {
		return nil, fmt.Errorf("comparing application %q: %w", e.key(was), err)
	}
	if patch == nil {
		return was, nil
	}
	app, err := e.Hub.PatchApplication(ctx, e.key(was), patch)
	if err != nil {
		return nil, err
	}
	e.changed(ctx, was, app)
	return app, nil
}

// patchOf is what differs, for the resource version that it was decided from;
// nil if nothing does.
func patchOf(was, next *v1alpha1.Application) ([]byte, error) {
	differs, err := difference(part(was), part(next))
	if differs == nil || err != nil {
		return nil, err
	}
	patch, _ := differs.(map[string]any)
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"] = was.ResourceVersion
	patch["metadata"] = meta
	return json.Marshal(patch)
}
