package cluster

import (
	"slices"

	"github.com/towline-cd/towline/internal/core/object"
)

// group is a set of facts that have something in common. Most groups are tiny
// (the pods of a ReplicaSet) and some are huge (a namespace): a slice is small,
// a map takes a member out in no time.
type group struct {
	few  []*object.Fact
	many map[*object.Fact]struct{}
}

const fewMax = 16

func join(groups map[string]*group, name string, f *object.Fact) {
	g, ok := groups[name]
	if !ok {
		g = &group{}
		groups[name] = g
	}
	g.add(f)
}

func leave(groups map[string]*group, name string, f *object.Fact) {
	g, ok := groups[name]
	if !ok {
		return
	}
	g.remove(f)
	if len(g.few)+len(g.many) == 0 {
		delete(groups, name)
	}
}

func (g *group) add(f *object.Fact) {
	switch {
	case g.many != nil:
		g.many[f] = struct{}{}
	case len(g.few) < fewMax:
		if !slices.Contains(g.few, f) {
			g.few = append(g.few, f)
		}
	default:
		g.many = make(map[*object.Fact]struct{}, 2*fewMax)
		for _, m := range g.few {
			g.many[m] = struct{}{}
		}
		g.few = nil
		g.many[f] = struct{}{}
	}
}

func (g *group) remove(f *object.Fact) {
	if g.many != nil {
		delete(g.many, f)
		return
	}
	if i := slices.Index(g.few, f); i >= 0 {
		g.few = slices.Delete(g.few, i, i+1)
	}
}

// members copies the set.
func (g *group) members() []*object.Fact {
	if g == nil {
		return nil
	}
	if g.many == nil {
		return slices.Clone(g.few)
	}
	out := make([]*object.Fact, 0, len(g.many))
	for f := range g.many {
		out = append(out, f)
	}
	return out
}
