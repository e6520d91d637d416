package engine

import (
	"context"
	"log/slog"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Audited counts what audits found. Wrong must stay 0: each is a bug.
type Audited struct {
	Asked, Wrong int64
}

// Audited is what audits have found so far.
func (e *Engine) Audited() Audited {
	return Audited{Asked: e.audits.Load(), Wrong: e.wrong.Load()}
}

// Audit asks the server about one object of an application whose verdict
// stands by what we own of it alone, each time about another one. It reports
// false if the verdict was wrong; the object is then judged anew.
func (e *Engine) Audit(ctx context.Context, name string) (right bool, err error) {
	app, err := e.Hub.Application(ctx, name)
	if err != nil {
		return true, err
	}
	o := e.observe(ctx, app, look{only: true})
	if o.plan == nil {
		return true, nil
	}
	it, ok := e.sample(*o.plan)
	if !ok {
		return true, nil
	}
	e.audits.Add(1)
	q := plan.Question{Object: it.Desired, Live: *it.Live, Rules: o.rules.For(it.Key)}
	// What is replaced is never vouched for: its verdict holds for one version.
	a := answer(ctx, o.cluster, q, &witness{engine: e, o: o})
	if a.Problem != "" || a.Live.GetResourceVersion() != it.Live.ResourceVersion {
		// No answer, or one about another reading: it says nothing of ours.
		return true, nil
	}
	truth := plan.Judge(it, a, o.rules)
	if truth.InSync() {
		return true, nil
	}
	e.wrong.Add(1)
	slog.ErrorContext(ctx, "the gate was wrong: an object that was thought to be in sync is not",
		"app", name, "object", it.Key.String(), "desired", it.Pair.String(), "live", it.Live.Digest.String(),
		"resourceVersion", it.Live.ResourceVersion, "changes", paths(truth.Changes))
	e.doubt(name, it.Key)
	// Nor does the look that it came from stand.
	e.quiet.forget(name)
	return false, e.Pairs.SetMark(name, object.Seen{})
}

// sample picks the next object that the gate vouches for.
func (e *Engine) sample(p plan.Plan) (plan.Item, bool) {
	var candidates []plan.Item
	for _, it := range p.Items {
		if it.Action == plan.Unchanged && it.Verdict.Confirmed && it.Live != nil {
			candidates = append(candidates, it)
		}
	}
	if len(candidates) == 0 {
		return plan.Item{}, false
	}
	return candidates[int(e.audits.Load())%len(candidates)], true
}

// doubt forgets a verdict.
func (e *Engine) doubt(app string, k object.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.verdicts[app]
	next := make(map[object.Key]diff.Verdict, len(known.verdicts))
	for key, v := range known.verdicts {
		if key != k {
			next[key] = v
		}
	}
	known.verdicts = next
	e.verdicts[app] = known
}

func paths(changes []diff.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Path
	}
	return out
}
