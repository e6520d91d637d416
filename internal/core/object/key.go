// Package object is the vocabulary for Kubernetes objects: identity, ordered
// sets, digests, the tracking id, facts about live objects and the masking of
// secrets. It must not know how objects are fetched, compared or applied.
package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies an object in a cluster across the versions of its kind.
// Namespace is empty for cluster-scoped objects.
type Key struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
}

// KeyOf reads the identity of an object as it stands: an object without a
// namespace has none in its key.
func KeyOf(u *unstructured.Unstructured) Key {
	gvk := u.GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// GroupKind is the key's kind with its group.
func (k Key) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// IsZero reports whether the key names nothing.
func (k Key) IsZero() bool { return k == Key{} }

// String is how people read a key: "Deployment.apps shop/web".
func (k Key) String() string {
	var b strings.Builder
	b.WriteString(k.Kind)
	if k.Group != "" {
		b.WriteByte('.')
		b.WriteString(k.Group)
	}
	b.WriteByte(' ')
	if k.Namespace != "" {
		b.WriteString(k.Namespace)
		b.WriteByte('/')
	}
	b.WriteString(k.Name)
	return b.String()
}

// Compare orders keys by group, kind, namespace and name.
func Compare(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}
