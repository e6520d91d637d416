// Package tree turns facts into the resource tree of an application: its own
// objects, and what came from them. It must not fetch anything by itself, nor
// judge what it finds.
package tree

import (
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/object"
)

// Facts is what a tree is made from. The facts are shared and not changed.
type Facts interface {
	// Managed lists the objects that carry an application's mark.
	Managed(app string) []object.Fact
	// Fact finds one object.
	Fact(k object.Key) (object.Fact, bool)
	// Children lists the objects that name this UID as an owner.
	Children(uid string) []*object.Fact
	// Namespace lists all objects of a namespace.
	Namespace(name string) []*object.Fact
}

// Tree is an application's objects and what came from them, in key order.
type Tree struct {
	Nodes []Node
}

// Node is one object of a tree.
type Node struct {
	Fact *object.Fact
	// Root says that the object carries the application's own mark.
	Root bool
	// Foreign says that the object carries another application's mark. It is
	// shown because something leads to it, and nothing below it is.
	Foreign bool
	// Depth is the number of steps from the nearest root.
	Depth int
	// Parents are in key order, each once.
	Parents []Parent
}

// Parent is what a node is below.
type Parent struct {
	Key object.Key
	// Owner says that the node has an owner reference to it. Where it has
	// none the edge is inferred from what the two say about each other.
	Owner bool
}

// maxDepth ends chains that no sane cluster has.
const maxDepth = 32

// Build makes the tree of an application, by the name in its objects' marks.
func Build(app string, facts Facts) Tree {
	b := &builder{app: app, facts: facts, nodes: map[object.Key]*Node{}, places: map[string]place{}}
	var level []*Node
	for _, f := range facts.Managed(app) {
		n := &Node{Fact: &f, Root: true}
		b.nodes[f.Key] = n
		level = append(level, n)
	}
	b.grow(level)
	return b.tree()
}

// Below lists what came from one object and is not another application's, in
// key order.
func Below(root object.Fact, facts Facts) []*object.Fact {
	b := &builder{app: root.App, facts: facts, nodes: map[object.Key]*Node{}, places: map[string]place{}}
	n := &Node{Fact: &root, Root: true}
	b.nodes[root.Key] = n
	b.grow([]*Node{n})
	var out []*object.Fact
	for _, n := range b.tree().Nodes {
		if !n.Root && !n.Foreign {
			out = append(out, n.Fact)
		}
	}
	return out
}

type builder struct {
	app    string
	facts  Facts
	nodes  map[object.Key]*Node
	places map[string]place
}

func (b *builder) grow(level []*Node) {
	for depth := 1; len(level) > 0 && depth <= maxDepth; depth++ {
		var next []*Node
		for _, n := range level {
			next = append(next, b.expand(n, depth)...)
		}
		level = next
	}
}

// place is what is worth knowing of a namespace to find children in it.
type place struct {
	pods, claims []*object.Fact
	// belong has the objects that name their parent, by its key.
	belong map[object.Key][]*object.Fact
}

// expand links a node to its children and returns those that are new.
func (b *builder) expand(n *Node, depth int) []*Node {
	if n.Foreign {
		return nil
	}
	var found []*Node
	add := func(f *object.Fact, owner bool) {
		if child := b.link(n, f, owner); child != nil {
			child.Depth = depth
			found = append(found, child)
		}
	}
	if n.Fact.UID != "" {
		for _, f := range b.facts.Children(n.Fact.UID) {
			add(f, true)
		}
	}
	for _, r := range n.Fact.Refs {
		for _, f := range b.resolve(r) {
			add(f, false)
		}
	}
	if hasFollowers(n.Fact.Key) {
		for _, f := range b.place(n.Fact.Key.Namespace).belong[n.Fact.Key] {
			add(f, false)
		}
	}
	return found
}

// hasFollowers says whether objects of other kinds name this kind as parent.
func hasFollowers(k object.Key) bool {
	return k.Group == "" && (k.Kind == "Service" || k.Kind == "ServiceAccount")
}

// link makes f a child of n, and returns its node if it had none yet.
func (b *builder) link(n *Node, f *object.Fact, owner bool) *Node {
	if f.Key == n.Fact.Key {
		return nil
	}
	child, known := b.nodes[f.Key]
	if !known {
		child = &Node{Fact: f, Foreign: f.App != "" && f.App != b.app}
		b.nodes[f.Key] = child
	}
	child.below(Parent{Key: n.Fact.Key, Owner: owner})
	if known {
		return nil
	}
	return child
}

func (n *Node) below(p Parent) {
	i, ok := slices.BinarySearchFunc(n.Parents, p.Key, func(have Parent, k object.Key) int { return object.Compare(have.Key, k) })
	if ok {
		n.Parents[i].Owner = n.Parents[i].Owner || p.Owner
		return
	}
	n.Parents = slices.Insert(n.Parents, i, p)
}

// resolve finds the children that a reference is about.
func (b *builder) resolve(r object.Ref) []*object.Fact {
	switch r.Link {
	case object.Names:
		if f := b.named(r.Key); f != nil {
			return []*object.Fact{f}
		}
	case object.Numbers:
		return filter(b.place(r.Key.Namespace).claims, func(f *object.Fact) bool { return numbered(f.Key.Name, r.Key.Name) })
	case object.Selects:
		return filter(b.place(r.Key.Namespace).pods, func(f *object.Fact) bool { return f.Labels.Match(r.Selector) })
	case object.BelongsTo:
		// That is the way up; expand finds it from above.
	}
	return nil
}

// named finds an object whose scope the reference did not tell.
func (b *builder) named(k object.Key) *object.Fact {
	if f, ok := b.facts.Fact(k); ok {
		return &f
	}
	k.Namespace = ""
	if f, ok := b.facts.Fact(k); ok {
		return &f
	}
	return nil
}

// place reads a namespace once.
func (b *builder) place(namespace string) place {
	if p, ok := b.places[namespace]; ok {
		return p
	}
	p := place{belong: map[object.Key][]*object.Fact{}}
	for _, f := range b.facts.Namespace(namespace) {
		switch {
		case f.Key.Group == "" && f.Key.Kind == "Pod":
			p.pods = append(p.pods, f)
		case f.Key.Group == "" && f.Key.Kind == "PersistentVolumeClaim":
			p.claims = append(p.claims, f)
		}
		for _, r := range f.Refs {
			if r.Link == object.BelongsTo {
				p.belong[r.Key] = append(p.belong[r.Key], f)
			}
		}
	}
	b.places[namespace] = p
	return p
}

func (b *builder) tree() Tree {
	nodes := make([]Node, 0, len(b.nodes))
	for _, n := range b.nodes {
		nodes = append(nodes, *n)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return object.Compare(a.Fact.Key, b.Fact.Key) })
	return Tree{Nodes: nodes}
}

// numbered says whether name is the base, a dash and a number.
func numbered(name, base string) bool {
	n, ok := strings.CutPrefix(name, base+"-")
	if !ok || n == "" {
		return false
	}
	return strings.Trim(n, "0123456789") == ""
}

func filter(facts []*object.Fact, keep func(*object.Fact) bool) []*object.Fact {
	var out []*object.Fact
	for _, f := range facts {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}
