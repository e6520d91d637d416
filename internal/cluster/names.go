package cluster

import (
	"strings"
	"sync"
)

// names keeps each text that many facts share once. It has two generations:
// when the young one is full it becomes the old one, and what is still in use
// moves on when it is met again. So it follows the cluster and stays bounded.
type names struct {
	mu         sync.RWMutex
	young, old map[string]string
}

// namesMax bounds a generation: enough for the namespaces, applications,
// images and label sets of a large cluster.
const namesMax = 1 << 15

// longest is the length past which a text is unlikely to come twice.
const longest = 512

func newNames() *names {
	return &names{young: map[string]string{}, old: map[string]string{}}
}

func (n *names) intern(s string) string {
	if s == "" || len(s) > longest {
		return s
	}
	n.mu.RLock()
	kept, ok := n.young[s]
	n.mu.RUnlock()
	if ok {
		return kept
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept, ok = n.young[s]; ok {
		return kept
	}
	if kept, ok = n.old[s]; !ok {
		// What comes in is often a part of a longer text, which must not be kept for it.
		kept = strings.Clone(s)
	}
	if len(n.young) >= namesMax {
		n.old, n.young = n.young, map[string]string{}
	}
	n.young[kept] = kept
	return kept
}
