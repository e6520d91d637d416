package tree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/tree"
	"github.com/towline-cd/towline/test/story"
)

// TestBuild runs the data files: given live objects, then this is the tree of
// the application "shop". An object without a uid has "uid-" and its name.
func TestBuild(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		w := read(t, part["given"])
		got := draw(tree.Build("shop", w))
		slices.Reverse(w)
		if d := cmp.Diff(got, draw(tree.Build("shop", w))); d != "" {
			t.Errorf("the order of the facts shows in the tree (-once +again):\n%s", d)
		}
		return got
	})
}

// world is a cluster in memory.
type world []*object.Fact

func read(t *testing.T, data []byte) world {
	t.Helper()
	objects, err := manifest.Parse("given", data)
	if err != nil {
		t.Fatal(err)
	}
	var w world
	for _, u := range objects {
		f := object.FactOf(u, "m")
		if f.UID == "" {
			f.UID = "uid-" + f.Key.Name
		}
		w = append(w, &f)
	}
	return w
}

func (w world) Managed(app string) []object.Fact {
	var out []object.Fact
	for _, f := range w {
		if f.App == app {
			out = append(out, *f)
		}
	}
	return out
}

func (w world) Fact(k object.Key) (object.Fact, bool) {
	for _, f := range w {
		if f.Key == k {
			return *f, true
		}
	}
	return object.Fact{}, false
}

func (w world) Children(uid string) []*object.Fact {
	var out []*object.Fact
	for _, f := range w {
		if slices.ContainsFunc(f.Owners, func(o object.Owner) bool { return o.UID == uid }) {
			out = append(out, f)
		}
	}
	return out
}

func (w world) Namespace(name string) []*object.Fact {
	var out []*object.Fact
	for _, f := range w {
		if f.Key.Namespace == name {
			out = append(out, f)
		}
	}
	return out
}

// draw indents children below their parents: "- " is an owner reference, "~ "
// an inferred edge. What was drawn before is not entered again.
func draw(tr tree.Tree) string {
	var b strings.Builder
	drawn := map[object.Key]bool{}
	var below func(k object.Key, indent string)
	below = func(k object.Key, indent string) {
		for _, n := range tr.Nodes {
			for _, p := range n.Parents {
				if p.Key != k {
					continue
				}
				mark := "~ "
				if p.Owner {
					mark = "- "
				}
				fmt.Fprintf(&b, "%s%s%s%s", indent, mark, n.Fact.Key, notes(n))
				if drawn[n.Fact.Key] {
					b.WriteString(" (above)\n")
					continue
				}
				b.WriteByte('\n')
				drawn[n.Fact.Key] = true
				below(n.Fact.Key, indent+"  ")
			}
		}
	}
	for _, n := range tr.Nodes {
		if !n.Root || slices.ContainsFunc(n.Parents, func(p tree.Parent) bool { return p.Owner }) || drawn[n.Fact.Key] {
			continue
		}
		drawn[n.Fact.Key] = true
		fmt.Fprintf(&b, "%s%s\n", n.Fact.Key, notes(n))
		below(n.Fact.Key, "  ")
	}
	return b.String()
}

func notes(n tree.Node) string {
	out := ""
	if n.Foreign {
		out += " of " + n.Fact.App
	}
	if c := n.Fact.Columns; c != "" {
		out += " [" + string(c) + "]"
	}
	return out
}

// TestBelow has what came from one object, and not what it shares the tree with.
func TestBelow(t *testing.T) {
	w := world{
		{Key: object.Key{Kind: "A", Name: "root"}, UID: "1", App: "shop"},
		{Key: object.Key{Kind: "A", Name: "other"}, UID: "2", App: "shop"},
		{Key: object.Key{Kind: "C", Name: "grandchild"}, UID: "4", Owners: []object.Owner{{UID: "3"}}},
		{Key: object.Key{Kind: "B", Name: "child"}, UID: "3", Owners: []object.Owner{{UID: "1"}}},
		{Key: object.Key{Kind: "B", Name: "of another"}, UID: "5", Owners: []object.Owner{{UID: "2"}}},
		{Key: object.Key{Kind: "D", Name: "foreign"}, UID: "6", App: "bank", Owners: []object.Owner{{UID: "3"}}},
	}
	var got []string
	for _, f := range tree.Below(*w[0], w) {
		got = append(got, f.Key.Name)
	}
	if d := cmp.Diff([]string{"child", "grandchild"}, got); d != "" {
		t.Errorf("below (-want +got):\n%s", d)
	}
}

// TestBuildEndsDeepChains: a chain of owners without end is cut, not followed.
func TestBuildEndsDeepChains(t *testing.T) {
	const chain = 100
	w := world{{Key: object.Key{Kind: "Link", Name: "0"}, UID: "0", App: "shop"}}
	for i := 1; i < chain; i++ {
		w = append(w, &object.Fact{
			Key: object.Key{Kind: "Link", Name: fmt.Sprint(i)}, UID: fmt.Sprint(i),
			Owners: []object.Owner{{UID: fmt.Sprint(i - 1)}},
		})
	}
	got := tree.Build("shop", w)
	if len(got.Nodes) != 33 {
		t.Errorf("the chain has %d nodes", len(got.Nodes))
	}
	for _, n := range got.Nodes {
		if n.Fact.Key.Name != fmt.Sprint(n.Depth) {
			t.Errorf("%s is at depth %d", n.Fact.Key, n.Depth)
		}
	}
}
