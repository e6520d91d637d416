package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Replacer writes objects as a whole.
type Replacer interface {
	// Replace puts the body in the place of the live object whose version it
	// carries, or creates it where it carries none. A field that the kind does
	// not have is refused, unless lenient.
	Replace(ctx context.Context, body *unstructured.Unstructured, lenient, dryRun bool) (*unstructured.Unstructured, error)
}

// replaced asks what a replacement would make of the live object. It has no
// answer where the server refuses it.
func replaced(ctx context.Context, w *witness, q plan.Question, live *unstructured.Unstructured) (plan.Answer, bool) {
	options := w.o.options
	body := diff.Replacement(q.Object.Body, live, v1alpha1.FieldManagerApply)
	predicted, err := w.o.cluster.Replace(ctx, body, plan.Lenient(options, body), true)
	if rejected(err) && plan.Forces(body) {
		// Then it is made anew.
		return plan.Answer{}, false
	}
	if rejected(err) {
		return plan.Answer{Refusal: err.Error()}, false
	}
	if err != nil {
		return plan.Answer{Problem: err.Error()}, true
	}
	earlier, err := w.manifest(ctx, q.Object.Key, live)
	if err != nil {
		return plan.Answer{Problem: err.Error()}, true
	}
	return plan.Answer{Live: live, Predicted: predicted, Earlier: earlier, Replaced: true}, true
}

// attempts is how often a write is tried to an object that others keep writing
// to.
const attempts = 5

// replace makes the manifest true by putting it in the place of what stands.
func (e *Engine) replace(ctx context.Context, o *observation, it plan.Item, dryRun bool) (*unstructured.Unstructured, error) {
	lenient := plan.Lenient(o.options, it.Desired.Body)
	var err error
	for range attempts {
		var body, u *unstructured.Unstructured
		if body, err = e.replacement(ctx, o, it); err != nil {
			return nil, err
		}
		u, err = o.cluster.Replace(ctx, body, lenient, dryRun)
		if fault.ReasonOf(err) != "Conflict" {
			return u, err
		}
	}
	return nil, err
}

func (e *Engine) replacement(ctx context.Context, o *observation, it plan.Item) (*unstructured.Unstructured, error) {
	body := it.Desired.Body
	live, err := o.cluster.Get(ctx, it.Key, it.Version)
	if fault.ReasonOf(err) == "NotFound" {
		return body, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is replaced: %w", err)
	}
	if rules := o.rules.For(it.Key); plan.Respects(o.app) && !rules.Empty() {
		if body, err = rules.Keep(body, live); err != nil {
			return nil, err
		}
	}
	return diff.Replacement(body, live, v1alpha1.FieldManagerApply), nil
}
