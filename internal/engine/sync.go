package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

// begin starts an operation: it is in the status, with the plan's verdicts,
// before the first object is written, so that whoever comes next knows of it.
func (e *Engine) begin(ctx context.Context, o *observation, op *v1alpha1.Operation) (Result, error) {
	state := status.Start(*op, o.source, o.revision, e.Now())
	next := o.app.DeepCopy()
	next.Operation = op
	next.Status = e.status(o, state)
	delete(next.Annotations, v1alpha1.AnnotationRefresh)
	app, err := e.write(ctx, o.app, next)
	if err != nil {
		return Result{}, err
	}
	o.app = app
	return e.advance(ctx, o, state)
}

// sync carries on with the operation that is in the application, or begins it.
func (e *Engine) sync(ctx context.Context, app *v1alpha1.Application, op *v1alpha1.Operation) (Result, error) {
	state := app.Status.OperationState
	fresh := state == nil || state.Phase.Completed() || state.SyncResult == nil && state.Phase != v1alpha1.OperationTerminating
	l := look{asked: fresh, revision: pinned(op)}
	if !fresh {
		// A sync ends as it began, whatever was asked for meanwhile: with its
		// operation and its revision.
		op = &state.Operation
		if state.SyncResult != nil {
			l.revision = state.SyncResult.Revision
		}
	}
	o := e.observe(ctx, app, l)
	if interrupted(ctx) {
		return Result{}, nil
	}
	if fresh {
		state = status.Start(*op, o.source, o.revision, e.Now())
	}
	switch {
	case state.Phase == v1alpha1.OperationTerminating:
		return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationFailed, "Operation terminated", e.Now()))
	case unsupported(op) != "":
		return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationError, unsupported(op), e.Now()))
	case o.plan == nil && retriable(o.err) != nil && !fresh:
		// What was begun is not given up for an outage.
		_, err := e.report(ctx, o, state)
		return Result{}, errors.Join(err, o.err)
	case o.plan == nil:
		return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationError, why(o), e.Now()))
	case fresh:
		return e.begin(ctx, o, op)
	default:
		return e.advance(ctx, o, state)
	}
}

// pinned is the revision that an operation asks for.
func pinned(op *v1alpha1.Operation) string {
	if op.Sync == nil {
		return ""
	}
	return op.Sync.Revision
}

// unsupported names what an operation asks for and this version does not do:
// doing something else instead would be worse than doing nothing.
func unsupported(op *v1alpha1.Operation) string {
	s := op.Sync
	switch {
	case s == nil:
		return "the operation has no sync; this version knows no other"
	case len(s.Manifests) > 0:
		return "syncing local manifests (operation.sync.manifests) is not supported by this version"
	case s.Source != nil || len(s.Sources) > 0 || len(s.Revisions) > 0:
		return "syncing another source (operation.sync.source, sources or revisions) is not supported by this version"
	default:
		return ""
	}
}

func why(o *observation) string {
	for _, f := range finding.Sort(o.findings) {
		if f.Severity == finding.Error {
			return f.Message
		}
	}
	return "the application could not be compared"
}

// advance takes step after step until the sync is over or has to wait. What a
// step did is recorded before the next begins.
func (e *Engine) advance(ctx context.Context, o *observation, state *v1alpha1.OperationState) (Result, error) {
	for {
		step := plan.Next(*o.plan, status.Progress(state), observations(o))
		switch step.Do {
		case plan.DoDone:
			return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationSucceeded, step.Message, e.Now()))
		case plan.DoFail:
			return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationFailed, step.Message, e.Now()))
		case plan.DoWait:
			state = state.DeepCopy()
			state.Message = step.Message
			_, err := e.report(ctx, o, state)
			return Result{}, err
		case plan.DoApply, plan.DoPrune:
		}
		results, err := e.execute(ctx, o, state, step)
		if err != nil {
			return Result{}, err
		}
		state = status.Record(state, results)
		if ends(plan.Next(*o.plan, status.Progress(state), observations(o))) {
			continue
		}
		if o.app, err = e.report(ctx, o, state); err != nil {
			return Result{}, err
		}
	}
}

// ends says that the next step writes the status anyway.
func ends(s plan.Step) bool { return s.Do != plan.DoApply && s.Do != plan.DoPrune }

// finish ends an operation: its state, its history entry and the status that
// it leaves behind are one write.
func (e *Engine) finish(ctx context.Context, o *observation, state *v1alpha1.OperationState) (Result, error) {
	next := o.app.DeepCopy()
	next.Status = e.status(o, state)
	next.Status.History = status.Remember(o.app, state)
	if next.Operation != nil && equality.Semantic.DeepEqual(*next.Operation, state.Operation) {
		next.Operation = nil
	}
	delete(next.Annotations, v1alpha1.AnnotationRefresh)
	_, err := e.write(ctx, o.app, next)
	if err != nil {
		return Result{}, err
	}
	slog.InfoContext(ctx, "sync ended", "app", o.app.Name, "phase", state.Phase, "revision", short(o.revision),
		"objects", len(status.Progress(state).Done), "took", e.Now().Sub(state.StartedAt.Time).Round(time.Second), "message", state.Message)
	// The look behind this status may be older than the target revision, and a
	// failure may want another attempt: look again.
	return Result{After: 1}, nil
}

// writers is how many objects of one application are written at once.
const writers = 8

// execute does the work of one step. The items of a group are written at once,
// the groups one after the other; a failure does not stop the groups after it.
func (e *Engine) execute(ctx context.Context, o *observation, state *v1alpha1.OperationState, step plan.Step) ([]status.Result, error) {
	progress := status.Progress(state)
	var out []status.Result
	for _, group := range plan.Groups(step.Items) {
		results := make([]status.Result, len(group))
		facts := make([]*object.Fact, len(group))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(writers)
		for i, it := range group {
			g.Go(func() error {
				results[i], facts[i] = e.do(gctx, o, it, work{progress: progress, dryRun: state.Operation.Sync.DryRun})
				return gctx.Err()
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		confirmed := map[object.Key]diff.Verdict{}
		for i := range group {
			if v, ok := settle(o, results[i], facts[i]); ok {
				confirmed[group[i].Key] = v
			}
		}
		e.confirm(ctx, o.app.Name, confirmed)
		out = append(out, results...)
	}
	return out, nil
}

// work is what the items of a step have in common.
type work struct {
	progress plan.Progress
	dryRun   bool
}

// do does the work of one item and returns the object's new fact, if it has one.
func (e *Engine) do(ctx context.Context, o *observation, it plan.Item, w work) (status.Result, *object.Fact) {
	r := status.Result{Item: it}
	if outcome, ok := plan.Settle(it, w.progress); ok {
		r.Outcome = outcome
		return r, nil
	}
	if it.Action == plan.Prune {
		r.Outcome = plan.Outcome{Code: plan.CodePruned, Message: "pruned"}
		if w.dryRun {
			r.Outcome.Message += " (dry run)"
			return r, nil
		}
		if err := o.cluster.Delete(ctx, *it.Live, metav1.DeletePropagationForeground); err != nil {
			r.Outcome = plan.Outcome{Code: plan.CodeFailed, Message: err.Error()}
		}
		return r, nil
	}
	u, err := e.apply(ctx, o, it, w.dryRun)
	if err != nil {
		r.Outcome = plan.Outcome{Code: plan.CodeFailed, Message: err.Error()}
		return r, nil
	}
	r.Outcome = plan.Applied(it, u, w.dryRun)
	r.Images = object.Images(u)
	if w.dryRun {
		return r, nil
	}
	f := e.Tracker.FactOf(u, v1alpha1.FieldManagerApply)
	return r, &f
}

// apply makes the manifest true. Where fields of an earlier manifest were left
// behind in other hands they are taken over first: an apply removes only what
// nobody else holds.
func (e *Engine) apply(ctx context.Context, o *observation, it plan.Item, dryRun bool) (*unstructured.Unstructured, error) {
	body := it.Desired.Body
	if plan.Replaces(plan.OptionsOf(o.app), body) {
		return e.replace(ctx, o, it, dryRun)
	}
	if rules := o.rules.For(it.Key); it.Live != nil && plan.Respects(o.app) && !rules.Empty() {
		live, err := o.cluster.Get(ctx, it.Key, it.Version)
		if err != nil {
			return nil, fmt.Errorf("reading the fields that are ignored: %w", err)
		}
		if body, err = rules.Respect(body, live, v1alpha1.FieldManagerApply); err != nil {
			return nil, err
		}
	}
	if dryRun {
		u, err := o.cluster.DryRun(ctx, body)
		if rejected(err) && len(it.Verdict.Left) > 0 && !it.Verdict.Rejected {
			// What stands in the way is taken over first by a real one.
			return o.cluster.Get(ctx, it.Key, it.Version)
		}
		return u, err
	}
	if len(it.Verdict.Left) > 0 {
		if err := o.cluster.TakeOver(ctx, body, it.Verdict.Left); err != nil {
			return nil, fmt.Errorf("taking over what an earlier manifest left behind: %w", err)
		}
	}
	for {
		u, err := o.cluster.Apply(ctx, body)
		pruned, ok := e.lenient(o, body, err)
		if !ok {
			return u, err
		}
		body = pruned
	}
}

// settle makes the plan say what is true after the work: an applied object is
// as desired (the server's own answer confirms the pair), a pruned one is on
// its way out.
func settle(o *observation, r status.Result, f *object.Fact) (confirmed diff.Verdict, ok bool) {
	i := slices.IndexFunc(o.plan.Items, func(it plan.Item) bool { return it.Key == r.Item.Key })
	if i < 0 {
		return diff.Verdict{}, false
	}
	it := &o.plan.Items[i]
	switch {
	case f != nil:
		it.Live = f
		it.Verdict = diff.Verdict{Desired: it.Pair, Live: f.Digest, Version: f.ResourceVersion, Confirmed: true}
		it.Action, it.Reason = plan.Unchanged, ""
		if !it.Aside {
			it.Sync = plan.Synced
		}
		return it.Verdict, true
	case r.Outcome.Code == plan.CodePruned:
		// The request was taken; the object may take its time.
		if _, standing := o.cluster.Fact(r.Item.Key); !standing {
			o.plan.Items = slices.Delete(slices.Clone(o.plan.Items), i, i+1)
			return diff.Verdict{}, false
		}
		it.Action, it.Reason = plan.Skip, plan.BeingDeleted
	}
	return diff.Verdict{}, false
}
