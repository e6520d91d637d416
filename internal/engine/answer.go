package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/plan"
)

// answer asks one question.
func answer(ctx context.Context, s *door, q plan.Question, w *witness) plan.Answer {
	live, err := s.Get(ctx, q.Object.Key, q.Object.Body.GroupVersionKind().Version)
	if err != nil {
		return plan.Answer{Problem: err.Error()}
	}
	refusal := ""
	if q.Replace {
		a, ok := replaced(ctx, w, q, live)
		if ok {
			return a
		}
		// What the server will not replace may still be in sync: then nothing has
		// to be replaced.
		refusal = a.Refusal
	}
	body := q.Object.Body
	predicted, err := s.DryRun(ctx, body)
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
