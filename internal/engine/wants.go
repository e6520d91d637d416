package engine

import (
	"sync"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// wants knows which applications desire objects that do not carry their mark:
// CRDs, which never do, objects that are not there, and those of others. A
// change of such an object says nothing of the application by itself.
type wants struct {
	mu    sync.RWMutex
	byKey map[object.Key]map[string]struct{}
	byApp map[string][]object.Key
}

func newWants() *wants {
	return &wants{byKey: map[object.Key]map[string]struct{}{}, byApp: map[string][]object.Key{}}
}

// set notes what an application desires and does not have its mark on.
func (w *wants) set(app string, keys []object.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.byApp[app] {
		delete(w.byKey[k], app)
		if len(w.byKey[k]) == 0 {
			delete(w.byKey, k)
		}
	}
	delete(w.byApp, app)
	if len(keys) > 0 {
		w.byApp[app] = keys
	}
	for _, k := range keys {
		if w.byKey[k] == nil {
			w.byKey[k] = map[string]struct{}{}
		}
		w.byKey[k][app] = struct{}{}
	}
}

// of are the objects that an application desires and does not have its mark on.
func (w *wants) of(app string) []object.Key {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.byApp[app]
}

// unmarked are the desired objects of a plan that do not carry the mark.
func unmarked(p plan.Plan, instance string) []object.Key {
	var out []object.Key
	for _, it := range p.Items {
		if !it.Prunable && (it.Live == nil || it.Live.App != instance) {
			out = append(out, it.Key)
		}
	}
	return out
}

// unconfirmed are the objects of a plan whose verdict holds for one version of
// them only: a change of theirs may matter though what we own is the same.
func unconfirmed(p plan.Plan) []object.Key {
	var out []object.Key
	for _, it := range p.Items {
		if !it.Prunable && it.Live != nil && !it.Verdict.Confirmed {
			out = append(out, it.Key)
		}
	}
	return out
}

// Doubted reports whether any change of an object matters, since its verdict
// holds for one version only.
func (e *Engine) Doubted(k object.Key) bool {
	e.doubts.mu.RLock()
	defer e.doubts.mu.RUnlock()
	return len(e.doubts.byKey[k]) > 0
}

// Wanting are the applications that desire an object which does not carry
// their mark.
func (e *Engine) Wanting(k object.Key) []string {
	e.wants.mu.RLock()
	defer e.wants.mu.RUnlock()
	var out []string
	for app := range e.wants.byKey[k] {
		out = append(out, app)
	}
	return out
}
