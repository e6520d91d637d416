package cluster

import (
	"context"
	"sync"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Snapshot reads facts straight from the server, one object at a time, for a
// program that looks once and has no use for an index. It serves one look.
type Snapshot struct {
	*Cluster
	ctx     context.Context //nolint:containedctx // it lives for one look, which is this context
	managed []object.Key

	mu  sync.Mutex
	err error
}

// Snapshot discovers the cluster and makes a snapshot. managed are the objects
// that the application is known to have.
func (c *Cluster) Snapshot(ctx context.Context, managed []object.Key) (*Snapshot, error) {
	c.mu.RLock()
	chosen := c.filters
	c.mu.RUnlock()
	found, err := discover(c.discovery, chosen)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.catalog = found
	c.mu.Unlock()
	return &Snapshot{Cluster: c, ctx: ctx, managed: managed}, nil
}

// Managed lists the facts of the known objects that carry the mark.
func (s *Snapshot) Managed(app string) []object.Fact {
	var out []object.Fact
	for _, k := range s.managed {
		if f, ok := s.Fact(k); ok && f.App == app {
			out = append(out, f)
		}
	}
	return out
}

// Fact reads one object. An object that could not be read is not an object
// that is not there: Err tells.
func (s *Snapshot) Fact(k object.Key) (object.Fact, bool) {
	version, served := s.version(k)
	if !served {
		return object.Fact{}, false
	}
	u, err := s.Get(s.ctx, k, version)
	if err != nil {
		if fault.ReasonOf(err) != "NotFound" {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
		}
		return object.Fact{}, false
	}
	return s.fact(u), true
}

// Err is the last error of a read.
func (s *Snapshot) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// View is what the cluster serves; nothing of it is watched here.
func (s *Snapshot) View() plan.View {
	s.Cluster.mu.RLock()
	defer s.Cluster.mu.RUnlock()
	return plan.View{
		Scopes: s.catalog.scopes, Blind: s.catalog.blind, Gaps: s.catalog.gaps, Kube: s.catalog.kube, Namespaces: s.namespaces,
	}
}

// version is the one in which a kind is watched.
func (c *Cluster) version(k object.Key) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, w := range c.catalog.watched {
		if w.GroupKind() == k.GroupKind() {
			return w.Version, true
		}
	}
	return "", false
}
