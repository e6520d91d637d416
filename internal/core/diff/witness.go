package diff

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/object"
)

// lastApplied is where client-side apply keeps what it applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// LastApplied is the record that client-side apply left in an object, or nil.
func LastApplied(live *unstructured.Unstructured) *unstructured.Unstructured {
	raw := live.GetAnnotations()[lastApplied]
	if raw == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON([]byte(raw)) != nil {
		return nil
	}
	object.EncodeStringData(u)
	return u
}

// Foreign reports whether anybody but the manager holds fields as an ordinary
// writer, or nobody holds any: then a field that we drop may stay behind,
// since the server removes only what nobody else holds.
func Foreign(live *unstructured.Unstructured, manager string) bool {
	ours := false
	for _, e := range field.Entries(live) {
		switch {
		case e.Subresource != "":
		case e.Manager == manager && e.Operation == field.Apply:
			ours = true
		default:
			return true
		}
	}
	return !ours
}

// Standing is the second witness: the fields that an earlier manifest had,
// that this one does not have, and that still stand as that one wrote them.
// They are drift, whatever managedFields say. A field with another value was
// taken over by somebody, and one that a controller holds through a
// subresource is the controller's.
func Standing(desired, live, earlier *unstructured.Unstructured) []field.Difference {
	w := &witness{live: live}
	w.maps(earlier.Object, desired.Object, live.Object, nil)
	return w.out
}

// Left are the standing fields that an apply would not remove.
func Left(desired, live, predicted, earlier *unstructured.Unstructured) []field.Difference {
	return slices.DeleteFunc(Standing(desired, live, earlier), func(d field.Difference) bool {
		_, stays := field.Find(predicted.Object, d.Elements)
		return !stays
	})
}

type witness struct {
	live *unstructured.Unstructured
	out  []field.Difference
}

// skipped are not for a manifest to say, or not for us to judge.
func skipped(way []string) bool {
	switch len(way) {
	case 1:
		return slices.Contains([]string{"f:status", "f:apiVersion", "f:kind"}, way[0])
	case 2:
		return way[0] == "f:metadata" && way[1] != "f:labels" && way[1] != "f:annotations"
	case 3:
		return way[1] == "f:annotations" && way[2] == "f:"+lastApplied
	}
	return false
}

func (w *witness) maps(earlier, desired, live map[string]any, way []string) {
	for _, k := range slices.Sorted(maps.Keys(earlier)) {
		next := append(slices.Clip(way), "f:"+k)
		l, stands := live[k]
		if !stands || skipped(next) {
			continue
		}
		d, wanted := desired[k]
		if !wanted {
			w.dropped(earlier[k], l, next)
			continue
		}
		w.values(earlier[k], d, l, next)
	}
}

func (w *witness) values(earlier, desired, live any, way []string) {
	em, ok1 := earlier.(map[string]any)
	dm, ok2 := desired.(map[string]any)
	lm, ok3 := live.(map[string]any)
	if ok1 && ok2 && ok3 {
		w.maps(em, dm, lm, way)
		return
	}
	el, ok1 := earlier.([]any)
	dl, ok2 := desired.([]any)
	ll, ok3 := live.([]any)
	if ok1 && ok2 && ok3 {
		w.lists(el, dl, ll, way)
	}
}

// dropped judges a branch that the manifest no longer has.
func (w *witness) dropped(earlier, live any, way []string) {
	em, isMap := earlier.(map[string]any)
	lm, also := live.(map[string]any)
	if isMap && also && len(em) > 0 {
		// Others may have fields of their own below: only ours count.
		w.maps(em, nil, lm, way)
		return
	}
	if !contains(live, earlier) || w.controlled(way) {
		return
	}
	w.out = append(w.out, field.Difference{Elements: way, Path: field.Display(way), Live: live})
}

// lists compares lists item by item, where it is known what tells the items
// apart. Other lists are replaced as a whole by an apply; the server says so
// itself.
func (w *witness) lists(earlier, desired, live []any, way []string) {
	id := w.identity(earlier, way)
	for _, item := range earlier {
		element, l, ok := id.find(item, live)
		if !ok {
			continue
		}
		next := append(slices.Clip(way), element)
		_, d, wanted := id.find(item, desired)
		if wanted {
			w.values(item, d, l, next)
			continue
		}
		if contains(l, item) && !w.controlled(next) {
			w.out = append(w.out, field.Difference{Elements: next, Path: field.Display(next), Live: l})
		}
	}
}

func (w *witness) controlled(way []string) bool {
	return slices.ContainsFunc(field.Owners(w.live, way), func(e field.Entry) bool { return e.Subresource != "" })
}

func nameOf(item any) (string, bool) {
	m, _ := item.(map[string]any)
	name, ok := m["name"].(string)
	return name, ok
}

func named(list []any, name string) any {
	for _, item := range list {
		if n, ok := nameOf(item); ok && n == name {
			return item
		}
	}
	return nil
}

// contains reports whether a value is what was written, give or take the
// defaults that the server added to it.
func contains(live, written any) bool { return within(live, written, reflect.DeepEqual) }

// within is contains for a notion of what is equal.
func within(live, written any, equal func(live, written any) bool) bool {
	wm, ok := written.(map[string]any)
	lm, also := live.(map[string]any)
	if ok && also {
		for k, v := range wm {
			if !within(lm[k], v, equal) {
				return false
			}
		}
		return true
	}
	wl, ok := written.([]any)
	ll, also := live.([]any)
	if ok && also {
		if len(wl) != len(ll) {
			return false
		}
		for i := range wl {
			if !within(ll[i], wl[i], equal) {
				return false
			}
		}
		return true
	}
	return equal(live, written)
}
