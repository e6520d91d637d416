package engine

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// answer asks one question.
func answer(ctx context.Context, s *door, q plan.Question, w *witness) plan.Answer {
	body, refusal := q.Object.Body, ""
	var live, predicted *unstructured.Unstructured
	var missing, err error
	if q.Replace {
		if live, missing = s.Get(ctx, q.Object.Key, body.GroupVersionKind().Version); missing == nil {
			a, ok := replaced(ctx, w, q, live)
			if ok {
				return a
			}
			// What the server will not replace may still be in sync: then nothing has
			// to be replaced.
			refusal = a.Refusal
			predicted, err = s.DryRun(ctx, body)
		}
	} else {
		live, predicted, missing, err = both(ctx, s, q.Object)
	}
	if missing != nil {
		return plan.Answer{Problem: missing.Error()}
	}
	if rejected(err) && !q.Rules.Empty() {
		// What the server will not change may be what the rules ignore.
		if kept, problem := q.Rules.Respect(body, live, v1alpha1.FieldManagerApply); problem == nil {
			body = kept
			predicted, err = s.DryRun(ctx, body)
		}
	}
	earlier, problem := w.manifest(ctx, q.Object.Key, live)
	if rejected(err) && problem == nil && !q.Replace {
		if a, ok := cleared(ctx, s, refused{body: body, live: live, earlier: earlier, err: err}); ok {
			return a
		}
	}
	switch {
	case err != nil:
		return plan.Answer{Live: live, Earlier: earlier, Problem: err.Error(), Rejected: rejected(err)}
	case problem != nil:
		return plan.Answer{Problem: problem.Error()}
	}
	return plan.Answer{Live: live, Predicted: predicted, Earlier: earlier, Refusal: refusal, Webhooks: q.Webhooks}
}

// seer says how an object stands, and what an apply would make of it.
type seer interface {
	Get(ctx context.Context, k object.Key, version string) (*unstructured.Unstructured, error)
	DryRun(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// both asks for an object as it stands, and for what an apply would make of it,
// at once: neither needs the answer to the other. Each says the version that it
// is about. Where they differ somebody wrote in between, and a prediction from
// before must not be held against what stands since: it is asked for again.
func both(ctx context.Context, s seer, of object.Object) (live, predicted *unstructured.Unstructured, missing, err error) {
	version := of.Body.GroupVersionKind().Version
	var asking sync.WaitGroup
	asking.Go(func() { predicted, err = s.DryRun(ctx, of.Body) })
	live, missing = s.Get(ctx, of.Key, version)
	asking.Wait()
	if missing == nil && err == nil && live.GetResourceVersion() != predicted.GetResourceVersion() {
		predicted, err = s.DryRun(ctx, of.Body)
	}
	return live, predicted, missing, err
}

func rejected(err error) bool { return fault.ReasonOf(err) == "Rejected" }

// refused is a manifest that the server did not take beside what stands.
type refused struct {
	body, live, earlier *unstructured.Unstructured
	err                 error
}

// cleared asks again without what may stand in the way, as a sync would do it:
// that takes it over, and then applies. No single apply does both, but a merge
// has the same result. Only if the server takes it is it known that this was
// the reason.
func cleared(ctx context.Context, s Merger, r refused) (plan.Answer, bool) {
	ways := diff.Obstacles(r.body, r.live, r.earlier, fault.FieldsOf(r.err))
	patch, done := diff.Cleared(r.body, r.live, ways, v1alpha1.FieldManagerApply)
	if len(done) == 0 {
		return plan.Answer{}, false
	}
	predicted, err := s.DryRunMerge(ctx, patch)
	if err != nil || len(diff.Compare(r.live, predicted)) == 0 {
		return plan.Answer{}, false
	}
	return plan.Answer{Live: r.live, Predicted: predicted, Earlier: r.earlier, Cleared: done}, true
}
