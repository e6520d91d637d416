package engine

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// counted are hands whose requests are counted, and made in turn where an application has many of them.
type counted struct {
	Hands
	meter  Meter
	app    *v1alpha1.Application
	server string
	turns  *turns
}

// request waits for the turn of a request, and says what is to be done when it is over.
func (c counted) request(ctx context.Context, verb string, k object.Key, dryRun bool) (over func(*error)) {
	held, start := c.turns.take(ctx), time.Now()
	return func(err *error) {
		took := time.Since(start)
		if *err != nil {
			took = 0
		}
		if held {
			c.turns.give(sort{verb, k.GroupKind(), dryRun}, took)
		}
		c.meter.Requested(Requested{App: c.app, Server: c.server, Verb: verb, Object: k, DryRun: dryRun, Err: *err})
	}
}

func (c counted) Get(ctx context.Context, k object.Key, version string) (_ *unstructured.Unstructured, err error) {
	defer c.request(ctx, "get", k, false)(&err)
	return c.Hands.Get(ctx, k, version)
}

func (c counted) DryRun(ctx context.Context, body *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	defer c.request(ctx, "patch", object.KeyOf(body), true)(&err)
	return c.Hands.DryRun(ctx, body)
}

func (c counted) DryRunMerge(ctx context.Context, patch *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	defer c.request(ctx, "patch", object.KeyOf(patch), true)(&err)
	return c.Hands.DryRunMerge(ctx, patch)
}

func (c counted) Creatable(ctx context.Context, body *unstructured.Unstructured) (err error) {
	defer c.request(ctx, "create", object.KeyOf(body), true)(&err)
	return c.Hands.Creatable(ctx, body)
}

func (c counted) Apply(ctx context.Context, body *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	defer c.request(ctx, "patch", object.KeyOf(body), false)(&err)
	return c.Hands.Apply(ctx, body)
}

func (c counted) Replace(
	ctx context.Context, body *unstructured.Unstructured, lenient, dryRun bool,
) (_ *unstructured.Unstructured, err error) {
	verb := "update"
	if body.GetResourceVersion() == "" {
		verb = "create"
	}
	defer c.request(ctx, verb, object.KeyOf(body), dryRun)(&err)
	return c.Hands.Replace(ctx, body, lenient, dryRun)
}

func (c counted) Delete(ctx context.Context, f object.Fact, propagation metav1.DeletionPropagation) (err error) {
	defer c.request(ctx, "delete", f.Key, false)(&err)
	return c.Hands.Delete(ctx, f, propagation)
}

func (c counted) TakeOver(ctx context.Context, body *unstructured.Unstructured, ways [][]string) (err error) {
	defer c.request(ctx, "patch", object.KeyOf(body), false)(&err)
	return c.Hands.TakeOver(ctx, body, ways)
}

func (c counted) Release(ctx context.Context, f object.Fact) (err error) {
	defer c.request(ctx, "patch", f.Key, false)(&err)
	return c.Hands.Release(ctx, f)
}

func (c counted) Patch(ctx context.Context, read *unstructured.Unstructured, patch map[string]any) (err error) {
	defer c.request(ctx, "patch", object.KeyOf(read), false)(&err)
	return c.Hands.Patch(ctx, read, patch)
}

func (c counted) Create(ctx context.Context, body *unstructured.Unstructured) (err error) {
	defer c.request(ctx, "create", object.KeyOf(body), false)(&err)
	return c.Hands.Create(ctx, body)
}

func (c counted) Remove(ctx context.Context, read *unstructured.Unstructured, how metav1.DeleteOptions) (err error) {
	defer c.request(ctx, "delete", object.KeyOf(read), false)(&err)
	return c.Hands.Remove(ctx, read, how)
}
