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

	"github.com/towline-cd/towline/internal/core/object"
)

// Change is one field that an apply would change. Live is nil for a field that
// would be added, Desired is nil for one that would be removed.
type Change struct {
	Path    string
	Live    any
	Desired any
}

// Verdict is the answer for one pair of manifest and live object.
type Verdict struct {
	// Desired and Live name the pair that was judged.
	Desired object.Digest
	Live    object.Digest
	Changes []Change
	// Problem says why there is no answer. The object is then Unknown.
	Problem string
	// Rejected says that the server refuses the manifest as it stands: the
	// object is OutOfSync, and Problem says what the server said.
	Rejected bool
}

// InSync reports whether an apply would change nothing.
func (v Verdict) InSync() bool { return v.Problem == "" && len(v.Changes) == 0 }

// For reports whether the verdict was made for this pair.
func (v Verdict) For(desired, live object.Digest) bool {
	return v.Desired == desired && v.Live == live
}

// Compare lists what an apply would change, in path order. predicted is the
// server's dry-run answer for the live object. The values of Secrets are
// masked here, before anybody can show or log them.
func Compare(live, predicted *unstructured.Unstructured) []Change {
	w := walker{}
	w.maps("", view(live), view(predicted))
	if object.KeyOf(live).Secret() {
		for i, c := range w.changes {
			if secretPath(c.Path) {
				w.changes[i].Live, w.changes[i].Desired = object.Mask(c.Live, c.Desired)
			}
		}
	}
	return w.changes
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
