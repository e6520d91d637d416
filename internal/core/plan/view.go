package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// Digest names all that a view says, to other processes too: two views with the same digest make the same plans.
func (v View) Digest() object.Digest {
	var t sentence
	t.add(v.Identity)
	if v.Kube != nil {
		t.add(v.Kube.Version, v.Kube.Digest)
	}
	t.list(v.Gaps)
	if v.Namespaces != nil {
		t.add("confined")
		t.list(v.Namespaces)
	}
	byKind(&t, v.Scopes, func(s Scope) string { return strconv.Itoa(int(s)) })
	for _, words := range []map[schema.GroupKind]string{v.Blind, v.Stale, v.Schemas} {
		byKind(&t, words, func(word string) string { return word })
	}
	for _, set := range []map[schema.GroupKind]bool{v.Unread, v.Excluded} {
		byKind(&t, set, func(in bool) string { return map[bool]string{true: "yes"}[in] })
	}
	sum := sha256.Sum256(t)
	return object.Digest(sum[:len(object.Digest{})])
}

// About names what a view says of some kinds, to other processes too: as long as the objects of an application are of these,
// two views that say the same about them make the same plans. What is left out is what renders may know of the APIs,
// which matters to some only.
func (v View) About(of []schema.GroupKind) object.Digest {
	var t sentence
	t.add(v.Identity)
	if v.Kube != nil {
		t.add(v.Kube.Version)
	}
	t.list(v.Gaps)
	if v.Namespaces != nil {
		t.add("confined")
		t.list(v.Namespaces)
	}
	for _, gk := range of {
		scope, served := v.Scopes[gk]
		t.add(gk.Group, gk.Kind, strconv.Itoa(int(scope)), v.Blind[gk], v.Stale[gk], v.Schemas[gk])
		for _, said := range []bool{served, v.Unread[gk], v.Excluded[gk]} {
			t.add(strconv.FormatBool(said))
		}
	}
	sum := sha256.Sum256(t)
	return object.Digest(sum[:len(object.Digest{})])
}

// sentence is a sequence of words, each with its length so that they stay apart.
type sentence []byte

func (t *sentence) add(words ...string) {
	for _, w := range words {
		*t = binary.AppendUvarint(*t, uint64(len(w)))
		*t = append(*t, w...)
	}
}

func (t *sentence) count(n int) { *t = binary.AppendUvarint(*t, uint64(n)) } //nolint:gosec // a length is not negative

func (t *sentence) list(words []string) {
	t.count(len(words))
	t.add(words...)
}

func byKind[V any](t *sentence, of map[schema.GroupKind]V, word func(V) string) {
	t.count(len(of))
	for _, gk := range slices.SortedFunc(maps.Keys(of), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	}) {
		t.add(gk.Group, gk.Kind, word(of[gk]))
	}
}
