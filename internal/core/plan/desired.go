package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
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
	// Namespace is what the application wants to be on its destination
	// namespace, if it has it made.
	Namespace *v1alpha1.ManagedNamespaceMetadata
}

// Wish is what Git asks for.
type Wish struct {
	Objects object.Set
	// Repeated are the keys that came more than once; the last one counts.
	Repeated []object.Key
	Hooks    []*unstructured.Unstructured
}

// Desire turns rendered manifests into what one application asks for: a
// namespaced object without a namespace goes to the destination's, a
// cluster-scoped one loses its own, a Secret's stringData becomes data, and
// each carries the application's mark. A kind that the cluster does not serve
// yet counts as namespaced until it does.
func Desire(m Mark, manifests []*unstructured.Unstructured, scopes map[schema.GroupKind]Scope) Wish {
	var out Wish
	objects := make([]object.Object, 0, len(manifests)+1)
	if ns := m.namespace(manifests); ns != nil {
		objects = append(objects, object.NewObject(ns))
	}
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
			m.Tracker.Put(u, m.App, m.Destination)
		}
		if _, _, is := hookTypes(u); is {
			out.Hooks = append(out.Hooks, u)
			continue
		}
		objects = append(objects, object.NewObject(u))
	}
	out.Objects, out.Repeated = object.NewSet(objects)
	return out
}

func (m Mark) stamp(u *unstructured.Unstructured) *unstructured.Unstructured {
	return m.Tracker.Stamp(u, m.App, m.Destination)
}

// namespace is the destination namespace as the application wants it to be,
// where it wants it to be anything and no manifest says otherwise. It carries
// no mark: others may live there too.
func (m Mark) namespace(manifests []*unstructured.Unstructured) *unstructured.Unstructured {
	if m.Namespace == nil || m.Destination == "" {
		return nil
	}
	for _, u := range manifests {
		if u.GetKind() == "Namespace" && u.GroupVersionKind().Group == "" && u.GetName() == m.Destination {
			return nil
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	u.SetName(m.Destination)
	u.SetLabels(m.Namespace.Labels)
	u.SetAnnotations(m.Namespace.Annotations)
	return u
}
