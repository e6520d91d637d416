package main

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
	"github.com/towline-cd/towline/internal/server"
)

// rights are who may do what, kept current: by the rules of the installation and by the roles of projects.
type rights struct {
	mu      sync.Mutex
	current atomic.Pointer[rbac.Rights]
	// version is another one after every change.
	version atomic.Uint64
	// changed is told after every change; nil is nobody.
	changed func()
	roles   knownRoles
}

// knownRoles are the roles of projects as they were last taken.
type knownRoles struct {
	mu sync.Mutex
	of map[string][]v1alpha1.ProjectRole
}

// differ remembers the roles of a project, and tells whether they are others.
func (k *knownRoles) differ(name string, project *v1alpha1.AppProject) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.of[name]
	if project == nil {
		delete(k.of, name)
		return known
	}
	if known && reflect.DeepEqual(before, project.Spec.Roles) {
		return false
	}
	if k.of == nil {
		k.of = map[string][]v1alpha1.ProjectRole{}
	}
	k.of[name] = project.Spec.Roles
	return true
}

// policyChanged takes the rules of the installation as they are now.
func (r *rights) policyChanged(t *rbac.Table) {
	r.change(func(now *rbac.Rights) (*rbac.Rights, []rbac.Problem) { return now.On(t) })
}

// projectChanged takes the roles of a project as they are now; nil is that it is gone. A project changes for other
// reasons too, and whoever listens must not begin anew for them.
func (r *rights) projectChanged(name string, project *v1alpha1.AppProject) {
	if !r.roles.differ(name, project) {
		return
	}
	r.change(func(now *rbac.Rights) (*rbac.Rights, []rbac.Problem) {
		if project == nil {
			return now.Without(name), nil
		}
		return now.With(project)
	})
}

func (r *rights) change(by func(*rbac.Rights) (*rbac.Rights, []rbac.Problem)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.current.Load()
	if now == nil {
		now = rbac.NewRights(nil)
	}
	next, problems := by(now)
	for _, p := range problems {
		slog.Warn("a permission could not be read", "problem", p.String())
	}
	r.current.Store(next)
	r.version.Add(1)
	if r.changed != nil {
		r.changed()
	}
}

func subjectOf(c server.Caller) rbac.Subject { return rbac.Subject{Name: c.Subject, Groups: c.Groups} }

// Decide says what a caller may do. Before the rules were read nobody may do anything.
func (r *rights) Decide(c server.Caller, q server.Question) server.Verdict {
	now := r.current.Load()
	if now == nil {
		return server.Verdict{Why: "the rules were not read yet"}
	}
	v := now.Decide(subjectOf(c), rbac.Question(q))
	return server.Verdict{Allowed: v.Allowed, Line: v.Line.String(), Why: v.Why}
}

// Allowing answers for many objects.
func (r *rights) Allowing(c server.Caller, resource, action string) func(string) bool {
	now := r.current.Load()
	if now == nil {
		return func(string) bool { return false }
	}
	return now.Allowing(subjectOf(c), resource, action)
}

// roleChanged takes the roles of a project as they are now.
func (p *parts) roleChanged(name string) {
	// Projects are in memory; one that cannot be read is gone.
	project, err := p.hub.Project(context.Background(), name)
	if err != nil {
		project = nil
	}
	p.rights.projectChanged(name, project)
}
