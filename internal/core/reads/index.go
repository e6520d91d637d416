package reads

import (
	"slices"
	"strings"
)

// Index answers whom a change concerns, of those who told it what they read. Its cost follows the change and those it
// concerns, not their number. It is not safe for use by several goroutines.
type Index struct {
	root    node
	holders map[string]Set
}

// node is one path. The slices have the holders that read something of it, each once and in order.
type node struct {
	children map[string]*node
	// exact read the path itself, listing its names, folder everything in it.
	exact, listing, folder []string
}

// readers is the slice that a kind of read belongs to.
func (n *node) readers(k Kind) *[]string {
	switch k {
	case Listing:
		return &n.listing
	case Folder:
		return &n.folder
	default:
		return &n.exact
	}
}

func (n *node) empty() bool {
	return len(n.children) == 0 && len(n.exact) == 0 && len(n.listing) == 0 && len(n.folder) == 0
}

// Set replaces what a holder read; nothing forgets it.
func (x *Index) Set(holder string, set Set) {
	for _, r := range x.holders[holder] {
		x.root.remove(names(r.Path), r.Kind, holder)
	}
	delete(x.holders, holder)
	if len(set) == 0 {
		return
	}
	if x.holders == nil {
		x.holders = map[string]Set{}
	}
	x.holders[holder] = set
	for _, r := range set {
		n := &x.root
		for _, name := range names(r.Path) {
			n = n.child(name)
		}
		into := n.readers(r.Kind)
		if i, found := slices.BinarySearch(*into, holder); !found {
			*into = slices.Insert(*into, i, holder)
		}
	}
}

// Has says whether a holder is known.
func (x *Index) Has(holder string) bool {
	_, ok := x.holders[holder]
	return ok
}

// Len is how many holders are known.
func (x *Index) Len() int { return len(x.holders) }

// Touched are the holders that read something of what changed, in order.
func (x *Index) Touched(changes []Change) []string {
	found := map[string]struct{}{}
	for _, c := range changes {
		x.root.touched(c, found)
	}
	out := make([]string, 0, len(found))
	for holder := range found {
		out = append(out, holder)
	}
	slices.Sort(out)
	return out
}

func (n *node) touched(c Change, found map[string]struct{}) {
	way := names(c.Path)
	for i, name := range way {
		add(found, n.folder)
		if c.Shape && i == len(way)-1 {
			add(found, n.listing)
		}
		next, ok := n.children[name]
		if !ok {
			return
		}
		n = next
	}
	add(found, n.folder)
	add(found, n.exact)
	if c.Shape {
		// What came may be a link to a folder, and what went may have been one:
		// then everything that was looked for below is something else.
		n.everything(found)
	}
}

func (n *node) everything(found map[string]struct{}) {
	add(found, n.exact)
	add(found, n.listing)
	add(found, n.folder)
	for _, child := range n.children {
		child.everything(found)
	}
}

func add(found map[string]struct{}, holders []string) {
	for _, h := range holders {
		found[h] = struct{}{}
	}
}

func (n *node) child(name string) *node {
	if c, ok := n.children[name]; ok {
		return c
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c := &node{}
	n.children[name] = c
	return c
}

// remove takes a holder off a path, and paths off that nobody reads any more.
func (n *node) remove(way []string, k Kind, holder string) {
	if len(way) == 0 {
		from := n.readers(k)
		if i, found := slices.BinarySearch(*from, holder); found {
			*from = slices.Delete(*from, i, i+1)
		}
		return
	}
	c, ok := n.children[way[0]]
	if !ok {
		return
	}
	c.remove(way[1:], k, holder)
	if c.empty() {
		delete(n.children, way[0])
	}
}

// names are the names of a path; the root has none.
func names(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
