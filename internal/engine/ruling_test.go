package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

// acted notes as whom things are applied.
type acted struct {
	*target
	user string
	by   map[string]int
}

func (a acted) Apply(ctx context.Context, body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	a.by[a.user]++
	return a.target.Apply(ctx, body)
}

func TestRulesOfAnInstallation(t *testing.T) {
	account := []v1alpha1.ApplicationDestinationServiceAccount{{Server: "*", Namespace: "*", DefaultServiceAccount: "ops:robot"}}
	cases := map[string]struct {
		tenancy policy.Tenancy
		change  func(w *world)
		// refused is a part of the condition; user is as whom things are applied.
		refused, user string
	}{
		"nothing": {user: "ourselves"},
		"nobody to act as": {
			tenancy: policy.Tenancy{Impersonate: true}, refused: "no rule in destinationServiceAccounts",
		},
		"nobody to act as, not enforced": {tenancy: policy.Tenancy{Impersonate: true, Optional: true}, user: "ourselves"},
		"somebody to act as": {
			tenancy: policy.Tenancy{Impersonate: true}, user: "system:serviceaccount:ops:robot",
			change: func(w *world) { w.project.Spec.DestinationServiceAccounts = account },
		},
		"a global project that is not there": {
			tenancy: policy.Tenancy{Globals: []policy.Global{{Project: "base"}}}, refused: `"base", which does not exist`,
		},
		"a global project that is not there, by the letter": {
			tenancy: policy.Tenancy{Globals: []policy.Global{{Project: "base"}}, ByLetter: true}, user: "ourselves",
		},
		"an application of another namespace": {
			change:  func(w *world) { w.app.Namespace = "elsewhere" },
			refused: `applications of namespace "elsewhere" may not belong to project "default"`,
		},
		"an application of a namespace that is permitted": {
			change: func(w *world) {
				w.app.Namespace = "elsewhere"
				w.project.Spec.SourceNamespaces = []string{"else*"}
			},
			user: "ourselves",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(shop())
			w.commits["c1"], w.head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n", "c1"
			if c.change != nil {
				c.change(w)
			}
			by := map[string]int{}
			e := w.engine()
			e.Options.Settings = func() Settings { return Settings{MaxAge: time.Minute, Tenancy: &c.tenancy} }
			e.Options.As = func(_ Cluster, user string) (Hands, error) { return acted{(*target)(w), user, by}, nil }
			e.Options.Clusters = actedFor{acted{(*target)(w), "ourselves", by}}
			for range 5 {
				_, _ = e.Reconcile(t.Context(), e.key(w.app))
			}
			var told []string
			for _, cond := range w.app.Status.Conditions {
				told = append(told, cond.Message)
			}
			if c.refused != "" && (len(by) > 0 || !strings.Contains(strings.Join(told, "\n"), c.refused)) {
				t.Errorf("applied by %v, told %q", by, told)
			}
			if c.refused == "" && (len(by) != 1 || by[c.user] == 0) {
				t.Errorf("applied by %v, told %q", by, told)
			}
			if w.app.DeletionTimestamp = new(metav1.Now()); c.refused != "" {
				// Who has nothing is let go, whatever the rules say of it.
				w.app.Finalizers = []string{v1alpha1.FinalizerResources}
				w.bump()
				_, _ = e.Reconcile(t.Context(), e.key(w.app))
				if len(w.app.Finalizers) > 0 || len(w.deleted) > 0 {
					t.Errorf("it is left with %v, deleted were %v", w.app.Finalizers, w.deleted)
				}
			}
		})
	}
}

type actedFor struct{ acted }

func (a actedFor) For(d v1alpha1.ApplicationDestination) (Cluster, string, string, error) {
	_, server, name, err := a.target.For(d)
	return a.acted, server, name, err
}

// closed is a cluster that nobody has opened yet, and counts who does.
type closed struct {
	acted
	opened *int
}

func (c closed) Find(v1alpha1.ApplicationDestination) (server, name string, open bool, err error) {
	return "https://theirs.example.com", "theirs", *c.opened > 0, nil
}

func (c closed) For(d v1alpha1.ApplicationDestination) (Cluster, string, string, error) {
	*c.opened++
	_, _, _, err := c.target.For(d)
	return c.acted, "https://theirs.example.com", "theirs", err
}

// theirs says whose a cluster is.
type theirs struct{ owner string }

func (theirs) Owned(string) policy.Owned { return policy.Owned{} }

func (t theirs) ClusterOwner(string) string { return t.owner }

// TestClosedClusters: a cluster is not opened for an application whose project
// has no business there, neither to look nor to let the application go.
func TestClosedClusters(t *testing.T) {
	cases := map[string]struct {
		owner  string
		change func(w *world)
		opens  bool
		says   string
	}{
		"allowed":         {opens: true},
		"no rule":         {change: func(w *world) { w.project.Spec.Destinations[0].Server = v1alpha1.InClusterServer }, says: "matches no allow rule"},
		"another's":       {owner: "them", says: `is for project "them" alone`},
		"no project":      {change: func(w *world) { w.app.Spec.Project = "nobody" }, says: "does not exist"},
		"not from there":  {change: func(w *world) { w.app.Namespace = "elsewhere" }, says: "may not belong to project"},
		"other namespace": {change: func(w *world) { w.project.Spec.Destinations[0].Namespace = "web" }, opens: true, says: "matches no allow rule"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(shop())
			w.commits["c1"], w.head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n", "c1"
			if c.change != nil {
				c.change(w)
			}
			opened := 0
			e := w.engine()
			e.Options.Scoped = theirs{c.owner}
			e.Options.Clusters = closed{acted{(*target)(w), "ourselves", map[string]int{}}, &opened}
			for range 3 {
				_, _ = e.Reconcile(t.Context(), e.key(w.app))
			}
			var told []string
			for _, cond := range w.app.Status.Conditions {
				told = append(told, cond.Message)
			}
			if (opened > 0) != c.opens || !strings.Contains(strings.Join(told, "\n"), c.says) {
				t.Errorf("opened %d times, told %q", opened, told)
			}
			if c.opens || w.project.Name != w.app.ProjectName() {
				return
			}
			w.app.DeletionTimestamp, w.app.Finalizers = new(metav1.Now()), []string{v1alpha1.FinalizerResources}
			w.bump()
			_, _ = e.Reconcile(t.Context(), e.key(w.app))
			if len(w.app.Finalizers) > 0 || opened > 0 {
				t.Errorf("it is left with %v, opened %d times", w.app.Finalizers, opened)
			}
		})
	}
}
