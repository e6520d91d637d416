package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// Digest names all that a view says, to other processes too: two views with the same digest make the same plans.
func (v View) Digest() object.Digest {
	about := v.About(slices.SortedFunc(maps.Keys(v.kinds()), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	}))
	if v.Kube == nil {
		return about
	}
	return object.Combine(about, object.DigestOfText(v.Kube.Digest))
}

// kinds are all that a view says something of.
func (v View) kinds() map[schema.GroupKind]struct{} {
	out := map[schema.GroupKind]struct{}{}
	for gk := range v.Scopes {
		out[gk] = struct{}{}
	}
	for _, words := range []map[schema.GroupKind]string{v.Blind, v.Stale, v.Schemas} {
		for gk := range words {
			out[gk] = struct{}{}
		}
	}
	for _, set := range []map[schema.GroupKind]bool{v.Unread, v.Excluded} {
		for gk := range set {
			out[gk] = struct{}{}
		}
	}
	return out
}

// About names what a view says of some kinds, to other processes too: as long as the objects of an application are of these,
// two views that say the same about them make the same plans. What is left out is what renders may know of the APIs,
// which matters to some only.
func (v View) About(of []schema.GroupKind) object.Digest {
	var t object.Words
	t.Add(v.Identity)
	if v.Kube != nil {
		t.Add(v.Kube.Version)
	}
	t.List(v.Gaps)
	if v.Namespaces != nil {
		t.Add("confined")
		t.List(v.Namespaces)
	}
	for _, gk := range of {
		scope, served := v.Scopes[gk]
		t.Add(gk.Group, gk.Kind, strconv.Itoa(int(scope)), v.Blind[gk], v.Stale[gk], v.Schemas[gk])
		for _, said := range []bool{served, v.Unread[gk], v.Excluded[gk]} {
			t.Add(strconv.FormatBool(said))
		}
	}
	return t.Digest()
}
