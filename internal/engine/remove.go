package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// remove deletes what the application put there, as far as its finalizer asks
// for it, and lets the application go when nothing is left.
func (e *Engine) remove(ctx context.Context, app *v1alpha1.Application) (Result, error) {
	propagation, cascade := cascadeOf(app)
	if !cascade {
		return Result{}, nil
	}
	c, _, _, err := e.Clusters.For(app.Spec.Destination)
	if err != nil && fault.ClassOf(err) == fault.Terminal {
		slog.WarnContext(ctx, "destination is not known, letting the application go without deleting", "app", app.Name, "error", err)
		return Result{}, e.release(ctx, app)
	}
	if err != nil {
		return Result{}, err
	}
	self := object.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: app.Namespace, Name: app.Name}
	removal := plan.Remove(c.Managed(object.Instance(e.Namespace, app.Namespace, app.Name)), self)
	var problems []finding.Finding
	for _, f := range removal.Delete {
		if err := c.Delete(ctx, f, propagation); err != nil {
			problems = append(problems, finding.Finding{
				Reason: finding.Deletion, Severity: finding.Error, Key: f.Key, Message: fmt.Sprintf("deleting %s: %v", f.Key, err),
			})
		}
	}
	// An object that cannot be seen may still be there.
	for _, what := range plan.Unseen(app.Status.Resources, c.View()) {
		problems = append(problems, finding.Finding{
			Reason: finding.Deletion, Severity: finding.Error,
			Message: "it is not known whether this object is gone: " + what +
				"; let the cluster answer for it, or take the finalizer off by hand",
		})
	}
	if len(problems) > 0 {
		o := &observation{app: app, source: app.Status.Sync.ComparedTo.Source, revision: app.Status.Sync.Revision, findings: problems}
		if _, err := e.report(ctx, o, app.Status.OperationState); err != nil {
			return Result{}, err
		}
		return Result{}, fmt.Errorf("deleting application %q: %d objects are still there or not known: %s",
			app.Name, len(problems), problems[0].Message)
	}
	if len(removal.Delete) > 0 || len(removal.Going) > 0 {
		// Their last events bring us back.
		return Result{}, nil
	}
	e.forget(app.Name)
	return Result{}, e.release(ctx, app)
}

// release takes the finalizers of the cascade off.
func (e *Engine) release(ctx context.Context, app *v1alpha1.Application) error {
	next := app.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { _, ok := propagations[f]; return ok })
	_, err := e.write(ctx, app, next)
	return err
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
