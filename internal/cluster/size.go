package cluster

// Size is how much is known of a cluster.
type Size struct {
	// Kinds are watched, Broken are those of them that cannot be, for now.
	Kinds, Broken, Objects int
}

// Size counts what is watched and known.
func (c *Cluster) Size() Size {
	var s Size
	c.mu.RLock()
	s.Kinds = len(c.watches)
	for _, w := range c.watches {
		if w.problem != "" {
			s.Broken++
		}
	}
	c.mu.RUnlock()
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	for _, shelf := range c.index.kinds {
		s.Objects += len(shelf.facts)
	}
	return s
}
