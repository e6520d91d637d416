package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/status"
)

// begin starts an operation: it is in the status, with the plan's verdicts,
// before the first object is written, so that whoever comes next knows of it.
func (e *Engine) begin(ctx context.Context, o *observation, op *v1alpha1.Operation) (Result, error) {
	return e.record(ctx, o, op, e.start(o, op))
}

// start is the state of an operation that begins now. Its time is its name, so
// no two of an application have the same.
func (e *Engine) start(o *observation, op *v1alpha1.Operation) *v1alpha1.OperationState {
	now := e.Now()
	if last := o.app.Status.OperationState; last != nil && !now.Truncate(time.Second).After(last.StartedAt.Time) {
		now = last.StartedAt.Add(time.Second)
	}
	return status.Start(*op, o.content, now)
}

// record writes an operation down before it does anything, and goes on.
func (e *Engine) record(ctx context.Context, o *observation, op *v1alpha1.Operation, state *v1alpha1.OperationState) (Result, error) {
	next := o.app.DeepCopy()
	next.Operation = op
	next.Status = e.status(o, state)
	guard(next, o.plan)
	delete(next.Annotations, v1alpha1.AnnotationRefresh)
	if len(op.Sync.Resources) == 0 && !op.Sync.DryRun &&
		(op.InitiatedBy.Automated || o.content.Name() == next.Annotations[v1alpha1.AnnotationRejected]) {
		// Something newer than what was rolled back is on its way, or a person
		// took that up again.
		delete(next.Annotations, v1alpha1.AnnotationRejected)
	}
	app, err := e.write(ctx, o.app, next)
	if err != nil {
		return Result{}, err
	}
	e.beganOperation(o, o.app.Status.OperationState, state)
	o.app = app
	e.written.forget(e.key(app))
	if len(o.plan.Hooks()) > 0 {
		// Hooks are named after the run that they are part of.
		if err := e.replan(ctx, o, state); err != nil {
			return Result{}, err
		}
	}
	return e.advance(ctx, o, state)
}

// sync carries on with the operation that is in the application, or begins it.
func (e *Engine) sync(ctx context.Context, app *v1alpha1.Application, op *v1alpha1.Operation) (Result, error) {
	state := app.Status.OperationState
	fresh := state == nil || state.Phase.Completed() || state.SyncResult == nil && state.Phase != v1alpha1.OperationTerminating
	if !fresh {
		// A sync ends as it began, whatever was asked for meanwhile: with its
		// operation and its revision.
		op = &state.Operation
		e.freshen(ctx, app)
	}
	if wait := e.retryIn(state); !fresh && wait > 0 {
		return e.pending(ctx, app, state, wait)
	}
	o := e.observe(ctx, app, lookFor(op, state, fresh))
	if interrupted(ctx) {
		return Result{}, nil
	}
	if fresh {
		state = e.start(o, op)
	}
	switch {
	case state.Phase == v1alpha1.OperationTerminating && o.plan == nil:
		return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationFailed, "Operation terminated", e.Now()))
	case state.Phase == v1alpha1.OperationTerminating:
		return e.advance(ctx, o, state)
	case unsupported(o.app, op) != "":
		return e.finish(ctx, o, status.Finish(state, v1alpha1.OperationError, unsupported(o.app, op), e.Now()))
	case o.plan == nil && (retriable(o.err) != nil || destination.Lost(o.err)) && !fresh:
		// What was begun is not given up for an outage.
		_, err := e.report(ctx, o, state)
		return Result{}, errors.Join(err, retriable(o.err))
	case o.plan == nil:
		return e.fail(ctx, o, state, plan.Step{Message: why(o), Final: true})
	case !e.allowed(o, state, fresh).Allowed:
		return e.blocked(ctx, o, state, e.allowed(o, state, fresh))
	case fresh:
		return e.begin(ctx, o, op)
	case state.FinishedAt != nil:
		return e.record(ctx, o, op, status.Again(state, o.content))
	default:
		return e.advance(ctx, o, state)
	}
}

// allowed says whether the project's windows let an operation go on.
func (e *Engine) allowed(o *observation, state *v1alpha1.OperationState, fresh bool) policy.WindowVerdict {
	op := policy.WindowOp{Manual: !state.Operation.InitiatedBy.Automated}
	if !fresh {
		op.Started = state.StartedAt.Time
	}
	if state.Operation.Sync != nil && state.Operation.Sync.DryRun {
		return policy.WindowVerdict{Allowed: true}
	}
	return e.window(o, op)
}

// blocked holds an operation back until its window opens.
func (e *Engine) blocked(ctx context.Context, o *observation, state *v1alpha1.OperationState, v policy.WindowVerdict) (Result, error) {
	state = state.DeepCopy()
	state.Message = "Sync operation blocked by sync window: " + v.Reason
	e.pauses.begin(e.key(o.app), "window", e.Now())
	_, err := e.report(ctx, o, state)
	return Result{After: max(0, v.Next.Sub(e.Now()))}, err
}

// freshen looks at the target revision now if somebody asked for a refresh
// while a sync runs: what gives way to a newer commit, and what comes after the
// sync, has to know of it. An outage is told by whoever needs the answer.
func (e *Engine) freshen(ctx context.Context, app *v1alpha1.Application) {
	if app.Annotations[v1alpha1.AnnotationRefresh] == "" {
		return
	}
	for _, s := range app.Sources() {
		_, _, _ = e.Sources.Resolve(ctx, manifest.OriginOf(app, s), 0)
	}
}

// lookFor is how an operation looks at its source.
func lookFor(op *v1alpha1.Operation, state *v1alpha1.OperationState, fresh bool) look {
	l := look{asked: fresh, op: op}
	if op.Sync != nil {
		l.revisions, l.content, l.manifests = revisionsOf(op.Sync), contentOf(op.Sync), op.Sync.Manifests
	}
	if fresh {
		return l
	}
	l.run = status.RunOf(state)
	again := state.FinishedAt != nil
	switch {
	case again && op.Retry.Refresh:
		// The retry takes up what is newer.
		l.revisions, l.asked = nil, true
	case state.SyncResult != nil:
		l.revisions = status.Synced(state.SyncResult).Revisions
	}
	return l
}

// revisionsOf are the revisions that an operation names.
func revisionsOf(s *v1alpha1.SyncOperation) []string {
	if len(s.Revisions) > 0 {
		return s.Revisions
	}
	return only(s.Revision)
}

// contentOf are the sources that an operation brings along; nil is none.
func contentOf(s *v1alpha1.SyncOperation) *status.Content {
	switch {
	case len(s.Sources) > 0:
		return &status.Content{Sources: s.Sources, Many: true}
	case s.Source != nil:
		return &status.Content{Sources: v1alpha1.ApplicationSources{*s.Source}}
	default:
		return nil
	}
}

// unsupported names what an operation asks for and is not done: doing something
// else instead would be worse than doing nothing.
func unsupported(app *v1alpha1.Application, op *v1alpha1.Operation) string {
	s := op.Sync
	switch {
	case s == nil:
		return "the operation has no sync; this version knows no other"
	case len(s.Manifests) > 0 && app.Spec.SyncPolicy.AutomatedEnabled() && !s.DryRun:
		return "Cannot sync local manifests while automated sync is on: it would undo them at once; turn it off, or use a dry run"
	case s.Revision != "" && app.Spec.Sources != nil && len(s.Sources) == 0 && s.Source == nil:
		return fmt.Sprintf("the application has %d sources, so revision %q is not clear; name one for each in operation.sync.revisions",
			len(app.Spec.Sources), s.Revision)
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

// fail ends an attempt that failed: with another one later, if the operation
// asks for that, or for good.
func (e *Engine) fail(ctx context.Context, o *observation, state *v1alpha1.OperationState, s plan.Step) (Result, error) {
	phase := v1alpha1.OperationFailed
	if o.plan == nil {
		phase = v1alpha1.OperationError
	}
	retry := plan.Retry{Strategy: state.Operation.Retry, Count: int(state.RetryCount), Final: s.Final && !e.Settings().Gate.ByLetter}
	wait, again := retry.Next()
	if !again {
		return e.finish(ctx, o, status.Finish(state, phase, plan.Retried(s.Message, int(state.RetryCount)), e.Now()))
	}
	state = status.Wait(state, s.Message, wait, e.Now())
	if _, err := e.report(ctx, o, state); err != nil {
		return Result{}, err
	}
	slog.InfoContext(ctx, "sync attempt failed, trying again",
		"app", e.key(o.app), "attempt", state.RetryCount, "in", wait, "message", s.Message)
	return Result{After: wait}, nil
}

// retryIn is how long the next attempt of an operation has to wait.
func (e *Engine) retryIn(state *v1alpha1.OperationState) time.Duration {
	if state == nil || state.FinishedAt == nil || state.Phase != v1alpha1.OperationRunning {
		return 0
	}
	retry := plan.Retry{Strategy: state.Operation.Retry, Count: int(state.RetryCount) - 1}
	wait, _ := retry.Next()
	return wait - e.Now().Sub(state.FinishedAt.Time)
}

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
	app, err := e.write(ctx, o.app, next)
	if err != nil {
		return Result{}, err
	}
	e.written.forget(e.key(app))
	e.endedOperation(o, state)
	e.resumed(o)
	if state.Phase == v1alpha1.OperationSucceeded {
		e.healed(ctx, app, e.drifts.healed(e.key(app), synced(state), e.Now()))
	}
	slog.InfoContext(ctx, "sync ended", "app", e.key(o.app), "phase", state.Phase, "revision", short(o.content.Name()),
		"objects", len(status.Progress(state).Done), "took", e.Now().Sub(state.StartedAt.Time).Round(time.Second),
		"cause", causeOf(ctx), "by", state.Operation.InitiatedBy.Username, "automated", state.Operation.InitiatedBy.Automated,
		"retries", state.RetryCount, "message", state.Message)
	// The look behind this status may be older than the target revision, and a
	// failure may want another attempt: look again.
	return Result{After: 1}, nil
}

// synced are the objects that an operation made what Git says.
func synced(state *v1alpha1.OperationState) []object.Key {
	var out []object.Key
	for task, o := range status.Progress(state).Done {
		if o.Code == plan.CodeSynced {
			out = append(out, task.Key)
		}
	}
	return out
}

// apply makes the manifest true. Where fields of an earlier manifest were left
// behind in other hands they are taken over first: an apply removes only what
// nobody else holds.
func (e *Engine) apply(ctx context.Context, o *observation, it plan.Item, dryRun bool) (*unstructured.Unstructured, error) {
	body := it.Desired.Body
	if plan.Replaces(o.options, body) {
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
