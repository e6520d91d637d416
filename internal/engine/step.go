package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

// advance takes step after step until the sync is over or has to wait. What a
// step did is recorded before the next begins, except that applies in a row are
// recorded together, and a step with what follows from it without a request.
func (e *Engine) advance(ctx context.Context, o *observation, state *v1alpha1.OperationState) (Result, error) {
	progress := e.progress(o, state)
	if len(progress.Done) == 0 {
		e.measure(ctx, o)
	}
	recorded, step := e.Now(), next(o, state, progress)
	for {
		switch step.Do {
		case plan.DoDone:
			message := plan.Retried(step.Message, int(state.RetryCount))
			return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationSucceeded, message, e.Now()))
		case plan.DoFail:
			return e.fail(ctx, o, state, step)
		case plan.DoWait:
			return e.wait(ctx, o, state, step)
		case plan.DoLook:
			if err := e.lookAgain(ctx, o, state); err != nil {
				return Result{}, err
			}
			progress.Looked = true
			step = next(o, state, progress)
			continue
		case plan.DoApply, plan.DoPrune, plan.DoNote, plan.DoRelease, plan.DoClear:
		}
		w := work{step: step, progress: progress, dryRun: state.Operation.Sync.DryRun}
		results, err := e.execute(ctx, o, w)
		if err != nil {
			return Result{}, err
		}
		if len(results) == 0 {
			step = next(o, state, progress)
			continue
		}
		state = status.Record(state, results)
		remember(&progress, results)
		progress.Written = e.written.of(e.key(o.app))
		w.progress, step = progress, next(o, state, progress)
		pause := e.pause(o, w.step, state)
		if ends(step) || pause == 0 && later(w, step, e.Now().Sub(recorded)) {
			continue
		}
		recorded = e.Now()
		if o.app, err = e.report(ctx, o, state); err != nil {
			return Result{}, err
		}
		if pause > 0 {
			return Result{After: pause}, nil
		}
	}
}

// later says that what a step did may be recorded with what comes after it,
// where nothing has been recorded for a while.
func later(did work, after plan.Step, unrecorded time.Duration) bool {
	return settled(after, did.progress) || follows(did.step, after) && unrecorded < recordEvery
}

// measure holds new objects against the shapes of their kinds before the first
// write: a mistake in the last wave must not be found when the first is
// applied. Objects that stand were asked about by the comparison.
func (e *Engine) measure(ctx context.Context, o *observation) {
	for i := range o.plan.Items {
		it := &o.plan.Items[i]
		// What is replaced is not applied, and may have what an apply refuses.
		if it.Live != nil || !it.Served || it.Handling.Unchecked || it.Handling.Replace ||
			it.Action != plan.Create && it.Action != plan.RunHook {
			continue
		}
		if err := o.cluster.Fits(ctx, it.Desired.Body); err != nil {
			it.Misfit = err.Error()
		}
	}
}

// next is the next step of an operation that runs or that a person ended.
func next(o *observation, state *v1alpha1.OperationState, progress plan.Progress) plan.Step {
	if state.Phase == v1alpha1.OperationTerminating {
		return plan.Terminate(*o.plan, progress)
	}
	return plan.Next(*o.plan, progress)
}

// progress is how far an operation has come, with what its steps depend on.
func (e *Engine) progress(o *observation, state *v1alpha1.OperationState) plan.Progress {
	p := status.Progress(state)
	s := e.Settings()
	p.Approved = plan.Approved(o.app, state.StartedAt.Time)
	p.Age, p.Settle = e.Now().Sub(state.StartedAt.Time), s.Settle
	p.Gate = s.Gate
	p.Written = e.written.of(e.key(o.app))
	if state.Operation.Sync.DryRun {
		// Nothing is deleted by it, so nothing has to be asked twice.
		p.Approved, p.Looked, p.DryRun = true, true, true
	}
	return p
}

// remember notes outcomes as they will be read back, and what is not recorded
// of them.
func remember(p *plan.Progress, results []status.Result) {
	for _, r := range results {
		p.Done[r.Item.Task()] = r.Outcome
	}
}

// recordEvery is how long applies may follow one another without being
// recorded. They can be told from what stands: whoever comes after a crash
// finds them done. All other steps are recorded one by one.
const recordEvery = time.Second

// follows says that one apply comes right after another.
func follows(did, after plan.Step) bool { return did.Do == plan.DoApply && after.Do == plan.DoApply }

// settled says that an apply makes no request: all its objects are as desired.
func settled(s plan.Step, progress plan.Progress) bool {
	return s.Do == plan.DoApply && !slices.ContainsFunc(s.Items, func(it plan.Item) bool {
		_, ok := plan.Settle(it, progress)
		return !ok
	})
}

// ends says that the next step writes the status anyway.
func ends(s plan.Step) bool { return s.Do == plan.DoDone || s.Do == plan.DoFail || s.Do == plan.DoWait }

// wait tells what the sync waits for and returns; an event brings it back. A
// newer commit takes the place of a sync that nobody asked for by hand.
func (e *Engine) wait(ctx context.Context, o *observation, state *v1alpha1.OperationState, step plan.Step) (Result, error) {
	if !step.Mid {
		if result, done, err := e.supersede(ctx, o.app, state); done {
			return result, err
		}
	}
	if limit := e.Settings().SyncTimeout; limit > 0 {
		left := limit - e.Now().Sub(state.StartedAt.Time)
		if left <= 0 {
			state = state.DeepCopy()
			state.Phase = v1alpha1.OperationTerminating
			return e.advance(ctx, o, state)
		}
		if step.After == 0 || left < step.After {
			step.After = left
		}
	}
	e.held(ctx, o.app, state, step)
	e.pauses.begin(e.key(o.app), pauseCause(step), e.Now())
	state = state.DeepCopy()
	state.Message = step.Message
	_, err := e.report(ctx, o, state)
	return Result{After: step.After}, err
}

// pause is how long the next wave has to wait, where somebody set a delay.
func (e *Engine) pause(o *observation, did plan.Step, state *v1alpha1.OperationState) time.Duration {
	delay := e.Settings().WaveDelay
	if delay <= 0 || did.Do != plan.DoApply && did.Do != plan.DoPrune {
		return 0
	}
	upcoming := plan.Next(*o.plan, e.progress(o, state))
	if len(upcoming.Items) == 0 || upcoming.Items[0].Wave == did.Items[0].Wave && upcoming.Items[0].Phase == did.Items[0].Phase {
		return 0
	}
	return delay
}

// writers is how many objects of one application are written at once.
const writers = 8

// work is a step and what its items have in common.
type work struct {
	step     plan.Step
	progress plan.Progress
	dryRun   bool
}

// execute does the work of one step. The items of a group are written at once,
// the groups one after the other; a failure does not stop the groups after it.
func (e *Engine) execute(ctx context.Context, o *observation, w work) ([]status.Result, error) {
	if w.step.Do == plan.DoNote {
		return e.notes(ctx, o, w.step), nil
	}
	e.resumed(o)
	e.foretell(o, w)
	ctx, end := e.Tracer.Span(ctx, string(w.step.Do), "app", e.key(o.app), "objects", len(w.step.Items))
	defer func() { end(nil) }()
	defer e.wroteDown(ctx, o)
	var out []status.Result
	for _, group := range plan.Groups(w.step.Items) {
		done := make([]deed, len(group))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(writers)
		for i, it := range group {
			g.Go(func() error {
				var err error
				done[i], err = e.do(gctx, o, it, w)
				return errors.Join(err, gctx.Err())
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		confirmed, after := map[object.Key]diff.Verdict{}, settlingOf(o)
		for i, d := range done {
			if v, ok := after.settle(group[i], d); ok {
				confirmed[group[i].Key] = v
			}
			if d.fact != nil {
				e.written.note(e.key(o.app), d.fact.Key, d.fact.ResourceVersion)
			}
			if d.outcome.Code != "" {
				out = append(out, status.Result{Item: group[i], Outcome: d.outcome, Images: d.images})
				e.refused(group[i], d.outcome)
			}
		}
		after.end()
		e.confirm(ctx, o, confirmed)
	}
	return out, nil
}

// refused counts a deletion that a rule keeps from happening.
func (e *Engine) refused(it plan.Item, outcome plan.Outcome) {
	if rule := plan.Refusal(it, outcome); rule != "" {
		e.Meter.Refused(rule)
	}
}

// deed is what was done to one object. An outcome without a code is not
// recorded: the plan shows it.
type deed struct {
	outcome plan.Outcome
	fact    *object.Fact
	images  []string
	// gone says that the object was deleted, released that it lost its hold.
	gone, released bool
}

// do does the work of one item. An error stops the sync here, to go on later
// from what is recorded; what the server says about the object is an outcome,
// and that it says nothing at all is none.
func (e *Engine) do(ctx context.Context, o *observation, it plan.Item, w work) (deed, error) {
	switch w.step.Do {
	case plan.DoRelease:
		return e.letGo(ctx, o, it)
	case plan.DoClear:
		return e.clear(ctx, o, it, w.dryRun)
	case plan.DoPrune:
		return e.prune(ctx, o, it, w)
	case plan.DoApply, plan.DoNote, plan.DoLook, plan.DoWait, plan.DoDone, plan.DoFail:
	}
	if outcome, ok := plan.Settle(it, w.progress); ok {
		return deed{outcome: outcome}, nil
	}
	if it.Hook && w.dryRun {
		return deed{outcome: plan.Outcome{Code: plan.CodeSynced, Result: plan.Succeeded, Message: "would run (dry run)"}}, nil
	}
	u, err := e.apply(ctx, o, it, w.dryRun)
	if err != nil && it.Handling.Force && it.Live != nil && !w.dryRun && fault.ReasonOf(err) == "Rejected" {
		return e.recreate(ctx, o, it)
	}
	if destination.Lost(err) {
		return deed{}, err
	}
	if err != nil {
		return deed{outcome: failure(err)}, nil
	}
	d := deed{outcome: plan.Applied(it, u, w.dryRun), images: object.Images(u)}
	if !w.dryRun {
		f := e.Tracker.FactJudged(u, v1alpha1.FieldManagerApply, e.Health(u))
		d.fact = &f
	}
	return d, nil
}

// failure is the outcome of a request that the server refused or did not
// answer.
func failure(err error) plan.Outcome {
	return plan.Outcome{Code: plan.CodeFailed, Message: err.Error(), Final: fault.ClassOf(err) == fault.Terminal}
}

func (e *Engine) prune(ctx context.Context, o *observation, it plan.Item, w work) (deed, error) {
	if outcome, ok := plan.Settle(it, w.progress); ok {
		return deed{outcome: outcome}, nil
	}
	pruned := plan.Outcome{Code: plan.CodePruned, Message: "pruned"}
	if w.dryRun {
		pruned.Message += " (dry run)"
		return deed{outcome: pruned}, nil
	}
	err := o.cluster.Delete(ctx, *it.Live, o.options.Propagation(), undesired(o, it, w.progress))
	if destination.Lost(err) {
		return deed{}, err
	}
	if err != nil {
		return deed{outcome: failure(err)}, nil
	}
	return deed{outcome: pruned, gone: true}, nil
}

// lookAgain fetches and renders the source once more, from nothing, and holds
// the sync to what that says: a deletion that both looks agree on is meant.
func (e *Engine) lookAgain(ctx context.Context, o *observation, state *v1alpha1.OperationState) error {
	l := lookFor(&state.Operation, state, false)
	l.hard, l.asked = true, true
	again := e.observe(ctx, o.app, l)
	if again.plan == nil {
		return fmt.Errorf("looking at the source of application %q once more before pruning: %w", e.key(o.app),
			errors.Join(again.err, errors.New(why(again))))
	}
	if !slices.Equal(again.plan.Prunes(), o.plan.Prunes()) {
		return fault.Transientf("Disagree",
			"the second look at the source of application %q does not agree on what to prune; nothing was", e.key(o.app))
	}
	slog.InfoContext(ctx, "second look agrees on what to prune", "app", e.key(o.app), "objects", len(o.plan.Prunes()))
	return nil
}
