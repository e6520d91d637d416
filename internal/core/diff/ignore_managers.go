package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/field"
)

const managerOfOurs = v1alpha1.FieldManagerApply

// managers leaves out what the managers that the rules name own in live.
func (s *sides) managers(rules []ready, live, predicted *unstructured.Unstructured) {
	var names []string
	for _, r := range rules {
		names = append(names, r.Managers...)
	}
	if len(names) == 0 {
		return
	}
	owned, known := field.Set{}, field.Set{}
	for _, e := range field.Entries(live) {
		known = union(known, e.Fields)
		if slices.Contains(names, e.Manager) {
			owned = union(owned, e.Fields)
		}
	}
	for _, e := range field.Entries(predicted) {
		known = union(known, e.Fields)
	}
	if len(owned) == 0 {
		return
	}
	// A deep copy: below here the documents are changed in place.
	l, p := runtime.DeepCopyJSON(s.live), runtime.DeepCopyJSON(s.predicted)
	disown(claim{owned: owned, known: known}, l, p)
	s.live, s.predicted = l, p
}

// union joins two sets. A leaf that meets a branch becomes a branch that also
// holds the thing itself.
func union(a, b field.Set) field.Set {
	out := maps.Clone(a)
	if out == nil {
		out = field.Set{}
	}
	for e, sub := range b {
		theirs, _ := sub.(map[string]any)
		mine, both := out[e].(map[string]any)
		if !both {
			out[e] = theirs
			continue
		}
		joined := union(mine, theirs)
		if len(joined) > 0 && (len(mine) == 0 || len(theirs) == 0) && e != "." {
			joined["."] = field.Set{}
		}
		out[e] = joined
	}
	return out
}

// absent stands for a value that is not there, which is not the same as null.
type absent struct{}

// claim is what the ignored managers own below a value, what anybody is known
// to own there, and the keys by which the value, a list item, is found.
type claim struct {
	owned, known field.Set
	keys         map[string]any
}

// disown leaves out of both values what is owned. The values may be changed in
// place, and come back.
func disown(c claim, l, p any) (any, any) {
	for _, e := range elements(c.owned) {
		if name, ok := strings.CutPrefix(e, "f:"); ok {
			if _, isKey := c.keys[name]; isKey {
				// Without its key an item could not be told from another.
				continue
			}
		}
		lc, pc := disownChild(c, e, pick(l, e), pick(p, e))
		l, p = put(l, e, lc), put(p, e, pc)
	}
	return l, p
}

func disownChild(c claim, e string, l, p any) (any, any) {
	owned, _ := c.owned[e].(map[string]any)
	known, _ := c.known[e].(map[string]any)
	keys := keysOf(e)
	_, self := owned["."]
	below := len(elements(owned)) > 0
	if below {
		l, p = disown(claim{owned: owned, known: known, keys: keys}, l, p)
	}
	// Others own fields in it, so that it is there is all that is owned.
	shared := !below && len(elements(known)) > 0
	switch {
	case below && !self:
		return l, p
	case (below || shared) && (!bare(l, keys) || !bare(p, keys)):
		return l, p
	}
	return absent{}, absent{}
}

// elements are the children of a set. List indices come from the last, so that
// leaving one out does not move the next.
func elements(s field.Set) []string {
	out := make([]string, 0, len(s))
	for e := range s {
		if e != "." {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		i, aok := itemIndex(a)
		j, bok := itemIndex(b)
		if aok && bok {
			return j - i
		}
		return strings.Compare(a, b)
	})
	return out
}

func itemIndex(e string) (int, bool) {
	text, ok := strings.CutPrefix(e, "i:")
	i, err := strconv.Atoi(text)
	return i, ok && err == nil && i >= 0
}

func keysOf(e string) map[string]any {
	raw, ok := strings.CutPrefix(e, "k:")
	var keys map[string]any
	if !ok || json.Unmarshal([]byte(raw), &keys) != nil {
		return nil
	}
	return keys
}

// bare reports whether nothing is left of a value but the keys that name it.
func bare(v any, keys map[string]any) bool {
	switch t := v.(type) {
	case absent:
		return true
	case []any:
		return len(t) == 0
	case map[string]any:
		for name := range t {
			if _, isKey := keys[name]; !isKey {
				return false
			}
		}
		return true
	}
	return false
}

func pick(v any, e string) any {
	child, ok := field.Find(v, []string{e})
	if !ok {
		return absent{}
	}
	return child
}

// put sets the child that an element names, or leaves it out.
func put(v any, e string, child any) any {
	_, gone := child.(absent)
	switch t := v.(type) {
	case map[string]any:
		name, ok := strings.CutPrefix(e, "f:")
		if ok && gone {
			delete(t, name)
		}
		if ok && !gone {
			t[name] = child
		}
	case []any:
		i := where(t, e)
		switch {
		case i < 0:
		case gone:
			return slices.Delete(t, i, i+1)
		default:
			t[i] = child
		}
	}
	return v
}

// where finds the list item that an element names, or -1.
func where(list []any, e string) int {
	if i, ok := itemIndex(e); ok {
		if i >= len(list) {
			return -1
		}
		return i
	}
	return slices.IndexFunc(list, func(item any) bool {
		_, ok := field.Find([]any{item}, []string{e})
		return ok
	})
}
