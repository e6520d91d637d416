package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/plan"
)

// drawObjects makes a set of small objects with waves, options and data.
func drawObjects(t *rapid.T, label string) []*unstructured.Unstructured {
	kinds := []struct{ version, kind string }{
		{"v1", "ConfigMap"},
		{"v1", "Secret"},
		{"v1", "Service"},
		{"apps/v1", "Deployment"},
		{"rbac.authorization.k8s.io/v1", "ClusterRole"},
		{"example.com/v1", "Unheard"},
	}
	n := rapid.IntRange(0, 12).Draw(t, label+" count")
	out := make([]*unstructured.Unstructured, 0, n)
	for i := range n {
		k := rapid.SampledFrom(kinds).Draw(t, fmt.Sprint(label, " kind ", i))
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": k.version, "kind": k.kind,
			"metadata": map[string]any{"name": rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, fmt.Sprint(label, " name ", i))},
			"data":     map[string]any{"v": rapid.SampledFrom([]string{"1", "2"}).Draw(t, fmt.Sprint(label, " value ", i))},
		}}
		annotations := map[string]string{}
		if w := rapid.IntRange(-2, 2).Draw(t, fmt.Sprint(label, " wave ", i)); w != 0 {
			annotations[v1alpha1.AnnotationSyncWave] = fmt.Sprint(w)
		}
		if rapid.IntRange(0, 9).Draw(t, fmt.Sprint(label, " keep ", i)) == 0 {
			annotations[v1alpha1.AnnotationSyncOptions] = "Prune=false"
		}
		u.SetAnnotations(annotations)
		out = append(out, u)
	}
	return out
}

// drawWorld is what an earlier revision left behind.
func drawWorld(t *rapid.T) world {
	w := world{}
	for o := range plan.Desire(plan.Mark{App: "shop", Destination: "shop"}, drawObjects(t, "live"), scopes).Objects.All() {
		w[o.Key] = o.Body.DeepCopy()
	}
	return w
}

// sync runs a sync to its end and returns the last step and the number of
// steps. Everything is healthy at once.
func sync(w world, p plan.Plan, prune bool) (plan.Step, int) {
	progress := plan.Progress{Prune: prune, Looked: true, Done: map[plan.Task]plan.Outcome{}}
	for n := 1; ; n++ {
		for i := range p.Items {
			if p.Items[i].Live != nil {
				f := *p.Items[i].Live
				f.Health = health.Health{}
				p.Items[i].Live = &f
			}
		}
		s := plan.Next(p, progress)
		if ends(s) || n > 1000 {
			return s, n
		}
		w.execute(s, p, progress)
	}
}

func ends(s plan.Step) bool { return s.Do == plan.DoDone || s.Do == plan.DoFail || s.Do == plan.DoWait }

func TestAppliedPlanIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, git := drawWorld(t), drawObjects(t, "git")
		if s, _ := sync(w, w.plan(git), true); s.Do != plan.DoDone {
			t.Fatalf("the sync ended with %s: %s", s.Do, s.Message)
		}
		for _, it := range w.plan(git).Items {
			kept := it.Action == plan.Skip && it.Prunable
			if it.Action != plan.Unchanged && !kept {
				t.Errorf("after the sync %s is still to %s", it.Key, it.Action)
			}
		}
	})
}

func TestShuffledInputChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		set := plan.Desire(plan.Mark{App: "shop", Destination: "shop"}, drawObjects(t, "git"), scopes).Objects
		var git []*unstructured.Unstructured
		for o := range set.All() {
			git = append(git, o.Body)
		}
		in := w.input(git)
		want := plan.Compute(in, w.answers(in))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(git), func(i, j int) { git[i], git[j] = git[j], git[i] })
		again := w.input(git)
		r.Shuffle(len(again.Live), func(i, j int) { again.Live[i], again.Live[j] = again.Live[j], again.Live[i] })
		if d := cmp.Diff(want, plan.Compute(again, w.answers(again))); d != "" {
			t.Errorf("another order gave another plan (-first +second):\n%s", d)
		}
	})
}

func TestNextEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, git := drawWorld(t), drawObjects(t, "git")
		p := w.plan(git)
		s, n := sync(w, p, rapid.Bool().Draw(t, "prune"))
		if !ends(s) {
			t.Fatalf("the sync has not ended after %d steps", n)
		}
		// Each item is in one step, and the end is one more.
		if n > len(p.Items)+1 {
			t.Errorf("%d steps for %d items", n, len(p.Items))
		}
	})
}

func TestWavesNeverDecrease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, git := drawWorld(t), drawObjects(t, "git")
		p := w.plan(git)
		for i := 1; i < len(p.Items); i++ {
			if p.Items[i].Wave < p.Items[i-1].Wave {
				t.Errorf("%s of wave %d comes after wave %d", p.Items[i].Key, p.Items[i].Wave, p.Items[i-1].Wave)
			}
		}
	})
}

// TestNothingUnmarkedIsPruned is promise three in small: whatever Git says, an
// object that does not carry our mark is not deleted.
func TestNothingUnmarkedIsPruned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		foreign := world{}
		owner := plan.Mark{App: rapid.SampledFrom([]string{"cart", ""}).Draw(t, "owner"), Destination: "theirs"}
		for o := range plan.Desire(owner, drawObjects(t, "theirs"), scopes).Objects.All() {
			if _, ours := w[o.Key]; !ours {
				foreign[o.Key], w[o.Key] = o.Body, o.Body
			}
		}
		sync(w, w.plan(nil), true)
		for k := range foreign {
			if _, ok := w[k]; !ok {
				t.Errorf("%s was pruned and is not ours", k)
			}
		}
	})
}
