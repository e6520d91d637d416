package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Admission says what is wrong with an application that somebody wants to store: in it, and by the rules that a sync would
// hold it to. Nothing is asked of a cluster or a repository.
func (e *Engine) Admission(ctx context.Context, app *v1alpha1.Application) ([]string, error) {
	var out []string
	for _, f := range plan.Validate(app) {
		if f.Severity == finding.Error {
			out = append(out, f.Message)
		}
	}
	r, err := e.ruling(ctx, app)
	if fault.ReasonOf(err) == "NotFound" {
		return append(out, fmt.Sprintf("application %q belongs to project %q, which does not exist; create it or set spec.project",
			app.Name, app.ProjectName())), nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range r.findings {
		if f.Severity == finding.Error {
			out = append(out, f.Message)
		}
	}
	verdicts := []policy.Verdict{e.welcome(r, app)}
	for _, s := range app.Sources() {
		verdicts = append(verdicts, policy.Source(r.project, s.RepoURL))
	}
	d := app.Spec.Destination
	if d.Server != "" || d.Name != "" {
		at, err := e.located(d)
		switch {
		case fault.ReasonOf(err) == destination.Unknown:
			// Which clusters there are is not for everybody who may write an application.
			out = append(out, fmt.Sprintf("cluster %q is not known", cmp.Or(d.Server, d.Name)))
		case err != nil:
			out = append(out, err.Error())
		default:
			verdicts = append(verdicts, policy.Cluster(r.project, at), policy.DestinationOf(r.project, at.Server, at.Name, d.Namespace))
		}
	}
	for _, v := range verdicts {
		if !v.Allowed {
			out = append(out, v.Reason)
		}
	}
	return out, nil
}

// located says which cluster a destination means, without opening it.
func (e *Engine) located(d v1alpha1.ApplicationDestination) (policy.Place, error) {
	finder, ok := e.Clusters.(Finder)
	if !ok {
		return policy.Place{Server: d.Server, Name: d.Name}, nil
	}
	server, name, _, err := finder.Find(d)
	if err != nil {
		return policy.Place{}, err
	}
	return policy.Place{Server: server, Name: name, Project: e.Scoped.ClusterOwner(server)}, nil
}
