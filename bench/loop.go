package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// loopPart is the bare program of a bootstrap and of what ends it: for each
// application a patch that says that the work begins, the applies or deletions,
// and a patch with the result. As many applications and objects are on the way
// at once as in the engine.
type loopPart struct {
	client dynamic.Interface
	setup  setup
	shape  shape

	mu sync.Mutex
	// made are the objects that are there, by application, as the server
	// answered when they were made.
	made map[int][]*unstructured.Unstructured
}

// objectsAtOnce is how many objects of one application are on the way at once,
// as in the engine.
const objectsAtOnce = 8

// loopSetup is what the bare program knows beforehand.
type loopSetup struct {
	Shape  string `json:"shape"`
	PerApp int    `json:"perApp"`
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
	return &loopPart{client: client, setup: s, shape: shapes()[s.Loop.Shape], made: map[int][]*unstructured.Unstructured{}}, nil
}

func (p *loopPart) do(ctx context.Context, o order) (map[string]int64, error) {
	application := map[string]func(context.Context, int) error{
		"bootstrap": p.application,
		"prune":     func(ctx context.Context, i int) error { return p.prune(ctx, i, o.Count) },
		"remove":    p.remove,
	}[o.Do]
	if application == nil {
		return nil, fmt.Errorf("unknown order %q", o.Do)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range p.setup.Apps {
		g.Go(func() error { return application(ctx, i) })
	}
	return nil, g.Wait()
}

func (p *loopPart) application(ctx context.Context, i int) error {
	objects, err := p.shape.objects(i, p.setup.Loop.PerApp)
	if err != nil {
		return err
	}
	if err := p.patch(ctx, i, p.setup.Loop.Patches[0]); err != nil {
		return err
	}
	namespace := p.shape.namespace(bareOf, i)
	if p.shape.own {
		body := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
		}}
		if _, err := p.apply(ctx, p.client.Resource(namespaceKind), body); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, body := range objects {
		g.Go(func() error {
			// As long as the mark of the engine, which must not take these for its own.
			body.SetAnnotations(map[string]string{"bench.towline.dev/tracking-id": "bare:/ConfigMap:" + body.GetName()})
			made, err := p.apply(gctx, p.client.Resource(bootKinds[body.GetKind()]).Namespace(namespace), body)
			if err != nil {
				return err
			}
			p.mu.Lock()
			p.made[i] = append(p.made[i], made)
			p.mu.Unlock()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return p.patch(ctx, i, p.setup.Loop.Patches[1])
}

func (p *loopPart) apply(
	ctx context.Context, to dynamic.ResourceInterface, body *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	made, err := to.Apply(ctx, body.GetName(), body, metav1.ApplyOptions{FieldManager: "bare", Force: true})
	if err != nil {
		return nil, fmt.Errorf("applying %s %q: %w", body.GetKind(), body.GetName(), err)
	}
	return made, nil
}

// prune deletes so many objects of an application and says so.
func (p *loopPart) prune(ctx context.Context, i, objects int) error {
	if err := p.patch(ctx, i, p.setup.Loop.Patches[0]); err != nil {
		return err
	}
	if err := p.delete(ctx, i, objects); err != nil {
		return err
	}
	return p.patch(ctx, i, p.setup.Loop.Patches[1])
}

// remove deletes an application with all that it has: the Application waits for
// a finalizer, which goes last.
func (p *loopPart) remove(ctx context.Context, i int) error {
	apps := p.client.Resource(appKind).Namespace(bareNamespace)
	if err := apps.Delete(ctx, appName(i), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting Application %q: %w", appName(i), err)
	}
	if err := p.delete(ctx, i, len(p.made[i])); err != nil {
		return err
	}
	return p.patch(ctx, i, `{"metadata":{"finalizers":null}}`)
}

// delete deletes the first objects of an application, if they are still those
// that were made: one request each.
func (p *loopPart) delete(ctx context.Context, i, objects int) error {
	p.mu.Lock()
	gone := p.made[i][:objects]
	p.made[i] = p.made[i][objects:]
	p.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, u := range gone {
		g.Go(func() error {
			err := p.client.Resource(bootKinds[u.GetKind()]).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{
				Preconditions:     &metav1.Preconditions{UID: new(u.GetUID()), ResourceVersion: new(u.GetResourceVersion())},
				PropagationPolicy: new(metav1.DeletePropagationBackground),
			})
			if err != nil {
				return fmt.Errorf("deleting %q: %w", u.GetName(), err)
			}
			return nil
		})
	}
	return g.Wait()
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
