package diff

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
)

// Replacement is the manifest as it takes the place of the live object. What a
// manifest does not say and what is not for it to forget stays: who owns the
// object, who wants to be asked before it goes, and its status. What we applied
// becomes what we updated: a gate that goes by applied fields would not see
// what happens to replaced ones.
func Replacement(desired, live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	out := desired.DeepCopy()
	keep := func(path ...string) {
		_, said, _ := unstructured.NestedFieldNoCopy(out.Object, path...)
		v, stands, _ := unstructured.NestedFieldCopy(live.Object, path...)
		if !said && stands {
			_ = unstructured.SetNestedField(out.Object, v, path...)
		}
	}
	keep("metadata", "finalizers")
	keep("metadata", "ownerReferences")
	keep("status")
	out.SetResourceVersion(live.GetResourceVersion())
	_ = unstructured.SetNestedSlice(out.Object, field.Updated(live, manager), "metadata", "managedFields")
	return out
}

// Replacing is what is known of a replacement.
type Replacing struct {
	Desired, Live, Predicted *unstructured.Unstructured
	// Earlier is the manifest before this one, or nil.
	Earlier *unstructured.Unstructured
}

// JudgeReplaced compares the live object with the server's answer to a
// replacement. What a replacement changes is the manager's from then on; what
// was the manager's and is no longer said goes, and so does what an earlier
// manifest had. What others added goes with
// it, and is not drift: they may add it again.
func JudgeReplaced(r Replacing, manager string) []Change {
	live, predicted := r.Live, r.Predicted
	held := func(u *unstructured.Unstructured) []field.Entry {
		return slices.DeleteFunc(field.Entries(u), func(e field.Entry) bool { return e.Manager != manager || e.Subresource != "" })
	}
	after, before := held(predicted), held(live)
	if len(field.Entries(predicted)) == 0 {
		return Compare(live, predicted)
	}
	var found []field.Difference
	for _, e := range slices.Concat(after, before) {
		found = append(found, field.Delta(e.Fields, live.Object, predicted.Object)...)
	}
	if r.Earlier != nil {
		for _, d := range Standing(r.Desired, live, r.Earlier) {
			if after, stays := field.Find(predicted.Object, d.Elements); !stays || !reflect.DeepEqual(after, d.Live) {
				d.Other = after
				found = append(found, d)
			}
		}
	}
	return changesOf(live, found, manager)
}

// changesOf turns differences into changes, each told once and in path order.
func changesOf(live *unstructured.Unstructured, found []field.Difference, manager string) []Change {
	var changes []Change
	for _, d := range once(found) {
		changes = append(changes, Change{
			Path: d.Path, Live: d.Live, Desired: d.Other, Holders: holders(live, d.Elements, manager),
		})
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return masked(live, changes)
}
