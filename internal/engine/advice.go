package engine

import (
	"context"
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Outlook is what the windows of a project mean for an application now.
type Outlook struct {
	Windows           []policy.WindowState
	Automatic, Manual policy.WindowVerdict
}

// Windows says what the sync windows mean for an application.
func (e *Engine) Windows(ctx context.Context, app *v1alpha1.Application) (Outlook, error) {
	r, err := e.ruling(ctx, app)
	if err != nil {
		return Outlook{}, err
	}
	return e.outlook(ctx, r, app), nil
}

func (e *Engine) outlook(ctx context.Context, r *ruling, app *v1alpha1.Application) Outlook {
	subject := policy.WindowSubject{
		App: app.Name, Namespace: app.Spec.Destination.Namespace, Server: app.Spec.Destination.Server,
		ClusterName: app.Spec.Destination.Name,
	}
	// A destination has one of the two names, and windows are written for either.
	if c, err := e.knock(ctx, app); err == nil {
		subject.Server, subject.ClusterName = c.place.Server, c.place.Name
	}
	windows, now := r.windows(), e.Now()
	return Outlook{
		Windows:   policy.ExplainWindows(windows, subject, now),
		Automatic: policy.Windows(windows, subject, now, policy.WindowOp{}),
		Manual:    policy.Windows(windows, subject, now, policy.WindowOp{Manual: true}),
	}
}

// Check is one thing that may stand in the way of a sync.
type Check struct {
	// Name is what was looked at, Passed says that it is not in the way, and Why says either in a sentence.
	Name   string
	Passed bool
	Why    string
}

// Checks are all things that may stand in the way of a sync that a person asks for, or of one that nobody asks for.
func (e *Engine) Checks(ctx context.Context, app *v1alpha1.Application, manual bool) ([]Check, error) {
	var out []Check
	say := func(name string, passed bool, why string) {
		out = append(out, Check{Name: name, Passed: passed, Why: why})
	}
	if app.DeletionTimestamp != nil {
		say("deletion", false, "the application is being deleted")
	}
	for _, f := range plan.Validate(app) {
		say("spec", f.Severity != finding.Error, f.Message)
	}
	r, err := e.ruling(ctx, app)
	if err != nil {
		say("project", false, err.Error())
		return out, nil
	}
	for _, f := range r.findings {
		say("project", f.Severity != finding.Error, f.Message)
	}
	welcome := e.welcome(r, app)
	say("project", welcome.Allowed, welcome.Why())
	for _, s := range app.Sources() {
		v := policy.Source(r.project, s.RepoURL)
		say("source", v.Allowed, v.Why())
	}
	e.checkCluster(ctx, r, app, say)
	e.checkPace(ctx, r, app, manual, say)
	return out, nil
}

func (e *Engine) checkCluster(ctx context.Context, r *ruling, app *v1alpha1.Application, say func(name string, passed bool, why string)) {
	c, err := e.knock(ctx, app)
	if err != nil {
		say("cluster", false, err.Error())
		return
	}
	for _, v := range []policy.Verdict{
		policy.Cluster(r.project, c.place),
		policy.DestinationOf(r.project, c.place.Server, c.place.Name, app.Spec.Destination.Namespace),
	} {
		say("destination", v.Allowed, v.Why())
	}
}

// checkPace looks at what holds a sync back for a while.
func (e *Engine) checkPace(ctx context.Context, r *ruling, app *v1alpha1.Application, manual bool, say func(name string,
	passed bool, why string),
) {
	o := e.outlook(ctx, r, app)
	v := o.Automatic
	if manual {
		v = o.Manual
	}
	say("window", v.Allowed, v.Reason)
	if op := operationOf(app); op != nil {
		say("operation", false, "an operation is running; wait for it, or terminate it")
	}
	if manual {
		return
	}
	if hold := plan.HoldOf(app); hold.Until.After(e.Now()) {
		say("hold", false, fmt.Sprintf("somebody holds the application until %s: %s", hold.Until.UTC().Format("2006-01-02 15:04 MST"),
			hold.Reason))
	}
	if rejected := app.Annotations[v1alpha1.AnnotationRejected]; rejected != "" {
		say("rollback", false, fmt.Sprintf("a rollback left %s, and it is not synced by itself again", short(rejected)))
	}
	if !plan.AutomationOf(app).Enabled {
		say("automation", false, "spec.syncPolicy.automated is not set, so only a person syncs the application")
	}
}
