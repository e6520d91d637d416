package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/status"
)

// Reconcile looks at one application and does the next thing for it: refresh
// its status, carry on with a sync, start one, or delete. It may be called at
// any time, as often as one likes; when nothing changed it costs no request.
func (e *Engine) Reconcile(ctx context.Context, name string) (Result, error) {
	app, err := e.Hub.Application(ctx, name)
	if fault.ReasonOf(err) == "NotFound" {
		e.forget(name)
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if u := object.UnreadableOf(app); u != nil {
		return Result{}, e.quarantine(ctx, app, u)
	}
	if e.rests(ctx, app) {
		return Result{}, nil
	}
	ctx, end := visiting(ctx)
	defer end()
	if app.DeletionTimestamp != nil {
		return e.remove(ctx, app)
	}
	if skip, err := strconv.ParseBool(app.Annotations[v1alpha1.AnnotationSkipReconcile]); err == nil && skip {
		return Result{}, nil
	}
	if op := operationOf(app); op != nil {
		return e.sync(ctx, app, op)
	}
	return e.refresh(ctx, app)
}

// quarantine tells that an application cannot be read, and does nothing for it: neither sync nor delete, for where its
// objects are is not known.
func (e *Engine) quarantine(ctx context.Context, app *v1alpha1.Application, u object.Unreadable) error {
	slog.WarnContext(ctx, "an application cannot be read", "application", e.key(app), "cause", u.String())
	if u[object.StatusPart] != "" {
		return nil // what is told cannot be compared with what was told, and would be told for ever
	}
	_, err := e.report(ctx, e.observe(ctx, app, look{}), app.Status.OperationState)
	return err
}

// rests says that nothing is to be done for an application now, and nothing to
// be said of it: its cluster is being read for the first time, or its operator
// asks to leave it alone. What the status says stands.
func (e *Engine) rests(ctx context.Context, app *v1alpha1.Application) bool {
	_, err := e.knock(ctx, app)
	reason := fault.ReasonOf(err)
	return reason == destination.Starting || reason == destination.Skipped
}

// refresh looks at an application and tells what it sees, or begins the sync
// that follows from it.
func (e *Engine) refresh(ctx context.Context, app *v1alpha1.Application) (Result, error) {
	start, name := e.Now(), e.key(app)
	asked := app.Annotations[v1alpha1.AnnotationRefresh]
	now, known := e.fingerprint(ctx, app)
	if known && asked == "" && e.still(ctx, app, now) {
		return Result{}, nil
	}
	if wait := e.reconfirm(ctx, app); wait > 0 {
		return Result{After: wait}, nil
	}
	o := e.observe(ctx, app, look{asked: asked != "", hard: asked == string(v1alpha1.RefreshTypeHard)})
	if interrupted(ctx) {
		return Result{}, nil
	}
	decision := e.autoSync(o)
	o.findings = append(o.findings, decision.Findings...)
	if decision.Sync {
		if len(decision.Only) > 0 {
			e.drifts.see(name, plan.Drifts(*o.plan, decision.Only, o.content.Name(), e.Now()))
		}
		e.refreshed(ctx, o, start, decision, true)
		o.reason = decision.Reason
		return e.begin(ctx, o, automatic(app, o, decision))
	}
	written, err := e.report(ctx, o, app.Status.OperationState)
	e.refreshed(ctx, o, start, decision, written != app)
	err = errors.Join(err, retriable(o.err))
	due := e.due(o)
	e.settle(ctx, o, now,
		known && err == nil && decision.After == 0 && due == 0 && o.err == nil && written == app && o.settled() && !e.Ailing(name))
	if o.plan != nil && !o.settled() && decision.After == 0 {
		return Result{After: askAgain}, err
	}
	return Result{After: cmp.Or(decision.After, due)}, err
}

// retriable is the error that the queue should try again for; one that waits
// for a person or an event is told in the status and is done with here.
func retriable(err error) error {
	if err == nil || fault.ClassOf(err) != fault.Transient {
		return nil
	}
	return err
}

// interrupted says that the process is going down: what was seen then is half
// seen, and nothing may be written of it.
func interrupted(ctx context.Context) bool { return ctx.Err() != nil }

// operationOf is the operation that is running or asked for, if any.
func operationOf(app *v1alpha1.Application) *v1alpha1.Operation {
	if app.Operation != nil {
		return app.Operation
	}
	if s := app.Status.OperationState; s != nil && !s.Phase.Completed() {
		return &s.Operation
	}
	return nil
}

func (e *Engine) autoSync(o *observation) plan.Decision {
	if o.plan == nil || finding.Blocking(o.findings) {
		return plan.Decision{Reason: "not compared"}
	}
	return plan.AutoSync(plan.AutoInput{
		Plan:    *o.plan,
		Policy:  plan.AutomationOf(o.app),
		Last:    e.lastAttempt(o),
		Backoff: e.Settings().Backoff,
		Now:     e.Now(),

		Revision: o.content.Name(),
		Rejected: o.app.Annotations[v1alpha1.AnnotationRejected],
		Hold:     plan.HoldOf(o.app),
		Window:   e.window(o, policy.WindowOp{}),
		Fights:   plan.Fights(e.drifts.of(e.key(o.app)), o.content.Name(), e.Now()),
	})
}

// window says whether the project's windows allow an operation now.
func (e *Engine) window(o *observation, op policy.WindowOp) policy.WindowVerdict {
	at := o.cluster.place
	return policy.Windows(o.windows, policy.WindowSubject{
		App: o.app.Name, Namespace: o.app.Spec.Destination.Namespace, Server: at.Server, ClusterName: at.Name,
	}, e.Now(), op)
}

func (e *Engine) lastAttempt(o *observation) *plan.Attempt {
	s := o.app.Status.OperationState
	// A dry run was no attempt.
	if s == nil || s.SyncResult == nil || s.FinishedAt == nil || s.Operation.Sync == nil || s.Operation.Sync.DryRun {
		return nil
	}
	var unserved []object.Key
	for _, r := range s.SyncResult.Resources {
		if r.Status == v1alpha1.ResultCodeSyncFailed && strings.Contains(r.Message, plan.NotServed) {
			unserved = append(unserved, object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
	return &plan.Attempt{
		Unserved:  unserved,
		Same:      e.equal(o, status.Synced(s.SyncResult)),
		Succeeded: s.Phase == v1alpha1.OperationSucceeded,
		Finished:  s.FinishedAt.Time,
		Heals:     int(s.Operation.Sync.AutoHealAttemptsCount),
		Message:   s.Message,
	}
}

// automatic is the operation that a decision to sync stands for.
func automatic(app *v1alpha1.Application, o *observation, d plan.Decision) *v1alpha1.Operation {
	op := &v1alpha1.Operation{
		InitiatedBy: v1alpha1.OperationInitiator{Automated: true},
		Retry:       plan.RetryOf(app),
		Sync: &v1alpha1.SyncOperation{
			Prune:                 plan.AutomationOf(app).Prune,
			SyncOptions:           app.Spec.SyncPolicy.SyncOptions,
			AutoHealAttemptsCount: int64(d.Heals),
		},
	}
	if op.Sync.Revision = o.content.First(); o.content.Many {
		op.Sync.Revision, op.Sync.Revisions = "", o.content.Revisions
	}
	for _, k := range d.Only {
		op.Sync.Resources = append(op.Sync.Resources, v1alpha1.SyncOperationResource{
			Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
		})
	}
	return op
}

// settled says that every object was judged: nothing is left to ask again.
func (o *observation) settled() bool {
	return o.plan != nil && !slices.ContainsFunc(o.plan.Items, func(it plan.Item) bool {
		return it.Sync == plan.Unknown && it.Action == plan.Update
	})
}

// askAgain is how soon an object that the server gave no answer about is asked
// about again, if nothing happens meanwhile.
const askAgain = 30 * time.Second

// report writes the status that follows from a look, if it differs from the
// one that stands.
func (e *Engine) report(ctx context.Context, o *observation, op *v1alpha1.OperationState) (*v1alpha1.Application, error) {
	// Most looks change nothing: only what may change is copied.
	next := *o.app
	next.Finalizers, next.Annotations = slices.Clone(o.app.Finalizers), maps.Clone(o.app.Annotations)
	var differs bool
	next.Status, differs = status.Update(e.statusInput(o, op))
	guard(&next, o.plan)
	delete(next.Annotations, v1alpha1.AnnotationRefresh)
	if !differs && len(next.Annotations) == len(o.app.Annotations) && slices.Equal(next.Finalizers, o.app.Finalizers) {
		return o.app, nil
	}
	return e.write(ctx, o.app, &next)
}

func (e *Engine) status(o *observation, op *v1alpha1.OperationState) v1alpha1.ApplicationStatus {
	return status.Project(e.statusInput(o, op))
}

func (e *Engine) statusInput(o *observation, op *v1alpha1.OperationState) status.Input {
	return status.Input{
		App:              o.app,
		Plan:             o.plan,
		Content:          o.content,
		Types:            o.types(),
		Findings:         o.findings,
		Operation:        op,
		ByLetter:         e.Settings().Gate.ByLetter,
		ControlNamespace: e.Namespace,
		Now:              e.Now(),
	}
}

// types are what the sources turned out to be; one that gives no manifests has
// none.
func (o *observation) types() []v1alpha1.SourceType {
	out := make([]v1alpha1.SourceType, len(o.rendered))
	for i, r := range o.rendered {
		if r != nil {
			out[i] = r.Result.Type
		}
	}
	return out
}

// Plan says what a sync of the application to the revision (empty: its target
// revision) would do. It writes nothing.
func (e *Engine) Plan(ctx context.Context, app *v1alpha1.Application, revision string) (plan.Plan, string, error) {
	o := e.observe(ctx, app, look{revisions: only(revision), asked: true, only: true})
	if o.plan == nil {
		var messages []error
		for _, f := range o.findings {
			if f.Severity == finding.Error {
				messages = append(messages, errors.New(f.Message))
			}
		}
		return plan.Plan{}, o.content.Name(), errors.Join(messages...)
	}
	return *o.plan, o.content.Name(), nil
}

// only is a list of one, or none.
func only(revision string) []string {
	if revision == "" {
		return nil
	}
	return []string{revision}
}
