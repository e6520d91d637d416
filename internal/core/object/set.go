package object

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a desired object with the identity and digest that every decision
// about it needs. The body is shared: nobody may change it.
type Object struct {
	Key    Key
	Digest Digest
	Body   *unstructured.Unstructured
}

// NewObject computes identity and digest of a body once.
func NewObject(body *unstructured.Unstructured) Object {
	return Object{Key: KeyOf(body), Digest: DigestOf(body), Body: body}
}

// Set is an immutable collection of objects in key order.
type Set struct {
	objects []Object
}

// NewSet orders the objects. Where a key comes twice the later object stands,
// and the key is in repeated.
func NewSet(objects []Object) (set Set, repeated []Key) {
	last := make(map[Key]int, len(objects))
	for i, o := range objects {
		if _, seen := last[o.Key]; seen {
			repeated = append(repeated, o.Key)
		}
		last[o.Key] = i
	}
	out := make([]Object, 0, len(last))
	for i, o := range objects {
		if last[o.Key] == i {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b Object) int { return Compare(a.Key, b.Key) })
	slices.SortFunc(repeated, Compare)
	return Set{objects: out}, slices.Compact(repeated)
}

// Len is the number of objects.
func (s Set) Len() int { return len(s.objects) }

// All yields the objects in key order.
func (s Set) All() iter.Seq[Object] { return slices.Values(s.objects) }

// Get finds an object by its key.
func (s Set) Get(k Key) (Object, bool) {
	i, ok := slices.BinarySearchFunc(s.objects, k, func(o Object, k Key) int { return Compare(o.Key, k) })
	if !ok {
		return Object{}, false
	}
	return s.objects[i], true
}

// Keys lists the keys in order.
func (s Set) Keys() []Key {
	keys := make([]Key, len(s.objects))
	for i, o := range s.objects {
		keys[i] = o.Key
	}
	return keys
}
