package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Owner is an object's reference to one that it goes with.
type Owner struct {
	UID   string
	Group string
	Kind  string
	Name  string
	// Controller says that this owner is the one that manages the object.
	Controller bool
}

// Link says how a reference finds the other object.
type Link uint8

// The links.
const (
	// Names: the object names its child.
	Names Link = iota
	// Numbers: the object's children have the given name, a dash and a number.
	Numbers
	// Selects: the object's children have the given labels.
	Selects
	// BelongsTo: the object names its parent.
	BelongsTo
)

// Ref is a reference that is no owner reference and that still makes one
// object the other's child in the eyes of people.
type Ref struct {
	Link Link
	// Key is the other object. The scope of its kind is not known here: a
	// namespace in it is the one to try first.
	Key Key
	// Selector is what Selects looks for.
	Selector Labels
}

// ownersOf reads the owner references without the copies that the accessor makes.
func ownersOf(u *unstructured.Unstructured) []Owner {
	list := listAt(u.Object, "metadata", "ownerReferences")
	if len(list) == 0 {
		return nil
	}
	out := make([]Owner, 0, len(list))
	for _, m := range list {
		controller, _ := m["controller"].(bool)
		out = append(out, Owner{
			UID: text(m, "uid"), Group: groupOf(text(m, "apiVersion")), Kind: text(m, "kind"), Name: text(m, "name"),
			Controller: controller,
		})
	}
	return out
}

// refsOf infers the references of an object from what its kind means by its
// fields. Kinds that are not listed may be composed ones: those say so by the
// shape of their references.
func refsOf(u *unstructured.Unstructured, k Key) []Ref {
	switch k.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return claimRefs(u, k)
	case schema.GroupKind{Kind: "Service"}:
		return serviceRefs(u, k)
	case schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:
		return parentRef(k, "Service", u.GetLabels()["kubernetes.io/service-name"])
	case schema.GroupKind{Kind: "Endpoints"}:
		return parentRef(k, "Service", k.Name)
	case schema.GroupKind{Kind: "Secret"}:
		if text(u.Object, "type") != "kubernetes.io/service-account-token" {
			return nil
		}
		return parentRef(k, "ServiceAccount", u.GetAnnotations()["kubernetes.io/service-account.name"])
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return objectRefs(k, []map[string]any{mapAt(u.Object, "spec", "scaleTargetRef")})
	}
	switch k.Group {
	case "networking.k8s.io", "extensions":
		return ingressRefs(u, k)
	case "gateway.networking.k8s.io":
		return routeRefs(u, k)
	case "external-secrets.io", "cert-manager.io", "bitnami.com":
		return secretRefs(u, k)
	}
	if !strings.Contains(k.Group, ".") || strings.HasSuffix(k.Group, ".k8s.io") {
		return nil
	}
	return composedRefs(u, k)
}

func claimRefs(u *unstructured.Unstructured, k Key) []Ref {
	var out []Ref
	for _, m := range listAt(u.Object, "spec", "volumeClaimTemplates") {
		if name := text(mapAt(m, "metadata"), "name"); name != "" {
			claim := Key{Kind: "PersistentVolumeClaim", Namespace: k.Namespace, Name: name + "-" + k.Name}
			out = append(out, Ref{Link: Numbers, Key: claim})
		}
	}
	return out
}

func serviceRefs(u *unstructured.Unstructured, k Key) []Ref {
	selector, _, err := unstructured.NestedStringMap(u.Object, "spec", "selector")
	if err != nil || len(selector) == 0 || text(mapAt(u.Object, "spec"), "type") == "ExternalName" {
		return nil
	}
	return []Ref{{Link: Selects, Key: Key{Kind: "Pod", Namespace: k.Namespace}, Selector: NewLabels(selector)}}
}

// parentRef names the parent of the core group that an object belongs to.
func parentRef(k Key, kind, name string) []Ref {
	if name == "" {
		return nil
	}
	return []Ref{{Link: BelongsTo, Key: Key{Kind: kind, Namespace: k.Namespace, Name: name}}}
}

func ingressRefs(u *unstructured.Unstructured, k Key) []Ref {
	if k.Kind != "Ingress" {
		return nil
	}
	spec := mapAt(u.Object, "spec")
	backends := []map[string]any{mapAt(spec, "defaultBackend"), mapAt(spec, "backend")}
	for _, rule := range listAt(spec, "rules") {
		for _, path := range listAt(rule, "http", "paths") {
			backends = append(backends, mapAt(path, "backend"))
		}
	}
	var out refs
	for _, b := range backends {
		out.names(Key{Kind: "Service", Namespace: k.Namespace, Name: text(mapAt(b, "service"), "name")})
		// As it was before networking.k8s.io/v1.
		out.names(Key{Kind: "Service", Namespace: k.Namespace, Name: text(b, "serviceName")})
	}
	return out
}

func routeRefs(u *unstructured.Unstructured, k Key) []Ref {
	var out refs
	for _, rule := range listAt(u.Object, "spec", "rules") {
		for _, b := range listAt(rule, "backendRefs") {
			target := Key{Group: text(b, "group"), Kind: text(b, "kind"), Namespace: text(b, "namespace"), Name: text(b, "name")}
			if target.Kind == "" {
				target.Kind = "Service"
			}
			if target.Namespace == "" {
				target.Namespace = k.Namespace
			}
			out.names(target)
		}
	}
	return out
}

// secretRefs finds the Secret that a controller makes for an object.
func secretRefs(u *unstructured.Unstructured, k Key) []Ref {
	spec := mapAt(u.Object, "spec")
	name := ""
	switch k.Kind {
	case "ExternalSecret":
		name = cmp.Or(text(mapAt(spec, "target"), "name"), k.Name)
	case "Certificate":
		name = text(spec, "secretName")
	case "SealedSecret":
		name = cmp.Or(text(mapAt(spec, "template", "metadata"), "name"), k.Name)
	}
	var out refs
	out.names(Key{Kind: "Secret", Namespace: k.Namespace, Name: name})
	return out
}

// composedRefs finds what Crossplane's claims and composites are made of.
func composedRefs(u *unstructured.Unstructured, k Key) []Ref {
	spec := mapAt(u.Object, "spec")
	var found []map[string]any
	for _, at := range []map[string]any{spec, mapAt(spec, "crossplane")} {
		found = append(found, mapAt(at, "resourceRef"))
		found = append(found, listAt(at, "resourceRefs")...)
	}
	return objectRefs(k, found)
}

func objectRefs(k Key, found []map[string]any) []Ref {
	var out refs
	for _, m := range found {
		if text(m, "apiVersion") == "" || text(m, "kind") == "" {
			continue
		}
		out.names(Key{
			Group: groupOf(text(m, "apiVersion")), Kind: text(m, "kind"),
			Namespace: cmp.Or(text(m, "namespace"), k.Namespace), Name: text(m, "name"),
		})
	}
	return out
}

// refs gathers references, each once.
type refs []Ref

func (r *refs) names(k Key) {
	if k.Name == "" {
		return
	}
	for _, have := range *r {
		if have.Key == k {
			return
		}
	}
	*r = append(*r, Ref{Link: Names, Key: k})
}

func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// The rest reads bodies without copies; what has another type than expected is
// not there.

func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}

func number(m map[string]any, field string) int64 {
	n, _ := m[field].(int64)
	return n
}

func mapAt(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		m, _ = m[field].(map[string]any)
	}
	return m
}

func listAt(m map[string]any, path ...string) []map[string]any {
	items, _ := mapAt(m, path[:len(path)-1]...)[path[len(path)-1]].([]any)
	if len(items) == 0 {
		return nil
	}
	out := make([]map[string]any, 0, len(items))
	for _, it := range items {
		if member, ok := it.(map[string]any); ok {
			out = append(out, member)
		}
	}
	return out
}
