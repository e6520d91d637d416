package engine

import (
	"context"
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
	mu      sync.RWMutex
	byPlace map[corner]map[string]struct{}
	byApp   map[string]corner
}

// corner is a namespace of a cluster; the zero value is none.
type corner struct{ server, namespace string }

func newPlaces() *places {
	return &places{byPlace: map[corner]map[string]struct{}{}, byApp: map[string]corner{}}
}

// set notes the namespace that an application watches.
func (p *places) set(app string, at corner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.byApp[app]
	if was == at {
		return
	}
	delete(p.byApp, app)
	delete(p.byPlace[was], app)
	if len(p.byPlace[was]) == 0 {
		delete(p.byPlace, was)
	}
	if at == (corner{}) {
		return
	}
	p.byApp[app] = at
	if p.byPlace[at] == nil {
		p.byPlace[at] = map[string]struct{}{}
	}
	p.byPlace[at][app] = struct{}{}
}

func (p *places) of(app string) corner {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byApp[app]
}

// Watching are the applications that watch the namespace of an object for such
// as nobody has, where a change may make it one or no longer one.
func (e *Engine) Watching(server string, old, now *object.Fact) []string {
	f := now
	if f == nil {
		f = old
	}
	if old != nil && now != nil && old.UID == now.UID && old.App == now.App && old.Owned == now.Owned {
		return nil
	}
	e.places.mu.RLock()
	defer e.places.mu.RUnlock()
	return slices.Sorted(maps.Keys(e.places.byPlace[corner{server, f.Key.Namespace}]))
}

// orphans tells of the objects in the application's namespace that nobody has,
// if its project asks for that. Looking costs as much as the namespace holds.
func (e *Engine) orphans(ctx context.Context, o *observation, project policy.Project) error {
	if o.look.only {
		return nil
	}
	namespace := o.app.Spec.Destination.Namespace
	if project.Orphans == nil || !project.Orphans.Warn || o.plan == nil {
		namespace = ""
	}
	if namespace == "" {
		e.places.set(e.key(o.app), corner{})
		return nil
	}
	e.places.set(e.key(o.app), corner{o.cluster.place.Server, namespace})
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
func (e *Engine) surroundings(t *object.Words, c Live, app string) {
	at := e.places.of(app)
	if at == (corner{}) {
		return
	}
	for _, f := range c.Namespace(at.namespace) {
		if plan.Loose(f) {
			t.Add(f.UID, f.App)
		}
	}
}
