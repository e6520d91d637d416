package engine

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

func (c *target) Patch(_ context.Context, read *unstructured.Unstructured, patch map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := (*world)(c)
	if err := w.read("patch"); err != nil {
		delete(w.fails, "patch")
		return err
	}
	k := object.KeyOf(read)
	from, err := json.Marshal(w.live[k].Object)
	if err != nil {
		return err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	to, err := jsonpatch.MergePatch(from, change)
	if err != nil {
		return err
	}
	w.version++
	if err := w.live[k].UnmarshalJSON(to); err != nil {
		return err
	}
	w.live[k].SetResourceVersion(strconv.Itoa(w.version))
	return nil
}

func (c *target) Create(_ context.Context, body *unstructured.Unstructured) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[object.KeyOf(body)] = body
	return nil
}

func (c *target) Remove(_ context.Context, read *unstructured.Unstructured, _ metav1.DeleteOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := (*world)(c)
	if err := w.read("remove"); err != nil {
		delete(w.fails, "remove")
		return err
	}
	delete(w.live, object.KeyOf(read))
	return nil
}

// scripted are actions that a user made for ConfigMaps.
type scripted struct{}

func (scripted) Discover(u *unstructured.Unstructured) (found any, builtin bool, err error) {
	if u.GetKind() != "ConfigMap" {
		return nil, true, nil
	}
	return map[string]any{"stamp": []any{}, "copy": []any{}, "never": map[string]any{"disabled": true}, "lost": []any{}}, false, nil
}

func (scripted) Run(u *unstructured.Unstructured, name string, params map[string]string) (returned any, known bool, err error) {
	switch name {
	case "stamp":
		u = u.DeepCopy()
		u.SetLabels(map[string]string{"stamp": params["text"]})
		return u.Object, true, nil
	case "copy":
		return []any{map[string]any{"operation": "create", "resource": map[string]any{
			"apiVersion": "v1", "kind": params["kind"], "metadata": map[string]any{"name": "copy", "namespace": params["namespace"]},
		}}}, true, nil
	}
	return nil, false, nil
}

// live puts an object into the world.
func (w *world) put(u *unstructured.Unstructured) object.Key {
	k := object.KeyOf(u)
	u.SetUID(types.UID("uid of " + k.String()))
	u.SetResourceVersion("1")
	w.live[k] = u
	return k
}

func body(kind, name, app string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{}}}
	if kind == "Deployment" {
		u.SetAPIVersion("apps/v1")
	}
	u.SetName(name)
	u.SetNamespace("shop")
	if app == "" {
		return u
	}
	return object.Tracker{}.Stamp(u, app, "shop")
}

func TestActions(t *testing.T) {
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"},
		Spec:       v1alpha1.ApplicationSpec{Project: "default", Destination: v1alpha1.ApplicationDestination{Namespace: "shop"}},
	}
	w := newWorld(app)
	w.project.Spec.Destinations = []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "shop"}}
	w.project.Spec.NamespaceResourceBlacklist = []metav1.GroupKind{{Kind: "Secret"}}
	web := w.put(body("Deployment", "web", "shop"))
	own := w.put(body("ConfigMap", "own", "shop"))
	foreign := w.put(body("ConfigMap", "foreign", "other"))
	secret := w.put(body("Secret", "secret", "shop"))
	child := body("ConfigMap", "child", "")
	child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: w.live[web].GetUID()}})
	w.put(child)
	orphan := body("ConfigMap", "orphan", "")
	orphan.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "of an earlier one"}})
	w.put(orphan)
	e := w.engine()
	e.Actions = scripted{}

	for name, c := range map[string]struct {
		key    object.Key
		action string
		params map[string]string
		did    string
		err    string
	}{
		"a built-in one":          {key: web, action: "restart", did: "patched Deployment.apps shop/web"},
		"with a parameter":        {key: web, action: "scale", params: map[string]string{"replicas": "3"}, did: "patched Deployment.apps shop/web"},
		"one that is not there":   {key: web, action: "explode", err: "pause, restart, resume, scale"},
		"one that makes no sense": {key: web, action: "resume", err: "no sense"},
		"a user's":                {key: own, action: "stamp", params: map[string]string{"text": "x"}, did: "patched ConfigMap shop/own"},
		"a user's, not now":       {key: own, action: "never", err: "no sense"},
		"without a definition":    {key: own, action: "lost", err: "not among the definitions"},
		"of a child":              {key: object.KeyOf(child), action: "stamp", did: "patched ConfigMap shop/child"},
		"of another's child":      {key: object.KeyOf(orphan), action: "stamp", err: "not an object of application"},
		"of another application":  {key: foreign, action: "stamp", err: "not an object of application"},
		"of a denied kind":        {key: secret, action: "stamp", err: "namespaceResourceBlacklist"},
		"of nothing":              {key: configMap("nothing"), action: "stamp", err: "not there"},
		"a new object":            {key: own, action: "copy", params: map[string]string{"kind": "ConfigMap"}, did: "created ConfigMap shop/copy"},
		"a new object elsewhere":  {key: own, action: "copy", params: map[string]string{"kind": "ConfigMap", "namespace": "kube-system"}, err: "kube-system"},
		"a new denied object":     {key: own, action: "copy", params: map[string]string{"kind": "Secret"}, err: "namespaceResourceBlacklist"},
		"a new unknown object":    {key: own, action: "copy", params: map[string]string{"kind": "Thing"}, err: "does not serve"},
		"a new cluster object":    {key: own, action: "copy", params: map[string]string{"kind": "Namespace"}, did: "created Namespace copy"},
	} {
		t.Run(name, func(t *testing.T) {
			w.fails["patch"] = fault.Transientf("Conflict", "somebody was faster")
			did, err := e.RunAction(t.Context(), app, Act{Object: c.key, Name: c.action, Params: c.params})
			delete(w.fails, "patch")
			if strings.Join(did, "; ") != c.did {
				t.Errorf("did %q", did)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
		})
	}
	replicas, _, _ := unstructured.NestedInt64(w.live[web].Object, "spec", "replicas")
	if replicas != 3 || w.live[own].GetLabels()["stamp"] != "x" {
		t.Errorf("the objects are %v and %v", w.live[web].Object, w.live[own].Object)
	}
	list, err := e.ActionsOf(t.Context(), app, own)
	var got []string
	for _, a := range list {
		got = append(got, a.Name)
	}
	if d := cmp.Diff([]string{"copy", "lost", "never", "stamp"}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
