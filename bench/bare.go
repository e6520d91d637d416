package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
)

// observer sees the objects of one kind and tells those who wait for something
// to become true of one of them.
type observer struct {
	mu      sync.Mutex
	waiting map[string]*wish
}

type wish struct {
	holds func(*unstructured.Unstructured) bool
	came  chan time.Time
}

// observe watches from now on.
func observe(ctx context.Context, client dynamic.ResourceInterface) (*observer, error) {
	w, err := watchFromNow(ctx, client)
	if err != nil {
		return nil, err
	}
	o := &observer{waiting: map[string]*wish{}}
	go func() {
		for e := range w.ResultChan() {
			at := time.Now()
			if u, ok := e.Object.(*unstructured.Unstructured); ok {
				o.saw(u, at)
			}
		}
	}()
	return o, nil
}

// watchFromNow goes on where it was when the server ends it, which it does with
// those who are slow. That is nobody's business: what is missed shows.
func watchFromNow(ctx context.Context, client dynamic.ResourceInterface) (watch.Interface, error) {
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(klog.NewContext(ctx, klog.Logger{}), list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.TimeoutSeconds = new(int64(3600))
			return client.Watch(ctx, o)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	return w, nil
}

func (o *observer) saw(u *unstructured.Unstructured, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := u.GetNamespace() + "/" + u.GetName()
	if w := o.waiting[key]; w != nil && w.holds(u) {
		w.came <- at
		delete(o.waiting, key)
	}
}

// await returns a channel that gets the time when the condition was seen.
func (o *observer) await(key string, holds func(*unstructured.Unstructured) bool) <-chan time.Time {
	w := &wish{holds: holds, came: make(chan time.Time, 1)}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[key] = w
	return w.came
}

// bareNamespace holds what the bare program looks after; the engine knows
// nothing of it.
const bareNamespace = "bare"

// bare heals its objects with the least requests: it knows the manifest, and
// it knows what to write into the Application.
type bare struct {
	client dynamic.Interface
	spec   map[string]any
	// patches are what the engine wrote into the Application when it began and
	// when it ended.
	patches [2][]byte

	mu      sync.Mutex
	problem error
}

func (b *bare) target(i int) target {
	return target{namespace: bareNamespace, name: configMapOf(i), apps: bareNamespace, app: appName(i)}
}

func (b *bare) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problem
}

// newBare makes as many objects and Applications as there will be drifts, like
// those of the engine, and starts the program.
func (h *heal) newBare(ctx context.Context) (*bare, error) {
	config, err := h.plane.RESTConfigFor(bareUser, masters)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	b := &bare{client: client}
	if err := create(ctx, h.client.Resource(namespaceKind), map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": bareNamespace},
	}); err != nil {
		return nil, err
	}
	model, err := h.client.Resource(appKind).Namespace(controlNamespace).Get(ctx, appName(h.scale.apps-1), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading an Application: %w", err)
	}
	if b.patches, err = likeTheEngine(model); err != nil {
		return nil, err
	}
	object, err := h.client.Resource(configMapKind).Namespace(namespaceOf(0)).Get(ctx, configMapOf(0), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading a ConfigMap: %w", err)
	}
	b.spec, _, err = unstructured.NestedMap(object.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("reading a ConfigMap: %w", err)
	}
	err = each(ctx, h.scale.times+h.drifts(), func(ctx context.Context, i int) error {
		app := map[string]any{
			"apiVersion": model.GetAPIVersion(), "kind": "Application",
			"metadata": map[string]any{"name": appName(i), "namespace": bareNamespace},
			"spec":     model.Object["spec"], "status": model.Object["status"],
		}
		err := b.apply(ctx, configMapOf(i), nil)
		return errors.Join(err, create(ctx, client.Resource(appKind).Namespace(bareNamespace), app))
	})
	if err != nil {
		return nil, err
	}
	return b, b.start(ctx)
}

// likeTheEngine makes the two patches of a heal from an Application that was
// synced: the operation with all that the status says of it, and its end.
func likeTheEngine(model *unstructured.Unstructured) (out [2][]byte, err error) {
	status := model.DeepCopy().Object["status"]
	operation := map[string]any{
		"initiatedBy": map[string]any{"automated": true},
		"sync":        map[string]any{"autoHealAttemptsCount": int64(1), "revision": "main", "prune": true},
	}
	fields, _ := status.(map[string]any)
	state, _ := fields["operationState"].(map[string]any)
	if state == nil {
		return out, fmt.Errorf("reading Application %q: it was never synced", model.GetName())
	}
	state["operation"] = operation
	for i, step := range []struct {
		phase, sync string
		operation   any
	}{{"Running", "OutOfSync", operation}, {"Succeeded", "Synced", nil}} {
		state["phase"] = step.phase
		body := map[string]any{"operation": step.operation, "status": map[string]any{
			"operationState": state, "sync": map[string]any{"status": step.sync},
			"resources": fields["resources"], "history": fields["history"],
		}}
		if out[i], err = json.Marshal(body); err != nil {
			return out, fmt.Errorf("encoding a patch: %w", err)
		}
	}
	return out, nil
}

// start heals whatever drifts from now on, as many at once as the engine.
func (b *bare) start(ctx context.Context) error {
	w, err := watchFromNow(ctx, b.client.Resource(configMapKind).Namespace(bareNamespace))
	if err != nil {
		return err
	}
	go func() {
		var g errgroup.Group
		g.SetLimit(workers)
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if level, _, _ := unstructured.NestedString(u.Object, "data", "level"); level != bad {
				continue
			}
			g.Go(func() error {
				if err := b.heal(ctx, u.GetName()); err != nil {
					b.mu.Lock()
					b.problem = err
					b.mu.Unlock()
				}
				return nil
			})
		}
	}()
	return nil
}

// heal does what the engine does, in the same order.
func (b *bare) heal(ctx context.Context, name string) error {
	if _, err := b.client.Resource(configMapKind).Namespace(bareNamespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if err := b.apply(ctx, name, []string{metav1.DryRunAll}); err != nil {
		return err
	}
	app := name[:len(appName(0))]
	if err := b.patch(ctx, app, b.patches[0]); err != nil {
		return err
	}
	if err := b.apply(ctx, name, nil); err != nil {
		return err
	}
	return b.patch(ctx, app, b.patches[1])
}

func (b *bare) apply(ctx context.Context, name string, dryRun []string) error {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": bareNamespace}, "data": b.spec,
	}}
	_, err := b.client.Resource(configMapKind).Namespace(bareNamespace).
		Apply(ctx, name, body, metav1.ApplyOptions{FieldManager: "bare", Force: true, DryRun: dryRun})
	if err != nil {
		return fmt.Errorf("applying %q: %w", name, err)
	}
	return nil
}

func (b *bare) patch(ctx context.Context, app string, patch []byte) error {
	_, err := b.client.Resource(appKind).Namespace(bareNamespace).
		Patch(ctx, app, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bare-status"})
	if err != nil {
		return fmt.Errorf("patching Application %q: %w", app, err)
	}
	return nil
}
