package engine

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
)

// People change and delete objects of their application, and no others.
func TestEditsByHand(t *testing.T) {
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"},
		Spec:       v1alpha1.ApplicationSpec{Project: "default", Destination: v1alpha1.ApplicationDestination{Namespace: "shop"}},
	}
	w := newWorld(app)
	w.project.Spec.Destinations = []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "shop"}}
	w.project.Spec.NamespaceResourceBlacklist = []metav1.GroupKind{{Kind: "Secret"}}
	own := w.put(body("ConfigMap", "own", "shop"))
	foreign := w.put(body("ConfigMap", "foreign", "other"))
	secret := w.put(body("Secret", "secret", "shop"))
	e := w.engine()
	patch := func(text string) func(*unstructured.Unstructured) (wish.Patch, error) {
		return func(*unstructured.Unstructured) (wish.Patch, error) {
			return wish.Patch{JSON: strings.HasPrefix(text, "["), Text: []byte(text)}, nil
		}
	}
	u, err := e.EditObject(t.Context(), app, own, patch(`{"data":{"a":"b"}}`))
	if err != nil || u.Object["data"] == nil {
		t.Errorf("%v %v", u, err)
	}
	// Somebody was quicker, and it is tried again.
	w.fails["patch"] = fault.Transientf("Conflict", "moved")
	if u, err := e.EditObject(t.Context(), app, own, patch(`[{"op":"replace","path":"/data/a","value":"c"}]`)); err != nil {
		t.Errorf("%v %v", u, err)
	}
	if _, err := e.EditObject(t.Context(), app, own, patch(`[{"op":"remove","path":"/data/nowhere"}]`)); fault.ReasonOf(err) != "Rejected" {
		t.Errorf("a patch that does not fit: %v", err)
	}
	for _, c := range []struct {
		key    object.Key
		reason string
	}{
		{foreign, "NotOurs"},
		{secret, "Denied"},
		{object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "nowhere"}, "NotFound"},
	} {
		if _, err := e.EditObject(t.Context(), app, c.key, patch(`{"data":{"a":"b"}}`)); fault.ReasonOf(err) != c.reason {
			t.Errorf("editing %s: %v, want %s", c.key, err, c.reason)
		}
		if err := e.DeleteObject(t.Context(), app, c.key, metav1.DeleteOptions{}); fault.ReasonOf(err) != c.reason {
			t.Errorf("deleting %s: %v, want %s", c.key, err, c.reason)
		}
	}
	w.fails["remove"] = fault.Transientf("Conflict", "moved")
	if err := e.DeleteObject(t.Context(), app, own, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, there := w.live[own]; there {
		t.Error("it is still there")
	}
}

// What may not be synced may not be stored.
func TestAdmission(t *testing.T) {
	good := func() *v1alpha1.Application {
		return &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"},
			Spec: v1alpha1.ApplicationSpec{
				Project: "default", Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: "shop"},
				Source: &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop.git", Path: "."},
			},
		}
	}
	for name, c := range map[string]struct {
		edit func(*v1alpha1.Application)
		want string
	}{
		"good":                {func(*v1alpha1.Application) {}, ""},
		"no destination":      {func(a *v1alpha1.Application) { a.Spec.Destination = v1alpha1.ApplicationDestination{} }, "no destination"},
		"two destinations":    {func(a *v1alpha1.Application) { a.Spec.Destination.Name = "x" }, "keep one"},
		"another namespace":   {func(a *v1alpha1.Application) { a.Spec.Destination.Namespace = "kube-system" }, "kube-system"},
		"another repository":  {func(a *v1alpha1.Application) { a.Spec.Source.RepoURL = "https://elsewhere.example.com/x.git" }, "elsewhere"},
		"no source":           {func(a *v1alpha1.Application) { a.Spec.Source = nil }, "no source"},
		"a namespace of ours": {func(a *v1alpha1.Application) { a.Namespace = "team" }, "team"},
		"no such project":     {func(a *v1alpha1.Application) { a.Spec.Project = "nobody" }, "does not exist"},
	} {
		app := good()
		c.edit(app)
		w := newWorld(app)
		w.project.Spec.SourceRepos = []string{"https://git.example.com/*"}
		w.project.Spec.Destinations = []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "shop"}}
		problems, err := w.engine().Admission(t.Context(), app)
		text := strings.Join(problems, "; ")
		if err != nil || (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q %v, want %q", name, text, err, c.want)
		}
	}
}
