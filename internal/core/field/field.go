// Package field reads managedFields: which fields a manager owns, where they
// are in a body, and who else owns them. It must not change a body, and it
// does not know any schema: it goes by what the server wrote.
package field

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Set is a set of fields as the server writes it (fieldsV1): "f:" a field,
// "k:" a list item by its keys, "v:" one by its value, "i:" one by its index,
// "." the thing itself.
type Set = map[string]any

// Entry is one entry of managedFields.
type Entry struct {
	Manager     string
	Operation   string
	APIVersion  string
	Subresource string
	Time        string
	Fields      Set
}

// The operations of an entry.
const (
	Apply  = "Apply"
	Update = "Update"
)

// Entries reads managedFields without the conversion that GetManagedFields
// makes of it. What is no entry is left out.
func Entries(u *unstructured.Unstructured) []Entry {
	meta, _ := u.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	out := make([]Entry, 0, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		fields, _ := m["fieldsV1"].(map[string]any)
		out = append(out, Entry{
			Manager: str(m, "manager"), Operation: str(m, "operation"), APIVersion: str(m, "apiVersion"),
			Subresource: str(m, "subresource"), Time: str(m, "time"), Fields: fields,
		})
	}
	return out
}

// Applied are the entries that a manager has through Apply.
func Applied(u *unstructured.Unstructured, manager string) []Entry {
	return slices.DeleteFunc(Entries(u), func(e Entry) bool {
		return e.Manager != manager || e.Operation != Apply || e.Subresource != ""
	})
}

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// children are the elements of a set below the thing itself.
func children(s Set) []string {
	out := make([]string, 0, len(s))
	for k := range s {
		if k != "." {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// at finds what an element names in a value. In a list, index is where.
func at(element string, value any) (child any, index int, ok bool) {
	kind, rest, _ := strings.Cut(element, ":")
	switch kind {
	case "f":
		m, isMap := value.(map[string]any)
		if !isMap {
			return nil, 0, false
		}
		child, ok = m[rest]
		return child, 0, ok
	case "k":
		return byKey(rest, value)
	case "v":
		return byValue(rest, value)
	case "i":
		return byIndex(rest, value)
	}
	return nil, 0, false
}

// readable reports whether an element is one that is known here.
func readable(element string) bool {
	kind, rest, _ := strings.Cut(element, ":")
	switch kind {
	case "f":
		return true
	case "k", "v", "i":
		return json.Valid([]byte(rest))
	}
	return false
}

// Find is the value at the end of a way.
func Find(body any, way []string) (any, bool) {
	for _, e := range way {
		next, _, ok := at(e, body)
		if !ok {
			return nil, false
		}
		body = next
	}
	return body, true
}

// Agree reports whether two bodies have the same at the ends of these ways.
func Agree(a, b any, ways [][]string) bool {
	for _, way := range ways {
		x, ok := Find(a, way)
		y, also := Find(b, way)
		if ok != also || !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func byKey(raw string, value any) (any, int, bool) {
	list, ok := value.([]any)
	var keys map[string]any
	if !ok || json.Unmarshal([]byte(raw), &keys) != nil {
		return nil, 0, false
	}
	for i, item := range list {
		m, ok := item.(map[string]any)
		if ok && hasKeys(m, keys) {
			return item, i, true
		}
	}
	return nil, 0, false
}

func hasKeys(m, keys map[string]any) bool {
	for k, want := range keys {
		if !same(m[k], want) {
			return false
		}
	}
	return true
}

func byValue(raw string, value any) (any, int, bool) {
	list, ok := value.([]any)
	var want any
	if !ok || json.Unmarshal([]byte(raw), &want) != nil {
		return nil, 0, false
	}
	for i, item := range list {
		if same(item, want) {
			return item, i, true
		}
	}
	return nil, 0, false
}

func byIndex(raw string, value any) (any, int, bool) {
	list, ok := value.([]any)
	var i int
	if !ok || json.Unmarshal([]byte(raw), &i) != nil || i < 0 || i >= len(list) {
		return nil, 0, false
	}
	return list[i], i, true
}

// same compares a value of a body with one from a key, where every number is
// a float.
func same(a, b any) bool {
	if f, ok := b.(float64); ok {
		switch n := a.(type) {
		case int64:
			return float64(n) == f
		case float64:
			return n == f
		}
		return false
	}
	return reflect.DeepEqual(a, b)
}

// leaf reports whether nothing below the thing itself is in the set: then the
// whole value is owned.
func leaf(s Set) bool {
	if len(s) == 0 {
		return true
	}
	_, self := s["."]
	return self && len(s) == 1
}
