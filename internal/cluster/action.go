package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Patch changes a live object by a merge patch, if it still is as it was read.
// What the patch says of the status goes to the status subresource, where the
// kind has one.
func (c *Client) Patch(ctx context.Context, read *unstructured.Unstructured, patch map[string]any) error {
	r, err := c.resource(read.GroupVersionKind(), read.GetNamespace())
	if err != nil {
		return err
	}
	send := func(patch map[string]any, subresources ...string) error {
		body, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("encoding a patch: %w", err)
		}
		_, err = r.Patch(ctx, read.GetName(), types.MergePatchType, body,
			metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerAction}, subresources...)
		return err
	}
	rest, status := maps.Clone(patch), patch["status"]
	delete(rest, "status")
	if status != nil {
		err := send(guarded(read, map[string]any{"status": status}), "status")
		switch {
		case apierrors.IsNotFound(err):
			// The kind has no such subresource: its status is a field like others.
			rest["status"] = status
		case err != nil:
			return classify(err)
		case len(rest) > 0:
			// That write moved the version that was read.
			return classified(send(identified(read, rest)))
		default:
			return nil
		}
	}
	return classified(send(guarded(read, rest)))
}

// identified holds a patch to the very object that was read, guarded also to
// its version.
func identified(read *unstructured.Unstructured, patch map[string]any) map[string]any {
	out := maps.Clone(patch)
	meta, _ := out["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"] = string(read.GetUID())
	out["metadata"] = meta
	return out
}

func guarded(read *unstructured.Unstructured, patch map[string]any) map[string]any {
	out := identified(read, patch)
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = read.GetResourceVersion()
	}
	return out
}

// Create makes a new object.
func (c *Client) Create(ctx context.Context, body *unstructured.Unstructured) error {
	r, err := c.resource(body.GroupVersionKind(), body.GetNamespace())
	if err != nil {
		return err
	}
	_, err = r.Create(ctx, body, metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction})
	return classified(err)
}

func classified(err error) error {
	if err == nil {
		return nil
	}
	return classify(err)
}

// Remove deletes the very object that was read, if it still is as it was read. One that is gone already is no error.
func (c *Client) Remove(ctx context.Context, read *unstructured.Unstructured, how metav1.DeleteOptions) error {
	r, err := c.resource(read.GroupVersionKind(), read.GetNamespace())
	if err != nil {
		return err
	}
	uid, version := read.GetUID(), read.GetResourceVersion()
	how.Preconditions = &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
	if err := r.Delete(ctx, read.GetName(), how); err != nil && !apierrors.IsNotFound(err) {
		return classify(err)
	}
	return nil
}
