package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// Managed lists the facts of the objects that carry an application's mark, in
// key order.
func (c *Cluster) Managed(app string) []object.Fact { return c.index.managed(app) }

// Fact is what is known of one object.
func (c *Cluster) Fact(k object.Key) (object.Fact, bool) { return c.index.get(k) }

// Children lists the facts of the objects that name this UID as an owner, in
// key order. They are shared: nobody may change them.
func (c *Cluster) Children(uid string) []*object.Fact { return c.index.children(uid) }

// Namespace lists the facts of all objects in a namespace, in key order. They
// are shared: nobody may change them.
func (c *Cluster) Namespace(name string) []*object.Fact { return c.index.namespace(name) }

// Seen says whether the watch of the object's kind has come to this
// resourceVersion: what the server answered to a write is then known here, and
// what happened before it too.
func (c *Cluster) Seen(k object.Key, rv string) bool {
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	s := c.index.kinds[k.GroupKind()]
	return s != nil && s.has(k, rv)
}

// Await waits until Seen is true. It is a Waiting fault if the kind is not
// watched, or not any more.
func (c *Cluster) Await(ctx context.Context, k object.Key, rv string) error {
	for {
		moved, seen, err := c.index.next(k, rv)
		if seen || err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the watch to tell of %s at version %s: %w", k, rv, context.Cause(ctx))
		}
	}
}

// next is closed at the next news of the object's kind.
func (ix *index) next(k object.Key, rv string) (moved <-chan struct{}, seen bool, err error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	s := ix.kinds[k.GroupKind()]
	if s == nil || s.part(k.Namespace) == nil {
		return nil, false, fault.Waitingf("NotWatched", "objects of kind %s are not watched", k.GroupKind())
	}
	if s.has(k, rv) {
		return nil, true, nil
	}
	if s.moved == nil {
		s.moved = make(chan struct{})
	}
	return s.moved, false, nil
}

// has runs with the lock held.
func (s *shelf) has(k object.Key, rv string) bool {
	if n, ok := version(rv); ok {
		p := s.part(k.Namespace)
		return p != nil && p.seen >= n
	}
	// Versions without an order can only be found again.
	f := s.facts[placeOf(k)]
	return f != nil && f.ResourceVersion == rv
}

func (ix *index) managed(app string) []object.Fact {
	found := ix.members(ix.byApp, app)
	out := make([]object.Fact, len(found))
	for i, f := range found {
		out[i] = *f
	}
	return out
}

func (ix *index) children(uid string) []*object.Fact { return ix.members(ix.byOwner, uid) }

func (ix *index) namespace(name string) []*object.Fact { return ix.members(ix.byPlace, name) }

func (ix *index) members(groups map[string]*group, name string) []*object.Fact {
	ix.mu.RLock()
	found := groups[name].members()
	ix.mu.RUnlock()
	slices.SortFunc(found, func(a, b *object.Fact) int { return object.Compare(a.Key, b.Key) })
	return found
}

func (ix *index) get(k object.Key) (object.Fact, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	s, ok := ix.kinds[k.GroupKind()]
	if !ok {
		return object.Fact{}, false
	}
	f, ok := s.facts[placeOf(k)]
	if !ok {
		return object.Fact{}, false
	}
	return *f, true
}
