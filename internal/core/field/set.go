package field

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Has reports whether a set holds a field, or anything below it.
func Has(set Set, way []string) bool {
	_, ok := within(set, way)
	return ok
}

// within is the part of a set at the end of a way.
func within(set Set, way []string) (Set, bool) {
	for _, e := range way {
		sub, ok := set[e]
		if !ok {
			return nil, false
		}
		set, _ = sub.(map[string]any)
	}
	return set, true
}

// With returns the set and one more field.
func With(set Set, way []string) Set {
	out := maps.Clone(set)
	if out == nil {
		out = Set{}
	}
	if len(way) == 0 {
		return out
	}
	sub, _ := out[way[0]].(map[string]any)
	out[way[0]] = With(sub, way[1:])
	return out
}

// Without returns the set without a field and what is below it. A branch that
// becomes empty goes too.
func Without(set Set, way []string) Set {
	if len(way) == 0 || !Has(set, way) {
		return set
	}
	out := maps.Clone(set)
	if len(way) == 1 {
		delete(out, way[0])
		return out
	}
	sub, _ := out[way[0]].(map[string]any)
	rest := Without(sub, way[1:])
	if leaf(rest) && !leaf(sub) {
		delete(out, way[0])
		return out
	}
	out[way[0]] = rest
	return out
}

// Owners are the entries that hold a field.
func Owners(u *unstructured.Unstructured, way []string) []Entry {
	var out []Entry
	for _, e := range Entries(u) {
		if Has(e.Fields, way) {
			out = append(out, e)
		}
	}
	return out
}

// TakeOver is the managedFields with which the manager's Apply entry holds the
// given fields alone: they are added to it and taken from everyone who holds
// them as an ordinary writer or applier. Then an apply that does not mention
// them removes them. A claim through a subresource stays: it is a controller's.
func TakeOver(u *unstructured.Unstructured, manager string, ways [][]string) []any {
	meta, _ := u.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	out := make([]any, 0, len(list)+1)
	taken := false
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		m = maps.Clone(m)
		fields, _ := m["fieldsV1"].(map[string]any)
		ours := str(m, "manager") == manager && str(m, "operation") == Apply && str(m, "subresource") == ""
		switch {
		case ours:
			taken = true
			fields = with(fields, ways)
		case str(m, "subresource") == "":
			fields = without(fields, ways)
		}
		if len(fields) == 0 {
			continue
		}
		m["fieldsV1"] = fields
		out = append(out, m)
	}
	if taken {
		return out
	}
	return append(out, map[string]any{
		"manager": manager, "operation": Apply, "apiVersion": u.GetAPIVersion(),
		"fieldsType": "FieldsV1", "fieldsV1": with(nil, ways),
	})
}

// with adds whole fields: one of which a part is held already is then held
// itself, too.
func with(set Set, ways [][]string) Set {
	for _, w := range ways {
		if sub, ok := within(set, w); ok && len(sub) > 0 {
			w = append(slices.Clip(w), ".")
		}
		set = With(set, w)
	}
	return set
}

func without(set Set, ways [][]string) Set {
	for _, w := range ways {
		set = Without(set, w)
	}
	return set
}

// Updated is the managedFields in which what the manager holds through Apply
// is held through Update instead, together with what it holds so already.
func Updated(u *unstructured.Unstructured, manager string) []any {
	meta, _ := u.Object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	out := make([]any, 0, len(list))
	at := map[string]int{}
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		m = maps.Clone(m)
		if str(m, "manager") == manager && str(m, "subresource") == "" {
			m["operation"] = Update
			version := str(m, "apiVersion")
			if i, also := at[version]; also {
				first, _ := out[i].(map[string]any)
				a, _ := first["fieldsV1"].(map[string]any)
				b, _ := m["fieldsV1"].(map[string]any)
				first["fieldsV1"] = union(a, b)
				continue
			}
			at[version] = len(out)
		}
		out = append(out, m)
	}
	return out
}

// union is what either set holds.
func union(a, b Set) Set {
	out := maps.Clone(a)
	if out == nil {
		out = Set{}
	}
	for k, v := range b {
		sub, _ := out[k].(map[string]any)
		more, _ := v.(map[string]any)
		out[k] = union(sub, more)
	}
	return out
}
