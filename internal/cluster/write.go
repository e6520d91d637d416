package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/object"
)

// Get reads an object's body, in the version that the key's kind is watched in.
func (c *Client) Get(ctx context.Context, k object.Key, version string) (*unstructured.Unstructured, error) {
	r, err := c.resource(k.GroupKind().WithVersion(version), k.Namespace)
	if err != nil {
		return nil, err
	}
	u, err := r.Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return nil, classify(err)
	}
	return u, nil
}

// DryRun asks the server what an apply of the manifest would make of the live
// object. Nothing is stored.
func (c *Client) DryRun(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.apply(ctx, body, []string{metav1.DryRunAll})
}

// Apply makes the manifest true and returns the object as it stands then. The
// index has seen it when Apply returns.
func (c *Client) Apply(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := c.apply(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	c.known.index.written(c.known.fact(u))
	return u, nil
}

func (c *Client) apply(ctx context.Context, body *unstructured.Unstructured, dryRun []string) (*unstructured.Unstructured, error) {
	k := object.KeyOf(body)
	r, err := c.resource(body.GroupVersionKind(), k.Namespace)
	if err != nil {
		return nil, err
	}
	u, err := r.Apply(ctx, k.Name, body, metav1.ApplyOptions{
		FieldManager: v1alpha1.FieldManagerApply, Force: true, DryRun: dryRun,
	})
	if err != nil {
		return nil, classify(err)
	}
	return u, nil
}

// DryRunMerge asks the server what a merge of the patch would make of the live
// object: by the keys of its lists where the kind has them, which custom kinds
// do not. Nothing is stored.
func (c *Client) DryRunMerge(ctx context.Context, patch *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := object.KeyOf(patch)
	r, err := c.resource(patch.GroupVersionKind(), k.Namespace)
	if err != nil {
		return nil, err
	}
	raw, err := patch.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	options := metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerApply, DryRun: []string{metav1.DryRunAll}}
	u, err := r.Patch(ctx, k.Name, types.StrategicMergePatchType, raw, options)
	if apierrors.IsUnsupportedMediaType(err) {
		u, err = r.Patch(ctx, k.Name, types.MergePatchType, raw, options)
	}
	if err != nil {
		return nil, classify(err)
	}
	return u, nil
}

// Replace puts the body in the place of the live object whose version it
// carries, or creates it where it carries none. The index has seen it when
// Replace returns.
func (c *Client) Replace(ctx context.Context, body *unstructured.Unstructured, lenient, dryRun bool) (*unstructured.Unstructured, error) {
	r, err := c.resource(body.GroupVersionKind(), body.GetNamespace())
	if err != nil {
		return nil, err
	}
	validation := metav1.FieldValidationStrict
	if lenient {
		validation = metav1.FieldValidationIgnore
	}
	var dry []string
	if dryRun {
		dry = []string{metav1.DryRunAll}
	}
	var u *unstructured.Unstructured
	if body.GetResourceVersion() == "" {
		u, err = r.Create(ctx, body, metav1.CreateOptions{
			FieldManager: v1alpha1.FieldManagerApply, FieldValidation: validation, DryRun: dry,
		})
	} else {
		u, err = r.Update(ctx, body, metav1.UpdateOptions{
			FieldManager: v1alpha1.FieldManagerApply, FieldValidation: validation, DryRun: dry,
		})
	}
	if err != nil {
		return nil, classify(err)
	}
	if !dryRun {
		c.known.index.written(c.known.tracker.FactOf(u, v1alpha1.FieldManagerApply))
	}
	return u, nil
}

// attempts is how often a takeover is tried while a controller keeps writing.
const attempts = 5

// TakeOver makes fields of a live object ours alone, by writing managedFields;
// no value changes. The server takes it only for the reading that it was
// computed from. Where the object has moved on and these fields have not, it
// is computed again.
func (c *Client) TakeOver(ctx context.Context, body *unstructured.Unstructured, ways [][]string) error {
	k := object.KeyOf(body)
	r, err := c.resource(body.GroupVersionKind(), k.Namespace)
	if err != nil {
		return err
	}
	var first *unstructured.Unstructured
	for range attempts {
		var live *unstructured.Unstructured
		if live, err = r.Get(ctx, k.Name, metav1.GetOptions{}); err != nil {
			return classify(err)
		}
		if first == nil {
			first = live
		}
		if !field.Agree(first.Object, live.Object, ways) {
			return fault.Transientf("Conflict", "somebody changes the same fields")
		}
		if err = takeOver(ctx, r, live, ways); !apierrors.IsConflict(err) {
			break
		}
	}
	return classified(err)
}

func takeOver(ctx context.Context, r dynamic.ResourceInterface, live *unstructured.Unstructured, ways [][]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": live.GetResourceVersion(),
		"managedFields":   field.TakeOver(live, v1alpha1.FieldManagerApply, ways),
	}})
	if err != nil {
		return fmt.Errorf("encoding managedFields: %w", err)
	}
	_, err = r.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerApply})
	return err
}

func (c *Client) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	k, err := c.served(gvk)
	if err != nil {
		return nil, err
	}
	r := c.dynamic.Resource(k.gvr())
	if k.Namespaced && namespace != "" {
		return r.Namespace(namespace), nil
	}
	return r, nil
}

// served is a kind as the cluster serves it.
func (c *Client) served(gvk schema.GroupVersionKind) (kind, error) {
	c.known.mu.RLock()
	defer c.known.mu.RUnlock()
	k, ok := c.known.catalog.kinds[gvk]
	if !ok {
		return kind{}, fault.Waitingf("UnknownKind",
			"the cluster does not serve %s in %s; install its CRD or API server first", gvk.Kind, gvk.GroupVersion())
	}
	return k, nil
}

// classify decides what an API error asks of us. "Rejected" means that the
// server understood the request and will not take this object as it stands.
// The caller knows which object it is about, and says so once.
func classify(err error) error {
	if decided, ok := errors.AsType[*fault.Error](err); ok {
		// Whoever carries the requests knows better; the address around it helps
		// nobody.
		return decided
	}
	switch {
	case strings.Contains(err.Error(), "admission webhook"):
		// A webhook's no, or its refusal to be asked, is about this request; what
		// the server would make of the object is not known.
		return fault.Terminalf("Webhook", "%w", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		// The server answers 500 to a manifest that does not fit the schema.
		strings.Contains(err.Error(), "failed to create typed patch object"):
		return &fault.Error{Class: fault.Terminal, Reason: "Rejected", Err: err, Fields: fields(err)}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Terminalf("Forbidden", "%w", err)
	case apierrors.IsNotFound(err):
		return fault.Waitingf("NotFound", "%w", err)
	case apierrors.IsConflict(err):
		return fault.Transientf("Conflict", "%w", err)
	}
	return fault.Transientf("Request", "%w", err)
}

// fields are the paths that the server names as the causes of its refusal.
func fields(err error) []string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		out = append(out, c.Field)
	}
	return out
}
