package engine

import (
	"context"
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Scoped knows what secrets say is for one project alone.
type Scoped interface {
	Owned(project string) policy.Owned
	// ClusterOwner is the only project that a cluster is for; "" is for all.
	ClusterOwner(server string) string
}

// ruling is all the rules that an application is bound by.
type ruling struct {
	project policy.Project
	tenancy policy.Tenancy
	own     *v1alpha1.AppProject
	globals []*v1alpha1.AppProject
	// findings are what is wrong with the rules themselves.
	findings []finding.Finding
	// versions name the projects that the rules were read from.
	versions []string
}

// ruling reads the rules of an application: those of its project and of the
// global projects that the installation gives it. A project that does not exist
// is a Terminal fault with the reason NotFound.
func (e *Engine) ruling(ctx context.Context, app *v1alpha1.Application) (*ruling, error) {
	p, err := e.Hub.Project(ctx, app.ProjectName())
	if err != nil {
		return nil, err
	}
	r := &ruling{own: p, versions: []string{p.Name, p.ResourceVersion}}
	if t := e.Settings().Tenancy; t != nil {
		r.tenancy = *t
	}
	names, faults := r.tenancy.GlobalsOf(p)
	faults = append(faults, unread(p)...)
	for _, name := range names {
		g, err := e.Hub.Project(ctx, name)
		if fault.ReasonOf(err) == "NotFound" {
			faults = append(faults, fmt.Sprintf("%s of %s gives project %q the rules of project %q, which does not exist; create it "+
				"or take the entry out", v1alpha1.KeyGlobalProjects, v1alpha1.ConfigMapSettings, p.Name, name))
			continue
		}
		if err != nil {
			return nil, err
		}
		faults = append(faults, unread(g)...)
		r.globals = append(r.globals, g)
		r.versions = append(r.versions, g.Name, g.ResourceVersion)
	}
	for _, f := range faults {
		// Rules that are missing may be those that deny.
		severity := finding.Error
		if r.tenancy.ByLetter {
			severity = finding.Warning
		}
		r.findings = append(r.findings, finding.Finding{Reason: finding.InvalidSpec, Severity: severity, Message: f})
	}
	r.project = ruled(policy.Effective(p, r.globals, e.Scoped.Owned(p.Name)))
	r.project.SharesClusters = r.tenancy.ByLetter
	r.project.DenyAllowsRest = r.tenancy.ByLetter
	return r, nil
}

// unread tells of a project that cannot be read: it allows nothing, and what it would deny is not known.
func unread(p *v1alpha1.AppProject) []string {
	if u := object.UnreadableOf(p); u != nil {
		return []string{fmt.Sprintf("project %q: %s", p.Name, u)}
	}
	return nil
}

// windows are read by those who need them: that takes longer than the rest.
func (r *ruling) windows() []policy.Window { return policy.EffectiveWindows(r.own, r.globals) }

// welcome says whether an application may belong to its project, where it lives.
func (e *Engine) welcome(r *ruling, app *v1alpha1.Application) policy.Verdict {
	return policy.SourceNamespace(r.project, e.Namespace, app.Namespace)
}

// nothingScoped is for installations in which nothing is for one project alone.
type nothingScoped struct{}

func (nothingScoped) Owned(string) policy.Owned { return policy.Owned{} }

func (nothingScoped) ClusterOwner(string) string { return "" }

func nobodyElse(_ Cluster, user string) (Hands, error) {
	return nil, fault.Terminalf(denied, "it is to be done as %s, and nobody here can act for others", user)
}
