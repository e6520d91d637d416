package object_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/core/object"
)

// body is an object that says next to nothing.
func body(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}}
}

func TestKey(t *testing.T) {
	cases := map[string]struct {
		of   *unstructured.Unstructured
		want object.Key
		text string
	}{
		"core": {
			of: body("v1", "ConfigMap", "shop", "web"), want: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "web"},
			text: "ConfigMap shop/web",
		},
		"group": {
			of: body("apps/v1", "Deployment", "shop", "web"), want: object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			text: "Deployment.apps shop/web",
		},
		"cluster-scoped": {
			of: body("v1", "Namespace", "", "shop"), want: object.Key{Kind: "Namespace", Name: "shop"},
			text: "Namespace shop",
		},
		"a name with colons": {
			of:   body("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:node"),
			want: object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:node"},
			text: "ClusterRole.rbac.authorization.k8s.io system:node",
		},
		"nothing": {of: &unstructured.Unstructured{}, text: " "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := object.KeyOf(c.of)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("the key differs (-want +got):\n%s", d)
			}
			if got.String() != c.text {
				t.Errorf("got %q, want %q", got.String(), c.text)
			}
			if got.IsZero() != (name == "nothing") {
				t.Errorf("IsZero of %v is %v", got, got.IsZero())
			}
			if gk := got.GroupKind(); gk.Group != got.Group || gk.Kind != got.Kind {
				t.Errorf("the kind of %v is %v", got, gk)
			}
		})
	}
}

func TestKeyIsTheSameInEveryVersion(t *testing.T) {
	a, b := object.KeyOf(body("apps/v1", "Deployment", "shop", "web")), object.KeyOf(body("apps/v1beta1", "Deployment", "shop", "web"))
	if a != b {
		t.Errorf("%v and %v differ", a, b)
	}
}

func TestCompareOrdersByGroupKindNamespaceName(t *testing.T) {
	sorted := []object.Key{
		{},
		{Kind: "ConfigMap", Namespace: "b", Name: "a"},
		{Kind: "ConfigMap", Namespace: "b", Name: "b"},
		{Kind: "ConfigMap", Namespace: "c", Name: "a"},
		{Kind: "Secret", Namespace: "a", Name: "a"},
		{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "a"},
		{Group: "batch", Kind: "CronJob"},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := object.Compare(a, b); got != want {
				t.Errorf("Compare(%v, %v) is %d, want %d", a, b, got, want)
			}
		}
	}
}

func drawKey(t *rapid.T) object.Key {
	word := rapid.SampledFrom([]string{"", "a", "b", "system:a", "x.y", "a/b"})
	return object.Key{
		Group: rapid.SampledFrom([]string{"", "apps", "example.com"}).Draw(t, "group"),
		Kind:  rapid.SampledFrom([]string{"ConfigMap", "Role"}).Draw(t, "kind"),
		// A namespace is a DNS label.
		Namespace: rapid.SampledFrom([]string{"", "shop", "kube-system"}).Draw(t, "namespace"),
		Name:      word.Draw(t, "name"),
	}
}

func TestSetIsSortedAndTheLastWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(drawKey), 0, 20).Draw(t, "keys")
		var objects []object.Object
		last, count := map[object.Key]int{}, map[object.Key]int{}
		for i, k := range keys {
			objects = append(objects, object.Object{Key: k, Digest: object.Digest{byte(i)}})
			last[k] = i
			count[k]++
		}
		before := slices.Clone(objects)
		set, repeated := object.NewSet(objects)
		if d := cmp.Diff(before, objects); d != "" {
			t.Errorf("the input was changed:\n%s", d)
		}
		got := set.Keys()
		if set.Len() != len(last) || len(got) != len(last) || !slices.IsSortedFunc(got, object.Compare) {
			t.Errorf("%d different keys gave %v", len(last), got)
		}
		if len(slices.Collect(set.All())) != len(last) {
			t.Error("All does not yield every object")
		}
		var want []object.Key
		for k, i := range last {
			if o, ok := set.Get(k); !ok || o.Digest != (object.Digest{byte(i)}) {
				t.Errorf("%v is object %v, want the last one, %d", k, o.Digest, i)
			}
			if count[k] > 1 {
				want = append(want, k)
			}
		}
		slices.SortFunc(want, object.Compare)
		if !slices.Equal(want, repeated) {
			t.Errorf("repeated are %v, want %v", repeated, want)
		}
	})
}

func TestSetDoesNotFindWhatItHasNot(t *testing.T) {
	set, repeated := object.NewSet([]object.Object{object.NewObject(body("v1", "ConfigMap", "shop", "web"))})
	if repeated != nil {
		t.Errorf("%v is not repeated", repeated)
	}
	for _, k := range []object.Key{{}, {Kind: "ConfigMap", Namespace: "shop", Name: "we"}, {Kind: "Secret", Namespace: "shop", Name: "web"}} {
		if o, ok := set.Get(k); ok {
			t.Errorf("%v was found: %v", k, o)
		}
	}
	if (object.Set{}).Len() != 0 || len(object.Set{}.Keys()) != 0 {
		t.Error("the zero set is not empty")
	}
}

func TestNewObjectKnowsItsBody(t *testing.T) {
	u := body("v1", "ConfigMap", "shop", "web")
	o := object.NewObject(u)
	if o.Body != u || o.Key != object.KeyOf(u) || o.Digest != object.DigestOf(u) {
		t.Errorf("got %+v", o)
	}
	if o.Digest.IsZero() || len(o.Digest.String()) != 32 || strings.ToLower(o.Digest.String()) != o.Digest.String() {
		t.Errorf("got the digest %q", o.Digest)
	}
}
