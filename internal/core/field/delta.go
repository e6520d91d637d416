package field

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Difference is one field of a set that two bodies do not agree on. What is
// not there is nil.
type Difference struct {
	// Elements is the way to the field, as the server writes it.
	Elements    []string
	Path        string
	Live, Other any
}

// Delta lists the differences of two bodies within a set of fields. Where a
// whole branch is missing on one side it is one difference. The order of the
// list items in the set counts.
func Delta(set Set, live, other any) []Difference {
	d := &delta{}
	d.walk(set, live, other, nil)
	return d.out
}

type delta struct{ out []Difference }

func (d *delta) walk(set Set, live, other any, way []string) {
	for _, e := range children(set) {
		l, _, inLive := at(e, live)
		o, _, inOther := at(e, other)
		next := append(slices.Clip(way), e)
		sub, _ := set[e].(map[string]any)
		switch {
		case !inLive && !inOther:
		case inLive != inOther:
			d.add(next, l, o)
		case leaf(sub):
			if !existence(sub, o) && !reflect.DeepEqual(l, o) {
				d.add(next, l, o)
			}
		default:
			d.walk(sub, l, o, next)
		}
	}
	d.order(set, live, other, way)
}

func (d *delta) add(way []string, live, other any) {
	d.out = append(d.out, Difference{Elements: way, Path: Display(way), Live: live, Other: other})
}

// order compares the order of the items of a list that are in the set.
func (d *delta) order(set Set, live, other any, way []string) {
	inLive, ok := sequence(set, live)
	if !ok {
		return
	}
	inOther, ok := sequence(set, other)
	if !ok || slices.Equal(inLive, inOther) {
		return
	}
	slices.Sort(inLive)
	both := slices.Clone(inOther)
	slices.Sort(both)
	if !slices.Equal(inLive, both) {
		// An item is missing, which was said already.
		return
	}
	first, _ := sequence(set, live)
	d.add(append(slices.Clip(way), "order:"), names(first), names(inOther))
}

// sequence lists the elements of a set in the order in which a list has them.
func sequence(set Set, value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	where := make([]string, len(list))
	for _, e := range children(set) {
		if strings.HasPrefix(e, "i:") {
			return nil, false
		}
		if _, i, ok := at(e, value); ok {
			where[i] = e
		}
	}
	return slices.DeleteFunc(where, func(e string) bool { return e == "" }), true
}

func names(elements []string) []any {
	out := make([]any, len(elements))
	for i, e := range elements {
		out[i] = strings.Trim(display(e), "[]")
	}
	return out
}

// Display is how people read the way to a field:
// spec.template.spec.containers[web].image.
func Display(way []string) string {
	var b strings.Builder
	for _, e := range way {
		s := display(e)
		if b.Len() > 0 && !strings.HasPrefix(s, "[") && !strings.HasPrefix(s, " ") {
			b.WriteByte('.')
		}
		b.WriteString(s)
	}
	return b.String()
}

func display(element string) string {
	kind, rest, _ := strings.Cut(element, ":")
	switch kind {
	case "f":
		if strings.ContainsAny(rest, "./[]\" ") {
			return fmt.Sprintf("[%q]", rest)
		}
		return rest
	case "k":
		return "[" + keyName(rest) + "]"
	case "v":
		return "[=" + rest + "]"
	case "order":
		return " (order)"
	default:
		return "[" + rest + "]"
	}
}

// keyName is a list item's name where its name is its key, else all its keys.
func keyName(raw string) string {
	var keys map[string]any
	if json.Unmarshal([]byte(raw), &keys) != nil {
		return raw
	}
	if name, ok := keys["name"].(string); ok && len(keys) == 1 {
		return name
	}
	parts := make([]string, 0, len(keys))
	for k, v := range keys {
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
