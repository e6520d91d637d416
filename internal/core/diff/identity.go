package diff

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/field"
)

// itemID is what tells the items of a list apart: some of their fields, or
// their values. The zero value tells nothing apart.
type itemID struct {
	keys  []string
	value bool
}

// identity finds out what tells the items of a list apart: managedFields say
// it wherever anybody owns an item; else it is what the built-in kinds have.
func (w *witness) identity(items []any, way []string) itemID {
	for _, e := range field.Entries(w.live) {
		if id, ok := identityIn(e.Fields, way); ok {
			return id
		}
	}
	return usualIdentity(items)
}

func identityIn(set field.Set, way []string) (itemID, bool) {
	for _, e := range way {
		set, _ = set[e].(map[string]any)
	}
	for element := range set {
		kind, rest, _ := strings.Cut(element, ":")
		switch kind {
		case "v":
			return itemID{value: true}, true
		case "k":
			var keys map[string]any
			if json.Unmarshal([]byte(rest), &keys) != nil {
				continue
			}
			names := make([]string, 0, len(keys))
			for k := range keys {
				names = append(names, k)
			}
			slices.Sort(names)
			return itemID{keys: names}, true
		}
	}
	return itemID{}, false
}

// usual are the identities of the lists in built-in kinds, the most telling
// first.
var usual = [][]string{
	{"containerPort", "protocol"},
	{"port", "protocol"},
	{"mountPath"},
	{"devicePath"},
	{"topologyKey", "whenUnsatisfiable"},
	{"name"},
	{"ip"},
}

func usualIdentity(items []any) itemID {
	for _, keys := range usual {
		if len(items) > 0 && !slices.ContainsFunc(items, func(item any) bool {
			m, _ := item.(map[string]any)
			return m[keys[0]] == nil
		}) {
			return itemID{keys: keys}
		}
	}
	return itemID{}
}

// find is the item of a list that is the same as this one, and the way to it.
// A key that an item does not say is a default, and fits any.
func (id itemID) find(item any, list []any) (element string, found any, ok bool) {
	for _, candidate := range list {
		if !id.same(item, candidate) {
			continue
		}
		if ok {
			// Two that fit: it is not known which.
			return "", nil, false
		}
		element, found, ok = id.element(candidate), candidate, true
	}
	return element, found, ok && element != ""
}

func (id itemID) same(a, b any) bool {
	if id.value {
		return reflect.DeepEqual(a, b)
	}
	am, ok1 := a.(map[string]any)
	bm, ok2 := b.(map[string]any)
	if !ok1 || !ok2 || len(id.keys) == 0 || am[id.keys[0]] == nil && len(id.keys) == 1 {
		return false
	}
	for _, k := range id.keys {
		if am[k] != nil && bm[k] != nil && !reflect.DeepEqual(am[k], bm[k]) {
			return false
		}
	}
	return true
}

// element is the way to an item as the server writes it.
func (id itemID) element(item any) string {
	if id.value {
		raw, err := json.Marshal(item)
		if err != nil {
			return ""
		}
		return "v:" + string(raw)
	}
	m, _ := item.(map[string]any)
	keys := map[string]any{}
	for _, k := range id.keys {
		if m[k] != nil {
			keys[k] = m[k]
		}
	}
	raw, err := json.Marshal(keys)
	if err != nil {
		return ""
	}
	return "k:" + string(raw)
}
