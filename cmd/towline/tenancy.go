package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
)

// scoped is what secrets say is for one project alone.
type scoped struct {
	repositories func() *repository.Set
	// clusters is nil where they are not known.
	clusters func() *destination.Set
}

// Owned is what a project has for itself.
func (s scoped) Owned(project string) policy.Owned {
	out := policy.Owned{Repositories: s.repositories().Owned(project)}
	if s.clusters == nil {
		return out
	}
	for _, c := range s.clusters().Of(project) {
		out.Clusters = append(out.Clusters, policy.OwnCluster{Server: c.Server, Name: c.Name, Namespaces: c.Namespaces})
	}
	return out
}

// ClusterOwner is the only project that a cluster is for.
func (s scoped) ClusterOwner(server string) string {
	if s.clusters == nil {
		return ""
	}
	c, _ := s.clusters().Get(server)
	return c.Project
}

// actAs makes the requests to a cluster those of another user.
func actAs(c engine.Cluster, user string) (engine.Hands, error) {
	able, ok := c.(interface {
		As(user string) (*cluster.Client, error)
	})
	if !ok {
		return nil, fmt.Errorf("acting as %s: a %T cannot", user, c)
	}
	return able.As(user)
}

// ownRights is what holds for all projects, for a command: it acts with the
// rights of whoever runs it, and so as nobody else.
func ownRights(s *settings.Settings) *policy.Tenancy {
	t := s.Tenancy
	t.Impersonate = false
	return &t
}

// projectChanged wakes the applications of a project, and of those that have
// its rules too.
func (p *parts) projectChanged(name string, apps []string) {
	p.roleChanged(name)
	p.announce(server.TopicProjects)
	t := p.shift.Load()
	if t == nil {
		return
	}
	t.controller.ProjectChanged(name)
	t.wake(apps, controller.User)
	t.herald.Wake(apps...)
	tenancy := p.settings.Current().Tenancy
	if !tenancy.Extends(name) {
		return
	}
	for _, other := range p.hub.KnownProjects() {
		if globals, _ := tenancy.GlobalsOf(other); slices.Contains(globals, name) {
			t.wake(p.hub.Members(other.Name), controller.User)
		}
	}
}

// tenancyChanged wakes everybody when the rules for all projects are others:
// what was allowed may not be any more.
func (p *parts) tenancyChanged(now *policy.Tenancy) {
	if last := p.tenancy.Swap(now); last == nil || reflect.DeepEqual(last, now) {
		return
	}
	t := p.shift.Load()
	if t == nil {
		return
	}
	for _, app := range p.hub.Known() {
		t.controller.Enqueue(object.AppName(p.namespace, app.Namespace, app.Name), controller.Resync)
	}
}

// ours is what the application of a mark is called, if it lives where we look.
func (p *parts) ours(instance string) (app string, ok bool) {
	namespace, _ := object.SplitInstance(p.namespace, instance)
	if namespace != p.namespace {
		if ok, _ = policy.MatchesNamespace(p.appNamespaces, namespace); !ok {
			return "", false
		}
	}
	return object.AppOfInstance(p.namespace, instance), true
}
