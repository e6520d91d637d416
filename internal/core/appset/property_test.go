package appset_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
)

// drawApps makes small Applications with names, paths, clusters, projects and metadata.
func drawApps(t *rapid.T, label string, set *v1alpha1.ApplicationSet) []*v1alpha1.Application {
	from := func(what string, i int, of ...string) string {
		return rapid.SampledFrom(of).Draw(t, fmt.Sprint(label, " ", what, " ", i))
	}
	by := map[string]*v1alpha1.Application{}
	for i := range rapid.IntRange(0, 14).Draw(t, label+" count") {
		s := short{
			Name: from("name", i, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"),
			Path: from("path", i, "x", "y", "z"), Cluster: from("cluster", i, "prod", "prod", "prod", "gone"),
			Project: from("project", i, "default", "default", "default", "nobody"),
			Labels:  map[string]string{"l": from("label", i, "1", "2")},
			Sync:    from("sync", i, "Synced", "OutOfSync", ""),
		}
		if from("marked", i, "no", "yes") == "yes" {
			s.Annotations = map[string]string{"x": "y", v1alpha1.AnnotationRefresh: "normal"}
		}
		app := s.app()
		app.OwnerReferences = []metav1.OwnerReference{appset.OwnerOf(set)}
		by[s.Name] = app
	}
	var out []*v1alpha1.Application
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out
}

func drawInput(t *rapid.T) appset.Input {
	set := &v1alpha1.ApplicationSet{}
	set.Name, set.Namespace, set.UID = "fleet", "argocd", "uid-of-the-set"
	in := appset.Input{
		Set: set, Now: start, Projects: map[string]bool{"default": true},
		Clusters: []appset.Cluster{{Name: "prod", Server: "https://prod.example.com"}},
		Policy: rapid.SampledFrom([]v1alpha1.ApplicationsSyncPolicy{
			v1alpha1.ApplicationsSyncPolicySync, v1alpha1.ApplicationsSyncPolicySync, v1alpha1.ApplicationsSyncPolicyCreateOnly,
			v1alpha1.ApplicationsSyncPolicyCreateUpdate, v1alpha1.ApplicationsSyncPolicyCreateDelete,
		}).Draw(t, "policy"),
		Result: appset.Result{Apps: drawApps(t, "want", set)},
		Owned:  drawApps(t, "have", set),
	}
	for _, app := range in.Result.Apps {
		app.Status = v1alpha1.ApplicationStatus{}
	}
	if rapid.IntRange(0, 4).Draw(t, "a problem") == 0 {
		in.Result.Problems = []appset.Problem{{Name: "a", Message: "it is twice"}}
		in.Result.Apps = slices.DeleteFunc(in.Result.Apps, func(a *v1alpha1.Application) bool { return a.Name == "a" })
	}
	return in
}

// TestAppliedChangesAreNone: whatever there is, after the changes are carried out there are no more of them, and after a
// second look, the time that a cluster is waited for, and the successors' syncs, there are none at all.
func TestAppliedChangesAreNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		for range 2 {
			c := appset.Compare(in)
			in.Owned, in.Pending, in.Missing = applied(in.Owned, c), c.Pending, c.Missing
			if again := appset.Compare(in); !again.Empty() {
				t.Fatalf("once more after the changes were made:\n%s", cmp.Diff(appset.Changes{}, again))
			}
			in.Now = in.Now.Add(10 * time.Minute)
			for _, app := range in.Owned {
				app.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced
				compare(app)
			}
		}
		// The second looks at those whose cluster is gone.
		for range 4 {
			c := appset.Compare(in)
			in.Owned, in.Pending, in.Missing = applied(in.Owned, c), c.Pending, c.Missing
			in.Now = in.Now.Add(time.Minute)
		}
		if c := appset.Compare(in); len(c.Held) > 0 || !c.Empty() {
			t.Fatalf("something is left:\n%s", cmp.Diff(appset.Changes{}, c))
		}
	})
}

// TestDoubtsDeleteNothing: with a doubt, a failure or an open question nothing is deleted, whatever was pending.
func TestDoubtsDeleteNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		first := appset.Compare(in)
		in.Pending, in.Missing, in.Now = first.Pending, map[string]time.Time{}, in.Now.Add(time.Hour)
		for _, app := range in.Owned {
			in.Missing[app.Name] = start
		}
		switch rapid.IntRange(0, 3).Draw(t, "which") {
		case 0:
			in.Doubts = []string{"the branch was rewound"}
		case 1:
			in.Result.Failure = "the template is wrong"
		case 2:
			in.Result.Needs = []appset.Need{{Git: &appset.GitNeed{}}}
		case 3:
			in.Result.Problems = append(in.Result.Problems, appset.Problem{Message: "no name"})
		}
		if c := appset.Compare(in); len(c.Delete) > 0 {
			t.Fatalf("%s is deleted: %s", c.Delete[0].App.Name, c.Delete[0].Why)
		}
	})
}

// TestOrderDoesNotMatter: the order of what there is changes nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		want := appset.Compare(in)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in.Owned = slices.Clone(in.Owned)
		r.Shuffle(len(in.Owned), func(i, j int) { in.Owned[i], in.Owned[j] = in.Owned[j], in.Owned[i] })
		if d := cmp.Diff(want, appset.Compare(in)); d != "" {
			t.Errorf("another order gave something else (-first +second):\n%s", d)
		}
	})
}

// TestNothingForeignIsTouched: what others have, and what has a problem, is neither written nor removed.
func TestNothingForeignIsTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Others = map[string]string{"b": "the set other"}
		in.Owned = slices.DeleteFunc(in.Owned, func(a *v1alpha1.Application) bool { return a.Name == "b" })
		c := appset.Compare(in)
		bad := map[string]bool{"b": true}
		for _, p := range c.Problems {
			bad[p.Name] = true
		}
		for _, app := range c.Create {
			if bad[app.Name] {
				t.Errorf("%s is created", app.Name)
			}
		}
		for _, u := range c.Update {
			if bad[u.Was.Name] {
				t.Errorf("%s is updated", u.Was.Name)
			}
		}
		for _, r := range c.Delete {
			if bad[r.App.Name] {
				t.Errorf("%s is deleted", r.App.Name)
			}
		}
	})
}
