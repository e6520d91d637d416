package field

import (
	"cmp"
	"encoding/json"
	"hash"
	"slices"
	"strconv"
	"sync"
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
	room, _ := rooms.Get().(*[]byte)
	text := appendValue((*room)[:0], v)
	_, _ = h.Write(text)
	if cap(text) <= largestRoom {
		*room = text
	}
	rooms.Put(room)
}

// rooms are where values are written before they are hashed. One that a large
// value needed is not kept.
var rooms = sync.Pool{New: func() any { return new(make([]byte, 0, 1<<10)) }}

const largestRoom = 64 << 10

func appendValue(to []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(to, 'n')
	case bool:
		if t {
			return append(to, 't')
		}
		return append(to, 'f')
	case string:
		return appendTagged(to, 's', t)
	case int64:
		return appendTagged(to, 'i', strconv.FormatInt(t, 10))
	case float64:
		return appendTagged(to, 'd', strconv.FormatFloat(t, 'g', -1, 64))
	case []any:
		to = appendTagged(to, 'a', strconv.Itoa(len(t)))
		for _, e := range t {
			to = appendValue(to, e)
		}
		return to
	case map[string]any:
		to = appendTagged(to, 'o', strconv.Itoa(len(t)))
		var few [16]string
		names := few[:0]
		for k := range t {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			to = appendValue(appendTagged(to, 's', k), t[k])
		}
		return to
	default:
		// Not a value that unstructured decoding makes; stay right anyway.
		raw, err := json.Marshal(t)
		if err != nil {
			raw = []byte(err.Error())
		}
		return appendTagged(to, 'x', string(raw))
	}
}

func appendTagged(to []byte, tag byte, s string) []byte {
	to = strconv.AppendInt(append(to, tag), int64(len(s)), 10)
	return append(append(to, ':'), s...)
}
