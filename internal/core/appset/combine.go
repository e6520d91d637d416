package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// matrix yields every combination of what its two generators yield. The second one may name parameters of the first.
func (g *generation) matrix(n *node, env map[string]any) ([]map[string]any, error) {
	first, second := n.children[0], n.children[1]
	left, err := g.sets(first, env)
	if errors.Is(err, errNeeds) && second.fixed() {
		// What the second one needs can be asked for at the same time, since it does not depend on the first.
		if _, other := g.sets(second, env); other != nil {
			return nil, other
		}
	}
	if err != nil {
		return nil, err
	}
	var out, right []map[string]any
	var waiting error
	for i, a := range left {
		if i == 0 || !second.fixed() {
			right, err = g.sets(second, beside(a, env))
		}
		if errors.Is(err, errNeeds) {
			waiting = err
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, b := range right {
			joined, err := g.combine(a, b)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.at, err)
			}
			out = append(out, joined)
		}
	}
	return out, waiting
}

// beside is what may stand in a generator: a set, and what was known before it, which wins.
func beside(set, env map[string]any) map[string]any {
	if env == nil {
		return set
	}
	return overlay(set, env)
}

// fixed tells whether a generator yields the same whatever its sibling yields.
func (n *node) fixed() bool {
	for _, x := range n.values {
		if x.parsed != nil || slices.ContainsFunc(x.parts, func(p part) bool { return p.name != "" }) {
			return false
		}
	}
	return n.fill == nil && !slices.ContainsFunc(n.children, func(c *node) bool { return !c.fixed() })
}

// combine joins two sets. With Go's templates the first one wins; in the old language there must be nothing to win.
func (g *generation) combine(a, b map[string]any) (map[string]any, error) {
	if g.language {
		return overlay(b, a), nil
	}
	out := maps.Clone(a)
	for _, k := range slices.Sorted(maps.Keys(b)) {
		if have, ok := a[k]; ok && have != b[k] {
			return nil, fmt.Errorf("both generators yield the parameter %s, as %s in the set %s and as %s in the set %s; "+
				"rename one of them (pathParamPrefix for git), or use goTemplate, where the first one wins",
				k, excerpt(word(have)), describe(a), excerpt(word(b[k])), describe(b))
		}
		out[k] = b[k]
	}
	return out, nil
}

// merge yields what its first generator yields, each set overlaid with those of the others whose merge keys agree.
func (g *generation) merge(n *node, env map[string]any) ([]map[string]any, error) {
	all := make([][]map[string]any, len(n.children))
	var waiting error
	for i, c := range n.children {
		sets, err := g.sets(c, env)
		if errors.Is(err, errNeeds) {
			waiting = err
			continue
		}
		if err != nil {
			return nil, err
		}
		all[i] = sets
	}
	if waiting != nil {
		return nil, waiting
	}
	out := slices.Clone(all[0])
	base, err := n.keyed(n.children[0], out)
	if err != nil {
		return nil, err
	}
	for i, sets := range all[1:] {
		others, err := n.keyed(n.children[i+1], sets)
		if err != nil {
			return nil, err
		}
		for key, j := range others {
			if at, ok := base[key]; ok {
				out[at] = overlay(out[at], sets[j])
			}
		}
	}
	return out, nil
}

// keyed are the places of sets by the values of their merge keys, which must tell them apart.
func (n *node) keyed(of *node, sets []map[string]any) (map[string]int, error) {
	out := make(map[string]int, len(sets))
	for i, s := range sets {
		values := make(map[string]any, len(n.mergeKeys))
		for _, k := range n.mergeKeys {
			values[k], _ = lookup(s, k)
		}
		text, err := json.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("%s: the merge keys of the set %s: %w", of.at, describe(s), err)
		}
		if other, twice := out[string(text)]; twice {
			return nil, fmt.Errorf("%s yields two sets with the same mergeKeys %s: %s and %s; "+
				"add a key to %s.mergeKeys that tells them apart, or select one of them",
				of.at, text, describe(sets[other]), describe(s), n.at)
		}
		out[string(text)] = i
	}
	return out, nil
}

// underlay fills what is empty in one value from another: the template of a generator from that of the set.
func underlay(upper, lower reflect.Value) {
	switch {
	case upper.Kind() == reflect.Struct && upper.Type() != typeRaw && upper.Type() != typeJSON:
		for i := range upper.NumField() {
			if upper.Type().Field(i).IsExported() {
				underlay(upper.Field(i), lower.Field(i))
			}
		}
	case upper.Kind() == reflect.Pointer && !upper.IsNil():
		// A pointer to a truth or a number says something even if that is false or zero.
		if !lower.IsNil() && upper.Elem().Kind() == reflect.Struct {
			underlay(upper.Elem(), lower.Elem())
		}
	case upper.Kind() == reflect.Map && upper.Len() > 0:
		for _, k := range lower.MapKeys() {
			if !upper.MapIndex(k).IsValid() {
				upper.SetMapIndex(k, lower.MapIndex(k))
			}
		}
	case upper.Kind() == reflect.Slice && upper.Len() == 0, upper.Kind() == reflect.Map, upper.IsZero():
		upper.Set(lower)
	}
}
