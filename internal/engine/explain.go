package engine

import (
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/tree"
)

// ailing are the applications with objects that are not well: for them it
// matters what becomes of the pods and other objects that came from theirs.
type ailing struct {
	mu   sync.RWMutex
	apps map[string]struct{}
}

func newAiling() *ailing { return &ailing{apps: map[string]struct{}{}} }

func (a *ailing) set(app string, ails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.apps, app)
	if ails {
		a.apps[app] = struct{}{}
	}
}

// Ailing says that an application has objects that are not well.
func (e *Engine) Ailing(app string) bool {
	e.ailing.mu.RLock()
	defer e.ailing.mu.RUnlock()
	_, ok := e.ailing.apps[app]
	return ok
}

// explain lets the objects that are not well say what they wait for, in the
// words of what came from them. Objects that are well cost nothing.
func (e *Engine) explain(o *observation, p *plan.Plan) {
	ails := false
	for i := range p.Items {
		it := &p.Items[i]
		if it.Live != nil && it.Key.Group == v1alpha1.Group && it.Key.Kind == v1alpha1.ApplicationSetKind {
			for _, f := range o.cluster.Children(it.Live.UID) {
				it.Members = append(it.Members, *f)
			}
			// What becomes of them is what becomes of it.
			ails = true
		}
		if it.Live == nil || it.Live.Health.Status != health.Progressing && it.Live.Health.Status != health.Degraded {
			continue
		}
		ails = true
		f := *it.Live
		f.Health.Message = status.Explain(f, tree.Below(f, o.cluster))
		it.Live = &f
	}
	if !o.look.only {
		e.ailing.set(e.key(o.app), ails)
	}
}

// maxRise is how far up an object's owners are looked for.
const maxRise = 5

// Root is the application that an object came from, if its owners lead to one.
func Root(l Live, f *object.Fact) (app string, ok bool) {
	at := *f
	for range maxRise {
		if at.App != "" {
			return at.App, true
		}
		owner, found := at.Controller()
		if !found {
			return "", false
		}
		next, found := l.Fact(object.Key{Group: owner.Group, Kind: owner.Kind, Namespace: at.Key.Namespace, Name: owner.Name})
		if !found || next.UID != owner.UID {
			return "", false
		}
		at = next
	}
	return "", false
}
