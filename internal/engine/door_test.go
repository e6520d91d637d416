package engine

import (
	"context"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// crossed are hands that note what reaches them.
type crossed struct {
	*target
	calls map[string]int
}

func (c crossed) Get(context.Context, object.Key, string) (*unstructured.Unstructured, error) {
	c.calls["Get"]++
	return nil, nil
}

func (c crossed) DryRun(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.calls["DryRun"]++
	return nil, nil
}

func (c crossed) DryRunMerge(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.calls["DryRunMerge"]++
	return nil, nil
}

func (c crossed) Creatable(context.Context, *unstructured.Unstructured) error {
	c.calls["Creatable"]++
	return nil
}

func (c crossed) Tail(context.Context, object.Fact) string {
	c.calls["Tail"]++
	return ""
}

func (c crossed) Apply(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.calls["Apply"]++
	return nil, nil
}

func (c crossed) Replace(context.Context, *unstructured.Unstructured, bool, bool) (*unstructured.Unstructured, error) {
	c.calls["Replace"]++
	return nil, nil
}

func (c crossed) Delete(context.Context, object.Fact, metav1.DeletionPropagation) error {
	c.calls["Delete"]++
	return nil
}

func (c crossed) TakeOver(context.Context, *unstructured.Unstructured, [][]string) error {
	c.calls["TakeOver"]++
	return nil
}

func (c crossed) Release(context.Context, object.Fact) error {
	c.calls["Release"]++
	return nil
}

func (c crossed) Patch(context.Context, *unstructured.Unstructured, map[string]any) error {
	c.calls["Patch"]++
	return nil
}

func (c crossed) Create(context.Context, *unstructured.Unstructured) error {
	c.calls["Create"]++
	return nil
}

func (c crossed) Remove(context.Context, *unstructured.Unstructured, metav1.DeleteOptions) error {
	c.calls["Remove"]++
	return nil
}

var here = policy.Place{Server: v1alpha1.InClusterServer, Name: v1alpha1.InClusterName}

// questions change nothing.
var questions = map[string]bool{"Get": true, "DryRun": true, "DryRunMerge": true, "Creatable": true, "Tail": true}

// Every request there is, now or later, is shown to the door: of an object that the project does not allow, before
// anybody was let in, and by somebody who only looks. None may reach the cluster.
func TestTheDoor(t *testing.T) {
	in := policy.Project{
		Name: "shop", NamespaceWhitelistNil: true, NamespaceBlacklist: []policy.Kind{{Kind: "Secret"}},
		Destinations: []policy.Destination{{Server: "*", Namespace: "shop"}},
	}
	cases := map[string]struct {
		object  object.Key
		shut    bool
		purpose purpose
		// ask and write say whether questions and writes get through; reason is why not.
		ask, write bool
		reason     string
	}{
		"allowed":             {object: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, purpose: acting, ask: true, write: true},
		"another namespace":   {object: object.Key{Kind: "ConfigMap", Namespace: "crew", Name: "a"}, purpose: acting, reason: denied},
		"a kind":              {object: object.Key{Kind: "Secret", Namespace: "shop", Name: "a"}, purpose: acting, reason: denied},
		"of the cluster":      {object: object.Key{Kind: "Namespace", Name: "shop"}, purpose: acting, reason: denied},
		"a kind of nobody":    {object: object.Key{Kind: "Gadget", Namespace: "shop", Name: "a"}, purpose: acting, reason: "UnknownKind"},
		"before the rules":    {object: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, purpose: acting, shut: true, reason: denied},
		"by who only looks":   {object: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, ask: true, reason: "ReadOnly"},
		"a look at forbidden": {object: object.Key{Kind: "ConfigMap", Namespace: "crew", Name: "a"}, reason: "*"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(&v1alpha1.Application{})
			behind := crossed{target: (*target)(w), calls: map[string]int{}}
			d := &door{Live: behind, raw: behind, hands: behind, project: &in, purpose: c.purpose, place: here}
			if c.shut {
				d.project = nil
			}
			for m := range reflect.TypeFor[Hands]().Methods() {
				if m.Name == "Fits" {
					continue // it asks for no object
				}
				err := call(t, d, m, c.object)
				want := c.write
				if questions[m.Name] {
					want = c.ask
				}
				if got := behind.calls[m.Name] > 0; got != want {
					t.Errorf("%s got through: %t, want %t", m.Name, got, want)
				}
				if !want && m.Name != "Tail" && c.reason != "*" && fault.ReasonOf(err) != c.reason {
					t.Errorf("%s: %v (%s), want the reason %s", m.Name, err, fault.ReasonOf(err), c.reason)
				}
			}
		})
	}
}

// call calls a method with an object, in whatever form the method takes it.
func call(t *testing.T, d *door, m reflect.Method, k object.Key) error {
	t.Helper()
	body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": k.Kind}}
	body.SetName(k.Name)
	body.SetNamespace(k.Namespace)
	var args []reflect.Value
	method := reflect.ValueOf(d).MethodByName(m.Name)
	for arg := range method.Type().Ins() {
		switch arg {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case reflect.TypeFor[*unstructured.Unstructured]():
			args = append(args, reflect.ValueOf(body))
		case reflect.TypeFor[object.Fact]():
			args = append(args, reflect.ValueOf(object.Fact{Key: k}))
		case reflect.TypeFor[object.Key]():
			args = append(args, reflect.ValueOf(k))
		default:
			args = append(args, reflect.Zero(arg))
		}
	}
	for _, out := range method.Call(args) {
		if err, ok := reflect.TypeAssert[error](out); ok {
			return err
		}
	}
	return nil
}

// A dry-run of a replacement is a question.
func TestTheDoorAndReplacements(t *testing.T) {
	in := policy.Project{NamespaceWhitelistNil: true, Destinations: []policy.Destination{{Server: "*", Namespace: "*"}}}
	w := newWorld(&v1alpha1.Application{})
	behind := crossed{target: (*target)(w), calls: map[string]int{}}
	d := &door{Live: behind, raw: behind, hands: behind, project: &in, place: here}
	body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "b"}}}
	if _, err := d.Replace(t.Context(), body, false, true); err != nil || behind.calls["Replace"] != 1 {
		t.Errorf("a dry-run does not get through: %v", err)
	}
	if _, err := d.Replace(t.Context(), body, false, false); err == nil || behind.calls["Replace"] != 1 {
		t.Error("a replacement got through")
	}
}
