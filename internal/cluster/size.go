package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Size is how much is known of a cluster.
type Size struct {
	// Kinds are watched, Broken are those of them that cannot be, for now.
	Kinds, Broken, Objects int
	// Lag is how late the watches told of a write of ours, the last time; zero while there was none.
	Lag time.Duration
}

// Size counts what is watched and known.
func (c *Cluster) Size() Size {
	var s Size
	c.mu.RLock()
	kinds, broken := map[schema.GroupKind]struct{}{}, map[schema.GroupKind]struct{}{}
	for at, w := range c.watches {
		kinds[at.kind] = struct{}{}
		if w.problem != "" {
			broken[at.kind] = struct{}{}
		}
	}
	c.mu.RUnlock()
	s.Kinds, s.Broken = len(kinds), len(broken)
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	for _, shelf := range c.index.kinds {
		s.Objects += len(shelf.facts)
	}
	s.Lag = c.index.lag.last
	return s
}
