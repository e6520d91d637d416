package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// Judge gives live objects their health where users have a say in it. It is
// asked without any lock held, and may take a while.
type Judge interface {
	// Scripted says whether users judge the objects of a kind. It must be quick:
	// it is asked for each event.
	Scripted(gk schema.GroupKind) bool
	// Health judges objects of one kind, in their order.
	Health(objects []*unstructured.Unstructured) []health.Health
}

// ownRules is the judge where users have no say.
type ownRules struct{}

func (ownRules) Scripted(schema.GroupKind) bool { return false }

func (ownRules) Health(objects []*unstructured.Unstructured) []health.Health {
	out := make([]health.Health, len(objects))
	for i, u := range objects {
		out[i] = health.Of(u)
	}
	return out
}

// fact reads what is kept of one object.
func (c *Cluster) fact(u *unstructured.Unstructured) object.Fact {
	if !c.judge.Scripted(u.GroupVersionKind().GroupKind()) {
		return c.tracker.FactOf(u, v1alpha1.FieldManagerApply)
	}
	return c.tracker.FactJudged(u, v1alpha1.FieldManagerApply, c.judge.Health([]*unstructured.Unstructured{u})[0])
}

// batch are objects that wait for their health, so that a first reading asks
// for that of many at once. It holds few bodies.
type batch struct {
	facts  []*object.Fact
	bodies []*unstructured.Unstructured
}

const batchMax = 64

// later reads an object of a list. Its health may come with a later one of the
// same list, and is there after settle.
func (s *store) later(u *unstructured.Unstructured) *object.Fact {
	if !s.judge.Scripted(s.kind.GroupKind()) {
		return s.keep(s.tracker.FactOf(u, v1alpha1.FieldManagerApply))
	}
	f := s.keep(s.tracker.FactJudged(u, v1alpha1.FieldManagerApply, health.Health{}))
	s.batch.facts, s.batch.bodies = append(s.batch.facts, f), append(s.batch.bodies, u)
	if len(s.batch.facts) >= batchMax {
		s.settle()
	}
	return f
}

// settle gives the waiting objects their health.
func (s *store) settle() {
	if len(s.batch.facts) == 0 {
		return
	}
	for i, h := range s.judge.Health(s.batch.bodies) {
		h.Message = s.names.intern(h.Message)
		s.batch.facts[i].Health = h
	}
	s.batch = batch{}
}

// now reads an object with its health.
func (s *store) now(u *unstructured.Unstructured) *object.Fact {
	f := s.later(u)
	s.settle()
	return f
}

func (s *store) keep(f object.Fact) *object.Fact {
	f = f.Interned(s.names.intern)
	return &f
}

// Rejudge reads the kinds anew whose objects are judged otherwise than before:
// their bodies are not kept. It is for a judge whose rules have changed.
func (c *Cluster) Rejudge(moved func(schema.GroupKind) bool) {
	c.mu.Lock()
	for at := range c.watches {
		if moved(at.kind) {
			c.stale[at.kind] = struct{}{}
		}
	}
	n := len(c.stale)
	c.mu.Unlock()
	if n == 0 {
		return
	}
	select {
	case c.reread <- struct{}{}:
	default:
	}
}
