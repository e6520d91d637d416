package object_test

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

func TestTrackingWireForm(t *testing.T) {
	cases := map[string]object.Tracking{
		"shop:apps/Deployment:shop/web": {App: "shop", Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}},
		"shop:/ConfigMap:shop/web":      {App: "shop", Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "web"}},
		"team_shop:/ConfigMap:shop/web": {App: "team_shop", Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "web"}},
		"shop:rbac.authorization.k8s.io/ClusterRole:shop/system:a:b": {
			App: "shop", Key: object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Namespace: "shop", Name: "system:a:b"},
		},
		"shop:/Namespace:/web": {App: "shop", Key: object.Key{Kind: "Namespace", Name: "web"}},
	}
	for wire, want := range cases {
		if got := want.String(); got != wire {
			t.Errorf("%+v is written %q, want %q", want, got, wire)
		}
		got, ok := object.ParseTracking(wire)
		if d := gocmp.Diff(want, got); !ok || d != "" {
			t.Errorf("%q is read as (-want +got):\n%s", wire, d)
		}
	}
}

func TestTrackingRefusesOtherText(t *testing.T) {
	for _, s := range []string{"", "shop", ":", ":/ConfigMap:a/b", "shop:ConfigMap:a/b", "shop:/ConfigMap", "shop:/ConfigMap:b", "shop::"} {
		if got, ok := object.ParseTracking(s); ok {
			t.Errorf("%q was read as %+v", s, got)
		}
	}
}

func TestTrackingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := object.Tracking{
			App: rapid.SampledFrom([]string{"shop", "team_shop", "a.b"}).Draw(t, "app"),
			Key: drawKey(t),
		}
		if got, ok := object.ParseTracking(want.String()); !ok || got != want {
			t.Errorf("%+v came back as %+v, %v", want, got, ok)
		}
	})
}

func TestParseTrackingIsExact(t *testing.T) {
	// Whatever is accepted is written back as it was.
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a:/_.]{0,12}`).Draw(t, "text")
		if got, ok := object.ParseTracking(s); ok && got.String() != s {
			t.Errorf("%q came back as %q", s, got.String())
		}
	})
}

func TestTrackingOf(t *testing.T) {
	cases := map[string]struct {
		apiVersion, kind, namespace, name string
		mark                              string
		app                               string
		self                              bool
	}{
		"no mark":                                           {"v1", "ConfigMap", "shop", "web", "", "", false},
		"broken mark":                                       {"v1", "ConfigMap", "shop", "web", "shop", "", false},
		"own mark":                                          {"v1", "ConfigMap", "shop", "web", "shop:/ConfigMap:shop/web", "shop", true},
		"copied by a controller to another kind":            {"apps/v1", "ReplicaSet", "shop", "web-1", "shop:apps/Deployment:shop/web", "shop", false},
		"copied to another name":                            {"v1", "ConfigMap", "shop", "copy", "shop:/ConfigMap:shop/web", "shop", false},
		"copied to another namespace":                       {"v1", "ConfigMap", "cart", "web", "shop:/ConfigMap:shop/web", "shop", false},
		"of the same kind in another group":                 {"example.com/v1", "ConfigMap", "shop", "web", "shop:/ConfigMap:shop/web", "shop", false},
		"cluster-scoped, marked with the destination":       {"v1", "Namespace", "", "web", "shop:/Namespace:shop/web", "shop", true},
		"cluster-scoped, marked without a namespace":        {"v1", "Namespace", "", "web", "shop:/Namespace:/web", "shop", true},
		"cluster-scoped, copied":                            {"v1", "Namespace", "", "other", "shop:/Namespace:shop/web", "shop", false},
		"namespaced, marked as if it were cluster-scoped":   {"v1", "ConfigMap", "shop", "web", "shop:/ConfigMap:/web", "shop", false},
		"a role with colons":                                {"rbac.authorization.k8s.io/v1", "ClusterRole", "", "a:b", "shop:rbac.authorization.k8s.io/ClusterRole:shop/a:b", "shop", true},
		"an application outside of the control namespace":   {"v1", "ConfigMap", "shop", "web", "team_shop:/ConfigMap:shop/web", "team_shop", true},
		"another version of the kind has the same identity": {"example.com/v2", "Route", "shop", "web", "shop:example.com/Route:shop/web", "shop", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := body(c.apiVersion, c.kind, c.namespace, c.name)
			if c.mark != "" {
				u.SetAnnotations(map[string]string{v1alpha1.AnnotationTrackingID: c.mark})
			}
			got, self := object.TrackingOf(u)
			if got.App != c.app || self != c.self {
				t.Errorf("got %q, self %v", got.App, self)
			}
			app := ""
			if c.self {
				app = c.app
			}
			if f := object.FactOf(u, "m"); f.App != app {
				t.Errorf("the fact says %q", f.App)
			}
		})
	}
}

func TestInstance(t *testing.T) {
	for _, c := range []struct{ control, namespace, name, instance string }{
		{"argocd", "argocd", "shop", "shop"},
		{"argocd", "", "shop", "shop"},
		{"argocd", "team", "shop", "team_shop"},
		{"argocd", "team", "my-shop.v1", "team_my-shop.v1"},
	} {
		got := object.Instance(c.control, c.namespace, c.name)
		if got != c.instance {
			t.Errorf("Instance(%q, %q, %q) is %q", c.control, c.namespace, c.name, got)
		}
		namespace, name := object.SplitInstance(c.control, got)
		if name != c.name || namespace != cmp.Or(c.namespace, c.control) {
			t.Errorf("%q is split into %q and %q", got, namespace, name)
		}
	}
}

func TestStamp(t *testing.T) {
	namespaced := body("v1", "ConfigMap", "shop", "web")
	namespaced.SetAnnotations(map[string]string{"mine": "stays", v1alpha1.AnnotationTrackingID: "old:/ConfigMap:shop/web"})
	cluster := body("v1", "Namespace", "", "web")
	for want, in := range map[string]*unstructured.Unstructured{
		"app:/ConfigMap:shop/web": namespaced,
		"app:/Namespace:dest/web": cluster,
	} {
		before := in.DeepCopy()
		out := object.Stamp(in, "app", "dest")
		if d := gocmp.Diff(before.Object, in.Object); d != "" {
			t.Errorf("the input was changed:\n%s", d)
		}
		annotations := before.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationTrackingID] = want
		if d := gocmp.Diff(annotations, out.GetAnnotations()); d != "" {
			t.Errorf("the annotations differ (-want +got):\n%s", d)
		}
		if got, self := object.TrackingOf(out); !self || got.App != "app" {
			t.Errorf("the stamped object is not its own: %+v", got)
		}
		out.SetAnnotations(nil)
		before.SetAnnotations(nil)
		if d := gocmp.Diff(before.Object, out.Object); d != "" {
			t.Errorf("more than the mark was changed:\n%s", d)
		}
	}
}

// TestStampKeepsAnnotationsThatAreNoText: people forget the quotes around a
// sync wave. The server says so; it must get to see it, and the object's other
// annotations must not go with it.
func TestStampKeepsAnnotationsThatAreNoText(t *testing.T) {
	u := decode(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop",
		"annotations":{"argocd.argoproj.io/sync-wave":5,"mine":"stays"}}}`)
	out := object.Stamp(u, "app", "dest")
	meta, _ := out.Object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations["mine"] != "stays" || annotations["argocd.argoproj.io/sync-wave"] == nil {
		t.Errorf("the mark took the object's own annotations away: %v", annotations)
	}
}
