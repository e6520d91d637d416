// Package diff compares what is live with what the API server says an apply
// would make of it. It must not guess: both sides are the server's own words,
// and what the server did not say is not a difference.
package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/object"
)

// Change is one field that an apply would change. Live is nil for a field that
// would be added, Desired is nil for one that would be removed.
type Change struct {
	Path    string
	Live    any
	Desired any
	// Holders are the others who hold the field in the live object, with the
	// time at which each last wrote anything. A removal has no author: nobody
	// holds what is not there.
	Holders []Holder
}

// Holder is who holds a field.
type Holder struct {
	Manager     string
	Operation   string
	Subresource string
	Time        string
}

// Verdict is the answer for one pair of manifest and live object.
type Verdict struct {
	// Desired names the manifest. Live and Version name the reading of the live
	// object that was judged: by what we own of it, and by its version.
	Desired object.Digest
	Live    object.Digest
	Version string
	// Confirmed says that the verdict holds for every reading with the same
	// owned fields, and not for this version alone.
	Confirmed bool
	Changes   []Change
	// Left are the ways to the fields that an earlier manifest left behind and
	// that an apply would not remove, since somebody else holds them too. The
	// fields are among the changes.
	Left [][]string
	// Problem says why there is no answer. The object is then Unknown.
	Problem string
	// Rejected says that the server refuses the manifest as it stands: the
	// object is OutOfSync, and Problem says what the server said.
	Rejected bool
}

// Pair is a manifest and a reading of a live object between which the server
// saw no difference, whatever becomes of the rest of the object.
type Pair struct {
	Key     object.Key
	Desired object.Digest
	Live    object.Digest
}

// Verdict is the verdict that a pair stands for.
func (p Pair) Verdict() Verdict {
	return Verdict{Desired: p.Desired, Live: p.Live, Confirmed: true}
}

// Pair is the pair that a verdict confirms, if it does.
func (v Verdict) Pair(k object.Key) (Pair, bool) {
	return Pair{Key: k, Desired: v.Desired, Live: v.Live}, v.Confirmed && v.InSync() && !v.Live.IsZero()
}

// InSync reports whether an apply would change nothing.
func (v Verdict) InSync() bool { return v.Problem == "" && len(v.Changes) == 0 }

// For reports whether the verdict holds for this manifest and this reading.
func (v Verdict) For(desired object.Digest, live object.Fact) bool {
	if v.Desired != desired {
		return false
	}
	return v.Version == live.ResourceVersion || v.Confirmed && !live.Digest.IsZero() && v.Live == live.Digest
}

// Judge compares the live object with the server's dry-run answer, within the
// fields that the manager owns in either: what others own is set by others,
// and what a webhook or a default adds is the same after an apply as before.
// confirmed says that the manager owns the same in both, so that no change of
// another's can hide from the fields that it owns.
func Judge(live, predicted *unstructured.Unstructured, manager string) (changes []Change, confirmed bool) {
	after, before := field.Applied(predicted, manager), field.Applied(live, manager)
	if len(after) == 0 {
		// An API that does not track fields: everything counts.
		return Compare(live, predicted), false
	}
	var found []field.Difference
	for _, e := range slices.Concat(after, before) {
		found = append(found, field.Delta(e.Fields, live.Object, predicted.Object)...)
	}
	return changesOf(live, found, manager), reflect.DeepEqual(ownership(after), ownership(before))
}

// once tells each difference once. What is held as a whole before and in parts
// after differs as a whole and in parts: the parts are what people want to
// read, unless the whole differs elsewhere too.
func once(in []field.Difference) []field.Difference {
	var out []field.Difference
	for i, d := range in {
		told := slices.ContainsFunc(in[:i], func(o field.Difference) bool { return o.Path == d.Path })
		if !told && !slices.ContainsFunc(in, func(o field.Difference) bool {
			return len(o.Elements) > len(d.Elements) && under(o.Elements, d.Elements) && covers(in, d) ||
				len(o.Elements) < len(d.Elements) && under(d.Elements, o.Elements) && !covers(in, o)
		}) {
			out = append(out, d)
		}
	}
	return out
}

// covers reports whether all that differs in a branch is told part by part.
func covers(in []field.Difference, whole field.Difference) bool {
	live, other := whole.Live, whole.Other
	for _, d := range in {
		if len(d.Elements) > len(whole.Elements) && under(d.Elements, whole.Elements) {
			rest := d.Elements[len(whole.Elements):]
			live, other = without(live, rest), without(other, rest)
		}
	}
	return reflect.DeepEqual(live, other)
}

// without is a value without what is at the end of a way through maps; where
// the way is another one the value stays.
func without(value any, way []string) any {
	m, ok := value.(map[string]any)
	name, isField := strings.CutPrefix(way[0], "f:")
	if !ok || !isField {
		return value
	}
	m = maps.Clone(m)
	if len(way) == 1 {
		delete(m, name)
		return m
	}
	if child, ok := m[name]; ok {
		m[name] = without(child, way[1:])
	}
	return m
}

// holders are the others who hold a field of the live object.
func holders(live *unstructured.Unstructured, way []string, manager string) []Holder {
	var out []Holder
	for _, e := range field.Owners(live, way) {
		if e.Manager == manager && e.Operation == field.Apply {
			continue
		}
		out = append(out, Holder{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource, Time: e.Time})
	}
	return out
}

// ownership is what entries hold, by version.
func ownership(entries []field.Entry) map[string]field.Set {
	out := map[string]field.Set{}
	for _, e := range entries {
		out[e.APIVersion] = e.Fields
	}
	return out
}

// LeftBehind turns what the second witness saw into changes.
func LeftBehind(live *unstructured.Unstructured, left []field.Difference, manager string) []Change {
	out := make([]Change, len(left))
	for i, d := range left {
		out[i] = Change{Path: d.Path, Live: d.Live, Holders: holders(live, d.Elements, manager)}
	}
	return masked(live, out)
}

// masked hides the values of a Secret, before anybody can show or log them.
func masked(live *unstructured.Unstructured, changes []Change) []Change {
	if !object.KeyOf(live).Secret() {
		return changes
	}
	for i, c := range changes {
		if secretPath(c.Path) {
			changes[i].Live, changes[i].Desired = object.Mask(c.Live, c.Desired)
		}
	}
	return changes
}

// Compare lists every difference between the live object and the server's
// dry-run answer, in path order.
func Compare(live, predicted *unstructured.Unstructured) []Change {
	w := walker{}
	w.maps("", view(live), view(predicted))
	return masked(live, w.changes)
}

// secretPath reports whether a Secret's field may hold what it keeps secret.
func secretPath(path string) bool {
	root := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' })[0]
	return root == "data" || root == "stringData" || strings.HasPrefix(path, "metadata.annotations")
}

// view is the part of an object that an apply can be about: not the status,
// which belongs to the object's controller, nor what the server counts.
func view(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	delete(out, "status")
	if m, ok := out["metadata"].(map[string]any); ok {
		m = maps.Clone(m)
		for _, k := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
			delete(m, k)
		}
		out["metadata"] = m
	}
	return out
}

type walker struct{ changes []Change }

func (w *walker) values(path string, live, desired any) {
	lm, lok := live.(map[string]any)
	dm, dok := desired.(map[string]any)
	if lok && dok {
		w.maps(path, lm, dm)
		return
	}
	ll, lok := live.([]any)
	dl, dok := desired.([]any)
	if lok && dok && len(ll) == len(dl) {
		for i := range ll {
			w.values(path+"["+label(dl[i], i)+"]", ll[i], dl[i])
		}
		return
	}
	if !reflect.DeepEqual(live, desired) {
		w.changes = append(w.changes, Change{Path: path, Live: live, Desired: desired})
	}
}

func (w *walker) maps(path string, live, desired map[string]any) {
	keys := slices.Sorted(maps.Keys(live))
	for k := range desired {
		if _, ok := live[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		l, inLive := live[k]
		d, inDesired := desired[k]
		p := join(path, k)
		switch {
		case inLive && inDesired:
			w.values(p, l, d)
		default:
			w.changes = append(w.changes, Change{Path: p, Live: l, Desired: d})
		}
	}
}

// label names a list item as people do: by its name where it has one.
func label(item any, i int) string {
	m, _ := item.(map[string]any)
	if name, ok := m["name"].(string); ok {
		return name
	}
	return strconv.Itoa(i)
}

func join(path, key string) string {
	if strings.ContainsAny(key, "./") {
		key = fmt.Sprintf("[%q]", key)
		return path + key
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
