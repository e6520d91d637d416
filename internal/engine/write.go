package engine

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"

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

func part(app *v1alpha1.Application) ([]byte, error) {
	return json.Marshal(written{
		Metadata:  writtenMeta{Annotations: app.Annotations, Finalizers: app.Finalizers},
		Operation: app.Operation,
		Status:    app.Status,
	})
}

// write sends the difference between an application as it was read and as it
// should be, and nothing if there is none. The server takes it only if nobody
// else wrote in between: a look at an old application must not overwrite what
// it did not see.
func (e *Engine) write(ctx context.Context, was, next *v1alpha1.Application) (*v1alpha1.Application, error) {
	from, err := part(was)
	if err != nil {
		return nil, fmt.Errorf("encoding application %q: %w", e.key(was), err)
	}
	to, err := part(next)
	if err != nil {
		return nil, fmt.Errorf("encoding application %q: %w", e.key(was), err)
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return nil, fmt.Errorf("comparing application %q: %w", e.key(was), err)
	}
	if string(patch) == "{}" {
		return was, nil
	}
	patch, err = guarded(patch, was.ResourceVersion)
	if err != nil {
		return nil, err
	}
	app, err := e.Hub.PatchApplication(ctx, e.key(was), patch)
	if err != nil {
		return nil, err
	}
	e.changed(ctx, was, app)
	return app, nil
}

// guarded adds the resource version that a patch is meant for.
func guarded(patch []byte, resourceVersion string) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(patch, &m); err != nil {
		return nil, fmt.Errorf("reading back a patch: %w", err)
	}
	meta, ok := m["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		m["metadata"] = meta
	}
	meta["resourceVersion"] = resourceVersion
	return json.Marshal(m)
}
