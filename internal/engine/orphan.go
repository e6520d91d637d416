package engine

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// places knows which applications watch a namespace for objects that nobody
// has. It is empty where no project asks for that.
type places struct {
	mu          sync.RWMutex
	byNamespace map[string]map[string]struct{}
	byApp       map[string]string
}

func newPlaces() *places {
	return &places{byNamespace: map[string]map[string]struct{}{}, byApp: map[string]string{}}
}

// set notes the namespace that an application watches; "" is none.
func (p *places) set(app, namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.byApp[app]
	if was == namespace {
		return
	}
	delete(p.byApp, app)
	delete(p.byNamespace[was], app)
	if len(p.byNamespace[was]) == 0 {
		delete(p.byNamespace, was)
	}
	if namespace == "" {
		return
	}
	p.byApp[app] = namespace
	if p.byNamespace[namespace] == nil {
		p.byNamespace[namespace] = map[string]struct{}{}
	}
	p.byNamespace[namespace][app] = struct{}{}
}

func (p *places) of(app string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byApp[app]
}

// Watching are the applications that watch the namespace of an object for such
// as nobody has, where a change may make it one or no longer one.
func (e *Engine) Watching(old, now *object.Fact) []string {
	f := now
	if f == nil {
		f = old
	}
	if old != nil && now != nil && old.UID == now.UID && old.App == now.App && old.Owned == now.Owned {
		return nil
	}
	e.places.mu.RLock()
	defer e.places.mu.RUnlock()
	return slices.Sorted(maps.Keys(e.places.byNamespace[f.Key.Namespace]))
}

// orphans tells of the objects in the application's namespace that nobody has,
// if its project asks for that. Looking costs as much as the namespace holds.
func (e *Engine) orphans(ctx context.Context, o *observation, project policy.Project) error {
	namespace := o.app.Spec.Destination.Namespace
	if project.Orphans == nil || !project.Orphans.Warn || o.plan == nil {
		namespace = ""
	}
	e.places.set(e.key(o.app), namespace)
	if namespace == "" {
		return nil
	}
	facts := o.cluster.Namespace(namespace)
	there := map[string]bool{o.instance: true}
	for _, f := range facts {
		if _, known := there[f.App]; known || f.App == "" {
			continue
		}
		// Those in other namespaces are others' business; they are there.
		there[f.App] = true
		if ns, name := object.SplitInstance(e.Namespace, f.App); ns == e.Namespace {
			_, err := e.Hub.Application(ctx, name)
			if err != nil && fault.ReasonOf(err) != "NotFound" {
				return err
			}
			there[f.App] = err == nil
		}
	}
	o.findings = append(o.findings, o.plan.Orphans(facts, project, there)...)
	return nil
}

// surroundings feeds what a look sees of the objects that nobody has.
func (e *Engine) surroundings(h *maphash.Hash, c Cluster, app string) {
	namespace := e.places.of(app)
	if namespace == "" {
		return
	}
	for _, f := range c.Namespace(namespace) {
		if plan.Loose(f) {
			texts(h, f.UID, f.App)
		}
	}
}
