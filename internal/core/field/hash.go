package field

import (
	"cmp"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Hash feeds to h which fields are in the set, their values in the body, and
// the order of the list items among them. A field that is not in the body is
// fed as such if sameVersion says that set and body are of one version of the
// kind: the server does not keep an empty map that somebody owns. Otherwise
// Hash reports false: the set is about another body than this one, and the
// hash says nothing.
func Hash(h hash.Hash, set Set, body any, sameVersion bool) bool {
	type found struct {
		element string
		value   any
		index   int
	}
	items := make([]found, 0, len(set))
	for _, e := range children(set) {
		v, i, ok := at(e, body)
		if !ok && (!sameVersion || !readable(e)) {
			return false
		}
		if !ok {
			HashValue(h, "absent "+e)
			continue
		}
		items = append(items, found{e, v, i})
	}
	// The server keeps the order of a list, so its order is content. Fields of
	// a map all have index 0 and stay in the order of their names.
	slices.SortStableFunc(items, func(a, b found) int { return cmp.Compare(a.index, b.index) })
	for _, it := range items {
		HashValue(h, it.element)
		sub, _ := set[it.element].(map[string]any)
		if leaf(sub) {
			if !existence(sub, it.value) {
				HashValue(h, it.value)
			}
			continue
		}
		_, _ = h.Write([]byte{'('})
		if !Hash(h, sub, it.value, sameVersion) {
			return false
		}
		_, _ = h.Write([]byte{')'})
	}
	return true
}

// existence reports whether the set holds only that the thing is there: it is
// a map or a list whose content others may own.
func existence(s Set, value any) bool {
	if _, self := s["."]; !self {
		return false
	}
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// HashValue feeds a JSON value to h in an encoding without ambiguity: a type
// letter, a length, the content. It allocates next to nothing, which
// json.Marshal does not manage.
func HashValue(h hash.Hash, v any) {
	switch t := v.(type) {
	case nil:
		_, _ = h.Write([]byte{'n'})
	case bool:
		if t {
			_, _ = h.Write([]byte{'t'})
			return
		}
		_, _ = h.Write([]byte{'f'})
	case string:
		hashTagged(h, 's', t)
	case int64:
		hashTagged(h, 'i', strconv.FormatInt(t, 10))
	case float64:
		hashTagged(h, 'd', strconv.FormatFloat(t, 'g', -1, 64))
	case []any:
		hashTagged(h, 'a', strconv.Itoa(len(t)))
		for _, e := range t {
			HashValue(h, e)
		}
	case map[string]any:
		hashTagged(h, 'o', strconv.Itoa(len(t)))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			hashTagged(h, 's', k)
			HashValue(h, t[k])
		}
	default:
		// Not a value that unstructured decoding makes; stay right anyway.
		raw, err := json.Marshal(t)
		if err != nil {
			raw = []byte(err.Error())
		}
		hashTagged(h, 'x', string(raw))
	}
}

func hashTagged(h hash.Hash, tag byte, s string) {
	var buf [24]byte
	b := append(buf[:0], tag)
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	_, _ = h.Write(b)
	_, _ = h.Write([]byte(s))
}
