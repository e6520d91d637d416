package hub

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Decisions reads the lists of clusters that other controllers keep in the
// status of objects of theirs.
type Decisions struct {
	client    dynamic.Interface
	namespace string
}

// NewDecisions makes a reader of the control namespace.
func NewDecisions(config *rest.Config, namespace string) (*Decisions, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for decisions: %w", err)
	}
	return &Decisions{client: client, namespace: namespace}, nil
}

// Read gives the entries that a generator asks for. A config map of the control
// namespace says of which kind the objects are (by the name of the resource, in
// the plural) and where in their status the list is.
func (d *Decisions) Read(ctx context.Context, gen *v1alpha1.DuckTypeGenerator) (appset.Answer, error) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	cm, err := d.client.Resource(configMaps).Namespace(d.namespace).Get(ctx, gen.ConfigMapRef, metav1.GetOptions{})
	if err != nil {
		return appset.Answer{}, classify(err, "reading config map", gen.ConfigMapRef)
	}
	data, _, err := unstructured.NestedStringMap(cm.Object, "data")
	if err != nil {
		return appset.Answer{}, fault.Terminalf("NotReadable", "reading config map %q: %w", gen.ConfigMapRef, err)
	}
	for _, key := range []string{"apiVersion", "kind", "statusListKey", "matchKey"} {
		if data[key] == "" {
			return appset.Answer{}, fault.Terminalf("NotComplete",
				"config map %q has no %s; a decision needs apiVersion, kind, statusListKey and matchKey", gen.ConfigMapRef, key)
		}
	}
	gv, err := schema.ParseGroupVersion(data["apiVersion"])
	if err != nil {
		return appset.Answer{}, fault.Terminalf("NotReadable", "config map %q: %w", gen.ConfigMapRef, err)
	}
	objects, err := d.objects(ctx, gv.WithResource(data["kind"]), gen)
	if err != nil {
		return appset.Answer{}, err
	}
	out := appset.Answer{MatchKey: data["matchKey"]}
	for _, u := range objects {
		found, err := entries(u, data["kind"], data["statusListKey"])
		if err != nil {
			return appset.Answer{}, err
		}
		out.Sets = append(out.Sets, found...)
	}
	return out, nil
}

// entries are the list in the status of an object. Who has none has not decided
// yet, which is not to decide on nothing.
func entries(u unstructured.Unstructured, kind, key string) ([]map[string]any, error) {
	list, found, err := unstructured.NestedSlice(u.Object, "status", key)
	if err != nil || !found {
		return nil, fault.Transientf("NotDecided", "%s %q has no list status.%s", kind, u.GetName(), key)
	}
	var out []map[string]any
	for _, e := range list {
		entry, ok := e.(map[string]any)
		if !ok {
			return nil, fault.Terminalf("NotReadable", "status.%s of %s %q has an entry that is no object", key, kind, u.GetName())
		}
		out = append(out, entry)
	}
	return out, nil
}

func (d *Decisions) objects(
	ctx context.Context, gvr schema.GroupVersionResource, gen *v1alpha1.DuckTypeGenerator,
) ([]unstructured.Unstructured, error) {
	r := d.client.Resource(gvr).Namespace(d.namespace)
	if gen.Name != "" {
		u, err := r.Get(ctx, gen.Name, metav1.GetOptions{})
		if err != nil {
			return nil, classify(err, "reading "+gvr.Resource, gen.Name)
		}
		return []unstructured.Unstructured{*u}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&gen.LabelSelector)
	if err != nil {
		return nil, fault.Terminalf("NotReadable", "labelSelector: %w", err)
	}
	list, err := r.List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, classify(err, "listing "+gvr.Resource, selector.String())
	}
	if len(list.Items) == 0 {
		return nil, fault.Transientf("NotDecided", "there are no %s with %s in namespace %q", gvr.Resource, selector, d.namespace)
	}
	return list.Items, nil
}
