package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
)

// crdKind is the one kind that never carries a mark: a CRD outlives the
// application that brought it, for deleting it would delete every object of
// its kind.
var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Mark is whose the objects are, where they go if they do not say so, and how
// they are marked.
type Mark struct {
	App         string
	Destination string
	Tracker     object.Tracker
}

// Desire turns rendered manifests into the desired set of one application:
// a namespaced object without a namespace goes to the destination's, a
// cluster-scoped one loses its own, a Secret's stringData becomes data, and
// each carries the application's mark. A kind that the cluster does not serve
// yet counts as namespaced until it does.
func Desire(
	m Mark, manifests []*unstructured.Unstructured, scopes map[schema.GroupKind]Scope,
) (set object.Set, repeated []object.Key) {
	objects := make([]object.Object, 0, len(manifests))
	for _, manifest := range manifests {
		u := manifest.DeepCopy()
		gk := u.GroupVersionKind().GroupKind()
		switch {
		case scopes[gk] == ScopeCluster:
			unstructured.RemoveNestedField(u.Object, "metadata", "namespace")
		case u.GetNamespace() == "" && m.Destination != "":
			u.SetNamespace(m.Destination)
		}
		// Manifests are often exported ones: these two are the server's.
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		object.EncodeStringData(u)
		if gk != crdKind {
			u = m.Tracker.Stamp(u, m.App, m.Destination)
		}
		objects = append(objects, object.NewObject(u))
	}
	return object.NewSet(objects)
}
