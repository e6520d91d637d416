package engine

import (
	"bytes"
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
	if bytes.Equal(from, to) {
		return was, nil
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

// guarded adds the resource version that a patch is meant for. The status, which
// is most of it, is passed on as it is.
func guarded(patch []byte, resourceVersion string) ([]byte, error) {
	var top, meta map[string]json.RawMessage
	if err := json.Unmarshal(patch, &top); err != nil {
		return nil, fmt.Errorf("reading back a patch: %w", err)
	}
	if of, ok := top["metadata"]; ok {
		if err := json.Unmarshal(of, &meta); err != nil {
			return nil, fmt.Errorf("reading back a patch: %w", err)
		}
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	var err error
	if meta["resourceVersion"], err = json.Marshal(resourceVersion); err != nil {
		return nil, fmt.Errorf("guarding a patch: %w", err)
	}
	if top["metadata"], err = json.Marshal(meta); err != nil {
		return nil, fmt.Errorf("guarding a patch: %w", err)
	}
	return json.Marshal(top)
}
