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
	byKey map[wanted]map[string]struct{}
	byApp map[string]desires
}

// wanted is an object of one cluster.
type wanted struct {
	server string
	key    object.Key
}

// desires are the objects of one cluster that an application desires.
type desires struct {
	server string
	keys   []object.Key
}

func newWants() *wants {
	return &wants{byKey: map[wanted]map[string]struct{}{}, byApp: map[string]desires{}}
}

// set notes what an application desires on a cluster and does not have its mark
// on.
func (w *wants) set(app, server string, keys []object.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.byApp[app]
	for _, k := range last.keys {
		at := wanted{last.server, k}
		delete(w.byKey[at], app)
		if len(w.byKey[at]) == 0 {
			delete(w.byKey, at)
		}
	}
	delete(w.byApp, app)
	if len(keys) > 0 {
		w.byApp[app] = desires{server, keys}
	}
	for _, k := range keys {
		at := wanted{server, k}
		if w.byKey[at] == nil {
			w.byKey[at] = map[string]struct{}{}
		}
		w.byKey[at][app] = struct{}{}
	}
}

// of are the objects that an application desires and does not have its mark on.
func (w *wants) of(app string) []object.Key {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.byApp[app].keys
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
func (e *Engine) Doubted(server string, k object.Key) bool {
	e.doubts.mu.RLock()
	defer e.doubts.mu.RUnlock()
	return len(e.doubts.byKey[wanted{server, k}]) > 0
}

// Wanting are the applications that desire an object which does not carry
// their mark.
func (e *Engine) Wanting(server string, k object.Key) []string {
	e.wants.mu.RLock()
	defer e.wants.mu.RUnlock()
	var out []string
	for app := range e.wants.byKey[wanted{server, k}] {
		out = append(out, app)
	}
	return out
}
