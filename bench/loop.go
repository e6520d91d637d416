package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// loopPart is the bare program of a bootstrap: for each application a patch
// that says that the work begins, the applies, and a patch with the result. As
// many applications and objects are on the way at once as in the engine.
type loopPart struct {
	client dynamic.Interface
	setup  setup
}

// loopSetup is what the bare program knows beforehand.
type loopSetup struct {
	PerApp int `json:"perApp"`
	// Patches are those of an application called Model.
	Patches [2]string `json:"patches"`
	Model   string    `json:"model"`
}

func newLoopPart(s setup) (part, error) {
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &loopPart{client: client, setup: s}, nil
}

func (p *loopPart) do(ctx context.Context, o order) (map[string]int64, error) {
	if o.Do != "bootstrap" {
		return nil, fmt.Errorf("unknown order %q", o.Do)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range p.setup.Apps {
		g.Go(func() error { return p.application(ctx, i) })
	}
	return nil, g.Wait()
}

func (p *loopPart) application(ctx context.Context, i int) error {
	if err := p.patch(ctx, i, p.setup.Loop.Patches[0]); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for j := range p.setup.Loop.PerApp {
		g.Go(func() error {
			body := &unstructured.Unstructured{Object: bootstrapObject(i, j)}
			// As long as the mark of the engine, which must not take these for its own.
			body.SetAnnotations(map[string]string{"bench.towline.dev/tracking-id": "bare:/ConfigMap:" + body.GetName()})
			_, err := inNamespace(p.client, bareOf(i)).
				Apply(gctx, body.GetName(), body, metav1.ApplyOptions{FieldManager: "bare", Force: true})
			if err != nil {
				return fmt.Errorf("applying %q: %w", body.GetName(), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return p.patch(ctx, i, p.setup.Loop.Patches[1])
}

func (p *loopPart) patch(ctx context.Context, i int, patch string) error {
	patch = strings.ReplaceAll(patch, p.setup.Loop.Model, appName(i))
	_, err := p.client.Resource(appKind).Namespace(bareNamespace).
		Patch(ctx, appName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "bare-status"})
	if err != nil {
		return fmt.Errorf("patching Application %q: %w", appName(i), err)
	}
	return nil
}

// firstSync makes the two patches of a first sync from an Application that has
// had one: the operation with what was seen before, and all that came of it.
func firstSync(model *unstructured.Unstructured) (out [2]string, err error) {
	status, _, _ := unstructured.NestedMap(model.Object, "status")
	state, _, _ := unstructured.NestedMap(status, "operationState")
	operation := state["operation"]
	if operation == nil {
		return out, errors.New("making the patches of the bare loop: the model was never synced")
	}
	before := model.DeepCopy()
	began, _, _ := unstructured.NestedMap(before.Object, "status")
	delete(began, "history")
	_ = unstructured.SetNestedField(began, "OutOfSync", "sync", "status")
	_ = unstructured.SetNestedField(began, "Running", "operationState", "phase")
	unstructured.RemoveNestedField(began, "operationState", "syncResult", "resources")
	unstructured.RemoveNestedField(began, "operationState", "finishedAt")
	resources, _, _ := unstructured.NestedSlice(began, "resources")
	for _, r := range resources {
		if r, ok := r.(map[string]any); ok {
			r["status"] = "OutOfSync"
		}
	}
	began["resources"] = resources
	for i, body := range []map[string]any{
		{"operation": operation, "status": began},
		{"operation": nil, "status": status},
	} {
		data, err := json.Marshal(body)
		if err != nil {
			return out, fmt.Errorf("encoding a patch: %w", err)
		}
		out[i] = string(data)
	}
	return out, nil
}
