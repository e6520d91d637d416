package cluster

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// Change is a difference between two readings of an object that matters to
// somebody: New is nil when it is gone, Old when it came.
type Change struct {
	Old, New *object.Fact
}

// index keeps the facts of every watched object, by kind and by the
// application that marked it. It keeps no bodies.
type index struct {
	notify func(Change)

	mu    sync.RWMutex
	kinds map[schema.GroupKind]*shelf
	byApp map[string]map[object.Key]struct{}
}

// shelf holds one kind. seen is how far its watch has come.
type shelf struct {
	facts map[object.Key]*object.Fact
	seen  uint64
}

func newIndex(notify func(Change)) *index {
	return &index{
		notify: notify,
		kinds:  map[schema.GroupKind]*shelf{},
		byApp:  map[string]map[object.Key]struct{}{},
	}
}

// watched takes a reading from the watch.
func (ix *index) watched(f object.Fact) {
	ix.mu.Lock()
	ix.advance(f.Key.GroupKind(), f.ResourceVersion)
	change, ok := ix.put(f)
	ix.mu.Unlock()
	if ok {
		ix.notify(change)
	}
}

// written takes the server's answer to a write of ours, so that the next look
// already sees it. Where the watch has come past it, the watch knows better:
// the object may be gone again.
func (ix *index) written(f object.Fact) {
	ix.mu.Lock()
	rv, ok := version(f.ResourceVersion)
	if !ok || ix.shelf(f.Key.GroupKind()).seen >= rv {
		ix.mu.Unlock()
		return
	}
	// Nobody is told: whoever wrote knows.
	ix.put(f)
	ix.mu.Unlock()
}

// gone takes a deletion from the watch; rv is that of the deletion.
func (ix *index) gone(k object.Key, rv string) {
	ix.mu.Lock()
	ix.advance(k.GroupKind(), rv)
	change, ok := ix.drop(k)
	ix.mu.Unlock()
	if ok {
		ix.notify(change)
	}
}

// replace makes a kind's facts exactly these, read at rv: what is not among
// them is gone.
func (ix *index) replace(gk schema.GroupKind, facts []object.Fact, rv string) {
	current := make(map[object.Key]struct{}, len(facts))
	for _, f := range facts {
		current[f.Key] = struct{}{}
	}
	var changes []Change
	ix.mu.Lock()
	for k := range ix.shelf(gk).facts {
		if _, ok := current[k]; ok {
			continue
		}
		if c, ok := ix.drop(k); ok {
			changes = append(changes, c)
		}
	}
	for _, f := range facts {
		if c, ok := ix.put(f); ok {
			changes = append(changes, c)
		}
	}
	ix.advance(gk, rv)
	ix.mu.Unlock()
	for _, c := range changes {
		ix.notify(c)
	}
}

// bookmark moves a kind's progress without an object.
func (ix *index) bookmark(gk schema.GroupKind, rv string) {
	ix.mu.Lock()
	ix.advance(gk, rv)
	ix.mu.Unlock()
}

// forget drops a kind that the cluster no longer serves.
func (ix *index) forget(gk schema.GroupKind) {
	ix.replace(gk, nil, "")
	ix.mu.Lock()
	delete(ix.kinds, gk)
	ix.mu.Unlock()
}

// managed lists the facts of one application's objects, in key order.
func (ix *index) managed(app string) []object.Fact {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(ix.byApp[app]), object.Compare)
	out := make([]object.Fact, len(keys))
	for i, k := range keys {
		out[i] = *ix.kinds[k.GroupKind()].facts[k]
	}
	return out
}

func (ix *index) get(k object.Key) (object.Fact, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	s, ok := ix.kinds[k.GroupKind()]
	if !ok {
		return object.Fact{}, false
	}
	f, ok := s.facts[k]
	if !ok {
		return object.Fact{}, false
	}
	return *f, true
}

// The rest runs with the lock held.

func (ix *index) shelf(gk schema.GroupKind) *shelf {
	s, ok := ix.kinds[gk]
	if !ok {
		s = &shelf{facts: map[object.Key]*object.Fact{}}
		ix.kinds[gk] = s
	}
	return s
}

func (ix *index) advance(gk schema.GroupKind, rv string) {
	if n, ok := version(rv); ok {
		s := ix.shelf(gk)
		s.seen = max(s.seen, n)
	}
}

func (ix *index) put(f object.Fact) (Change, bool) {
	s := ix.shelf(f.Key.GroupKind())
	old := s.facts[f.Key]
	if old != nil && old.UID == f.UID && older(f.ResourceVersion, old.ResourceVersion) {
		return Change{}, false
	}
	ix.unlink(old)
	s.facts[f.Key] = &f
	if f.App != "" {
		keys, ok := ix.byApp[f.App]
		if !ok {
			keys = map[object.Key]struct{}{}
			ix.byApp[f.App] = keys
		}
		keys[f.Key] = struct{}{}
	}
	return Change{Old: old, New: &f}, matters(old, &f)
}

func (ix *index) drop(k object.Key) (Change, bool) {
	s := ix.shelf(k.GroupKind())
	old, ok := s.facts[k]
	if !ok {
		return Change{}, false
	}
	ix.unlink(old)
	delete(s.facts, k)
	return Change{Old: old}, true
}

func (ix *index) unlink(f *object.Fact) {
	if f == nil || f.App == "" {
		return
	}
	keys := ix.byApp[f.App]
	delete(keys, f.Key)
	if len(keys) == 0 {
		delete(ix.byApp, f.App)
	}
}

// matters tells a change that could move a verdict, a health or a tree from
// churn: a new resourceVersion alone is no news.
func matters(old, f *object.Fact) bool {
	return old == nil || old.UID != f.UID || old.Digest != f.Digest || old.App != f.App ||
		old.Deleting != f.Deleting || old.Health != f.Health
}

// older compares resource versions. Where they are no numbers nothing is older.
func older(a, b string) bool {
	x, ok := version(a)
	if !ok {
		return false
	}
	y, ok := version(b)
	return ok && x < y
}

// version reads a resourceVersion as the number that it is on every server
// that keeps its objects in etcd (and, since 1.35, by contract).
func version(rv string) (uint64, bool) {
	n, err := strconv.ParseUint(rv, 10, 64)
	return n, err == nil
}
