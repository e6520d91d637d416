package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

// remove takes an application down: the hooks before, its objects, the hooks
// after. Each stage is over when its finalizer is off, so whoever comes after a
// crash knows where to go on.
func (e *Engine) remove(ctx context.Context, app *v1alpha1.Application) (Result, error) {
	_, cascade := cascadeOf(app)
	if !cascade && !slices.ContainsFunc(app.Finalizers, hookFinalizer) {
		return Result{}, nil
	}
	c, err := e.knockToRemove(ctx, app)
	if reason := fault.ReasonOf(err); reason == destination.Unknown || reason == denied {
		slog.WarnContext(ctx, "destination is not known or not allowed, letting the application go without deleting", "app", e.key(app),
			"error", err)
		e.forget(e.key(app))
		return Result{}, e.release(ctx, app, func(f string) bool { _, ok := propagations[f]; return ok || hookFinalizer(f) })
	}
	if err != nil && fault.ClassOf(err) != fault.Waiting {
		return Result{}, err
	}
	if err != nil {
		// What is there cannot be seen, and goes when it can.
		return Result{}, removal{engine: e, app: app}.tell(ctx, []finding.Finding{{
			Reason: finding.Deletion, Severity: finding.Warning, Message: "the deletion waits: " + err.Error(),
		}})
	}
	r := removal{engine: e, app: app, cluster: c}
	for _, stage := range []struct {
		finalizer string
		run       func(context.Context) (bool, error)
	}{
		{v1alpha1.FinalizerPreDelete, r.hooks(plan.PreDelete)},
		{v1alpha1.FinalizerPreDeleteCleanup, r.cleanup(plan.PreDelete)},
		{"", r.objects},
		{v1alpha1.FinalizerPostDelete, r.hooks(plan.PostDelete)},
		{v1alpha1.FinalizerPostDeleteCleanup, r.cleanup(plan.PostDelete)},
	} {
		if stage.finalizer != "" && !slices.Contains(app.Finalizers, stage.finalizer) || stage.finalizer == "" && !cascade {
			continue
		}
		over, err := stage.run(ctx)
		if err != nil || !over {
			return Result{}, err
		}
		// The write brings the application back, and the next stage with it.
		if stage.finalizer != "" {
			return Result{After: 1}, e.release(ctx, app, func(f string) bool { return f == stage.finalizer })
		}
		e.forget(e.key(app))
		return Result{After: 1}, e.release(ctx, app, func(f string) bool { _, ok := propagations[f]; return ok })
	}
	return Result{}, nil
}

// knockToRemove goes to the door of an application that may have objects behind
// it also where its project has no business: of each the door says whether it may
// be touched.
func (e *Engine) knockToRemove(ctx context.Context, app *v1alpha1.Application) (*door, error) {
	d, err := e.knock(ctx, app)
	if fault.ReasonOf(err) != denied {
		return d, err
	}
	if _, unruled := e.ruling(ctx, app); unruled != nil || len(app.Status.Resources) > 0 {
		return e.approach(app)
	}
	return nil, err
}

// removal is the deletion of one application.
type removal struct {
	engine  *Engine
	app     *v1alpha1.Application
	cluster *door
}

// objects deletes the application's objects, the last wave first. It is over
// when none is left.
func (r removal) objects(ctx context.Context) (over bool, err error) {
	propagation, _ := cascadeOf(r.app)
	managed := r.cluster.Managed(object.Instance(r.engine.Namespace, r.app.Namespace, r.app.Name))
	rules, refusal := r.admitted(ctx)
	if refusal != "" && (rules == nil || len(managed)+len(r.app.Status.Resources) > 0) {
		return false, r.stuck(ctx, []finding.Finding{deletion(object.Key{}, refusal)})
	}
	if refusal != "" {
		// Whoever was never let in has nothing that could be left behind.
		return true, nil
	}
	self := object.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: r.app.Namespace, Name: r.app.Name}
	what := plan.Remove(plan.Removing{
		Managed: managed,
		Self:    self, Project: rules.project, Place: r.cluster.place, Options: plan.OptionsOf(r.app),
		Approved: plan.Approved(r.app, r.app.DeletionTimestamp.Time),
		Scopes:   r.cluster.View().Scopes,
	})
	for _, f := range what.Forbidden {
		slog.WarnContext(ctx, "an object stays when its application goes, since the project does not allow to touch it",
			"app", r.engine.key(r.app), "object", f.Key.String(), "project", r.app.ProjectName())
	}
	defer r.wroteDown(ctx)
	var problems []finding.Finding
	for _, f := range slices.Concat(what.Delete, what.Going) {
		// Nobody waits for the result of a hook any more.
		if f.Held {
			if err := r.cluster.Release(ctx, f); err != nil {
				problems = append(problems, deletion(f.Key, fmt.Sprintf("letting go of the hook %s: %v", f.Key, err)))
			}
		}
	}
	r.foretell(what.Delete)
	problems = append(problems, r.delete(ctx, what.Delete, propagation)...)
	// An object that cannot be seen may still be there.
	for _, unseen := range plan.Unseen(r.app.Status.Resources, r.cluster.View()) {
		problems = append(problems, deletion(object.Key{},
			"it is not known whether this object is gone: "+unseen+"; let the cluster answer for it, or take the finalizer off by hand"))
	}
	if len(problems) > 0 {
		return false, r.stuck(ctx, problems)
	}
	if len(what.Unconfirmed) > 0 {
		var names []string
		for _, f := range what.Unconfirmed {
			names = append(names, f.Key.String())
		}
		return false, r.tell(ctx, []finding.Finding{{
			Reason: finding.Deletion, Severity: finding.Warning,
			Message: "waiting for a confirmation to delete " + strings.Join(names, ", ") +
				"; set the annotation argocd.argoproj.io/deletion-approved of the application to the present time to give it",
		}})
	}
	// Their last events bring us back.
	return what.Over(), nil
}

// delete deletes objects, those of one kind at once and the kinds in their
// order, and says what went wrong.
func (r removal) delete(ctx context.Context, facts []object.Fact, propagation metav1.DeletionPropagation) []finding.Finding {
	app := r.engine.key(r.app)
	gone := r.engine.removed.of(app)
	facts = slices.DeleteFunc(slices.Clone(facts), func(f object.Fact) bool { return f.UID != "" && gone[f.Key] == f.UID })
	problems := make([]finding.Finding, len(facts))
	for begin := 0; begin < len(facts); {
		first, end := begin, begin
		for end < len(facts) && facts[end].Key.GroupKind() == facts[first].Key.GroupKind() {
			end++
		}
		begin = end
		var g errgroup.Group
		g.SetLimit(writers)
		for i := first; i < end; i++ {
			g.Go(func() error {
				if err := r.cluster.Delete(ctx, facts[i], propagation, r.proof()); err != nil {
					problems[i] = deletion(facts[i].Key, fmt.Sprintf("deleting %s: %v", facts[i].Key, err))
					return nil
				}
				r.engine.removed.note(app, facts[i].Key, facts[i].UID)
				return nil
			})
		}
		_ = g.Wait()
	}
	return slices.DeleteFunc(problems, func(f finding.Finding) bool { return f.Message == "" })
}

// admitted reads the rules and opens the door by them, or says why not.
func (r removal) admitted(ctx context.Context) (*ruling, string) {
	const byHand = "or take the finalizer off by hand"
	rules, err := r.engine.ruling(ctx, r.app)
	if err != nil {
		return nil, fmt.Sprintf("what may be deleted is the word of project %q, and it cannot be read: %v; "+
			"make the project again, %s", r.app.ProjectName(), err, byHand)
	}
	if finding.Blocking(rules.findings) {
		return rules, fmt.Sprintf("%s, %s", rules.findings[0].Message, byHand)
	}
	if v := r.engine.welcome(rules, r.app); !v.Allowed {
		return rules, fmt.Sprintf("%s, %s", v.Reason, byHand)
	}
	if err := r.engine.admit(r.cluster, r.app, rules, acting); err != nil {
		return rules, fmt.Sprintf("%v, %s", err, byHand)
	}
	return rules, ""
}

// hooks runs the hooks of one point of the deletion. It is over when all of
// them succeeded; one that failed blocks, and says so.
func (r removal) hooks(phase plan.Phase) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		o, err := r.look(ctx)
		if err != nil {
			return false, err
		}
		for {
			step := plan.RemovalHooks(*o.plan, phase)
			switch step.Do {
			case plan.DoDone:
				return true, nil
			case plan.DoWait:
				return false, r.tell(ctx, []finding.Finding{{Reason: finding.Deletion, Severity: finding.Warning, Message: step.Message}})
			case plan.DoFail:
				return false, r.stuck(ctx, []finding.Finding{deletion(object.Key{}, fmt.Sprintf("%s hooks: %s", phase, step.Message))})
			case plan.DoApply, plan.DoClear, plan.DoPrune, plan.DoNote, plan.DoRelease, plan.DoLook:
			}
			results, err := r.engine.execute(ctx, o, work{step: step})
			if err != nil {
				return false, err
			}
			for _, result := range results {
				if result.Outcome.Code == plan.CodeFailed {
					return false, r.stuck(ctx, []finding.Finding{deletion(result.Item.Key,
						fmt.Sprintf("%s hook %s: %s", phase, result.Item.Key, result.Outcome.Message))})
				}
			}
		}
	}
}

// cleanup lets the hooks of one point of the deletion go.
func (r removal) cleanup(phase plan.Phase) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		o, err := r.look(ctx)
		if err != nil {
			return false, err
		}
		release, gone := plan.RemovalCleanup(*o.plan, phase)
		for do, items := range map[plan.Do][]plan.Item{plan.DoRelease: release, plan.DoClear: gone} {
			if _, err := r.engine.execute(ctx, o, work{step: plan.Step{Do: do, Items: items}}); err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// look renders the hooks of the deletion, from the revision that was compared
// last: what the application leaves behind is what that one asked for.
func (r removal) look(ctx context.Context) (*observation, error) {
	last := status.Compared(r.app.Status.Sync)
	l := look{removing: true, run: plan.Run{Started: r.app.DeletionTimestamp.Time, Revision: last.First()}}
	if last.Known() && len(last.Revisions) == len(r.app.Sources()) {
		l.revisions = last.Revisions
	}
	o := r.engine.observe(ctx, r.app, l)
	if o.plan != nil {
		return o, nil
	}
	return nil, r.stuck(ctx, o.findings)
}

func deletion(k object.Key, message string) finding.Finding {
	return finding.Finding{Reason: finding.Deletion, Severity: finding.Error, Key: k, Message: message}
}

// tell writes findings into the application's conditions.
func (r removal) tell(ctx context.Context, findings []finding.Finding) error {
	o := &observation{app: r.app, content: status.Compared(r.app.Status.Sync), findings: findings}
	_, err := r.engine.report(ctx, o, r.app.Status.OperationState)
	return err
}

// stuck tells of problems, and is an error so that the deletion is tried again.
func (r removal) stuck(ctx context.Context, problems []finding.Finding) error {
	if err := r.tell(ctx, problems); err != nil {
		return err
	}
	return fmt.Errorf("deleting application %q: %s", r.engine.key(r.app), problems[0].Message)
}

// release takes finalizers off.
func (e *Engine) release(ctx context.Context, app *v1alpha1.Application, which func(string) bool) error {
	next := app.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, which)
	_, err := e.write(ctx, app, next)
	return err
}

// hookFinalizer says that a finalizer waits for hooks of the deletion.
func hookFinalizer(f string) bool {
	return strings.HasPrefix(f, v1alpha1.FinalizerPreDelete) || strings.HasPrefix(f, v1alpha1.FinalizerPostDelete)
}

// guard gives an application the finalizers that its deletion hooks need, and
// takes them off when it has none.
func guard(app *v1alpha1.Application, p *plan.Plan) {
	if p == nil || app.DeletionTimestamp != nil {
		return
	}
	for _, g := range []struct {
		wanted     bool
		finalizers []string
	}{
		{p.Before, []string{v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerPreDeleteCleanup}},
		{p.After, []string{v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup}},
	} {
		for _, f := range g.finalizers {
			has := slices.Contains(app.Finalizers, f)
			switch {
			case g.wanted && !has:
				app.Finalizers = append(app.Finalizers, f)
			case !g.wanted && has:
				app.Finalizers = slices.DeleteFunc(app.Finalizers, func(s string) bool { return s == f })
			}
		}
	}
}

var propagations = map[string]metav1.DeletionPropagation{
	v1alpha1.FinalizerResources:           metav1.DeletePropagationForeground,
	v1alpha1.FinalizerResourcesForeground: metav1.DeletePropagationForeground,
	v1alpha1.FinalizerResourcesBackground: metav1.DeletePropagationBackground,
}

func cascadeOf(app *v1alpha1.Application) (metav1.DeletionPropagation, bool) {
	for _, f := range app.Finalizers {
		if p, ok := propagations[f]; ok {
			return p, true
		}
	}
	return "", false
}
