package diff

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
)

// Obstacles are the ways to the fields that may be why the server refuses a
// manifest: the old member of a choice beside the new one. They are what an
// earlier manifest left behind (nil where nothing is known of one), and what
// the server itself names in its refusal though the manifest does not have it:
// a default from another time. A sync takes them over first.
func Obstacles(desired, live, earlier *unstructured.Unstructured, refused []string) [][]string {
	var out [][]string
	w := &witness{live: live}
	if earlier != nil {
		left := Standing(desired, live, earlier)
		for _, l := range left {
			out = append(out, branch(desired, live, l.Elements, left))
		}
	}
	for _, path := range refused {
		way, ok := plainWay(path)
		if _, stands := field.Find(live.Object, way); !ok || !stands || skipped(way) || w.controlled(way) {
			continue
		}
		if _, wanted := seek(desired.Object, way); !wanted {
			out = append(out, way)
		}
	}
	return highest(out)
}

// Cleared is a patch that merges the manifest into the live object without the
// obstacles and without what the manifest no longer has and nobody else holds:
// null removes a field from a merge. done are the obstacles that it removes; a
// list item is not among them, nor what is in a list item that the manifest
// does not have.
func Cleared(
	desired, live *unstructured.Unstructured, obstacles [][]string, manager string,
) (patch *unstructured.Unstructured, done [][]string) {
	patch = desired.DeepCopy()
	for _, way := range obstacles {
		if null(patch, way) {
			done = append(done, way)
		}
	}
	for _, e := range field.Applied(live, manager) {
		for _, way := range alone(e.Fields, desired.Object, live, nil) {
			null(patch, way)
		}
	}
	return patch, done
}

// null says null for a field.
func null(u *unstructured.Unstructured, way []string) bool {
	last := len(way) - 1
	parent, found := seek(u.Object, way[:last])
	m, isMap := parent.(map[string]any)
	name, isField := strings.CutPrefix(way[last], "f:")
	if !found || !isMap || !isField {
		return false
	}
	m[name] = nil
	return true
}

// alone are the ways to the fields of a set that a manifest does not have and
// that nobody but the set's owner holds.
func alone(set field.Set, desired any, live *unstructured.Unstructured, way []string) [][]string {
	var out [][]string
	for _, element := range slices.Sorted(maps.Keys(set)) {
		next := append(slices.Clip(way), element)
		if element == "." || skipped(next) {
			continue
		}
		d, wanted := seek(desired, []string{element})
		sub, _ := set[element].(map[string]any)
		switch {
		case wanted:
			out = append(out, alone(sub, d, live, next)...)
		case len(field.Owners(live, next)) == 1:
			out = append(out, next)
		}
	}
	return out
}

// branch is the highest part of a dropped branch that can go as a whole: the
// manifest has nothing of it, and whoever holds the rest of it holds what was
// left behind too. The rest is then what the server added for them.
func branch(desired, live *unstructured.Unstructured, way []string, left []field.Difference) []string {
	out := way
	for n := len(way) - 1; n > 1; n-- {
		up := way[:n]
		if _, wanted := seek(desired.Object, up); wanted || !strings.HasPrefix(up[n-1], "f:") || !ofOneHand(live, up, left) {
			break
		}
		out = up
	}
	return out
}

// ofOneHand reports whether everybody who holds something of a branch holds
// something in it that was left behind.
func ofOneHand(live *unstructured.Unstructured, way []string, left []field.Difference) bool {
	for _, e := range field.Owners(live, way) {
		if e.Subresource != "" {
			return false
		}
		if !slices.ContainsFunc(left, func(l field.Difference) bool {
			return under(l.Elements, way) && field.Has(e.Fields, l.Elements)
		}) {
			return false
		}
	}
	return true
}

// under reports whether a way leads to something at or below another's end.
func under(way, top []string) bool {
	return len(way) >= len(top) && slices.Equal(way[:len(top)], top)
}

// highest drops the ways that lead below another one's end, and repetitions.
func highest(ways [][]string) [][]string {
	var out [][]string
	for i, way := range ways {
		if !slices.ContainsFunc(ways[:i], func(o []string) bool { return under(way, o) }) &&
			!slices.ContainsFunc(ways[i+1:], func(o []string) bool { return under(way, o) && len(o) < len(way) }) {
			out = append(out, way)
		}
	}
	return out
}

// plainWay is the way that a path of the server's stands for. One through a
// list is not known: its index counts items of an object that nobody has seen.
func plainWay(path string) ([]string, bool) {
	if path == "" || strings.ContainsAny(path, "[]<") {
		return nil, false
	}
	var way []string
	for name := range strings.SplitSeq(path, ".") {
		way = append(way, "f:"+name)
	}
	return way, true
}

// seek is what a manifest has at the end of a way. An item of a list may leave
// out those of its keys that have a default.
func seek(value any, way []string) (any, bool) {
	for _, element := range way {
		if found, ok := field.Find(value, []string{element}); ok {
			value = found
			continue
		}
		found, ok := seekItem(value, element)
		if !ok {
			return nil, false
		}
		value = found
	}
	return value, true
}

func seekItem(value any, element string) (found any, ok bool) {
	raw, isKey := strings.CutPrefix(element, "k:")
	list, isList := value.([]any)
	var keys map[string]any
	if !isKey || !isList || json.Unmarshal([]byte(raw), &keys) != nil {
		return nil, false
	}
	for _, item := range list {
		m, isMap := item.(map[string]any)
		if !isMap || !agrees(m, keys) {
			continue
		}
		if ok {
			return nil, false
		}
		found, ok = item, true
	}
	return found, ok
}

// agrees reports whether an item says at least one of the keys, and none of
// them otherwise.
func agrees(item, keys map[string]any) bool {
	said := 0
	for k, want := range keys {
		have, ok := item[k]
		if !ok {
			continue
		}
		said++
		if n, isInt := have.(int64); isInt {
			have = float64(n)
		}
		if !reflect.DeepEqual(have, want) {
			return false
		}
	}
	return said > 0
}
