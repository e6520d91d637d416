package engine

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// pile is a shelf in memory.
type pile map[string][]byte

func (p pile) Load(key string) ([]byte, bool) { data, ok := p[key]; return data, ok }

func (p pile) Keep(key string, data []byte) { p[key] = data }

// atRest is an application at c1, which has read all.yaml and missed extra.yaml.
func atRest(t *testing.T) (*world, *Engine) {
	t.Helper()
	w := newWorld(shop())
	w.shelf = pile{}
	w.commits["c1"], w.head = twoWaves, "c1"
	e := w.idle(t, w.engine(), -1)
	if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced || w.renders != 1 {
		t.Fatalf("%s after %d renders", w.app.Status.Sync.Status, w.renders)
	}
	w.count()
	return w, e
}

// push makes a commit of the same manifests with other files beside them.
func (w *world) push(commit, manifests string, beside map[string]string) {
	if w.beside == nil {
		w.beside = map[string]map[string]string{}
	}
	w.commits[commit], w.beside[commit], w.head = manifests, maps.Clone(beside), commit
}

func (w *world) touched(t *testing.T, e *Engine, from, to string) []string {
	t.Helper()
	origin := manifest.OriginOf(w.app, *w.app.Spec.Source)
	return e.Touched(t.Context(), origin, from, to, []string{"shop"})
}

// TestACommitElsewhereCostsNothing: no wake, no render, no write; and the
// revision in the status stays, since it is the same to the application.
func TestACommitElsewhereCostsNothing(t *testing.T) {
	w, e := atRest(t)
	w.push("c2", twoWaves, map[string]string{"README.md": "hello"})
	if woken := w.touched(t, e, "c1", "c2"); len(woken) != 0 {
		t.Errorf("woken are %v", woken)
	}
	for name, process := range map[string]*Engine{"the same process": e, "the next one": w.engine()} {
		w.idle(t, process, -1)
		if w.renders != 0 || w.writes() != 0 || w.app.Status.Sync.Revision != "c1" {
			t.Errorf("%s: %d renders, %d writes, revision %s", name, w.renders, w.writes(), w.app.Status.Sync.Revision)
		}
	}
	// Who asks is told of the commit that was looked at.
	w.app.Annotations = map[string]string{v1alpha1.AnnotationRefresh: "normal"}
	w.bump()
	w.idle(t, e, -1)
	if w.renders != 0 || w.app.Status.Sync.Revision != "c2" || w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Errorf("%d renders, revision %s", w.renders, w.app.Status.Sync.Revision)
	}
}

// TestWhatWasReadIsNoticed: a changed file, and one that was looked for.
func TestWhatWasReadIsNoticed(t *testing.T) {
	for name, push := range map[string]func(*world){
		"a changed file":            func(w *world) { w.push("c2", earlier, nil) },
		"a file that was not there": func(w *world) { w.push("c2", twoWaves, map[string]string{"extra.yaml": "x"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w, e := atRest(t)
			push(w)
			if d := cmp.Diff([]string{"shop"}, w.touched(t, e, "c1", "c2")); d != "" {
				t.Errorf("woken (-want +got):\n%s", d)
			}
			w.idle(t, e, -1)
			if w.renders != 1 || w.app.Status.Sync.Revision != "c2" {
				t.Errorf("%d renders, revision %s", w.renders, w.app.Status.Sync.Revision)
			}
		})
	}
}

// TestTouchedKnowsWhereEverybodyStands: an application that read another commit
// than the one that the branch came from is woken whatever the difference is.
func TestTouchedKnowsWhereEverybodyStands(t *testing.T) {
	w, e := atRest(t)
	w.push("c0", earlier, nil)
	w.push("c2", twoWaves, nil)
	if woken := w.touched(t, e, "c0", "c2"); len(woken) != 1 {
		t.Errorf("from another commit: woken are %v", woken)
	}
	if woken := w.touched(t, w.engine(), "c1", "c2"); len(woken) != 1 {
		t.Errorf("nothing known: woken are %v", woken)
	}
	if woken := w.touched(t, e, "", "c1"); len(woken) != 0 {
		t.Errorf("already there: woken are %v", woken)
	}
	w.push("c3", twoWaves, map[string]string{"README.md": "hello"})
	if woken := append(w.touched(t, e, "c1", "c2"), w.touched(t, e, "c2", "c3")...); len(woken) != 0 {
		t.Errorf("step by step: woken are %v", woken)
	}
}

// TestTheRevisionItselfCounts: where it is a part of the answer every commit is
// another answer.
func TestTheRevisionItselfCounts(t *testing.T) {
	w, e := atRest(t)
	w.usesRevision = true
	w.push("c2", earlier, nil)
	w.idle(t, e, -1)
	w.count()
	w.push("c3", earlier, map[string]string{"README.md": "hello"})
	if woken := w.touched(t, e, "c2", "c3"); len(woken) != 1 {
		t.Errorf("woken are %v", woken)
	}
	w.idle(t, e, -1)
	if w.renders != 1 || w.app.Status.Sync.Revision != "c3" {
		t.Errorf("%d renders, revision %s", w.renders, w.app.Status.Sync.Revision)
	}
}

// TestTheAPIsOfTheClusterCount: where they may be a part of the answer, and
// nowhere else.
func TestTheAPIsOfTheClusterCount(t *testing.T) {
	for _, uses := range []bool{false, true} {
		w := newWorld(shop())
		w.shelf, w.usesAPIs, w.kube = pile{}, uses, &manifest.Kube{Version: "1.36", Digest: "before"}
		w.commits["c1"], w.head = earlier, "c1"
		e := w.idle(t, w.engine(), -1)
		w.count()
		w.kube = &manifest.Kube{Version: "1.36", Digest: "after"}
		for i, want := range []int{map[bool]int{true: 1}[uses], 0} {
			e.quiet = newQuiet()
			if w.idle(t, e, -1); w.renders != want {
				t.Errorf("uses the APIs %v, process %d: %d renders, want %d", uses, i+1, w.renders, want)
			}
			w.count()
			e = w.engine()
		}
	}
}

// TestARestartRendersNothing: what was rendered is on the shelf.
func TestARestartRendersNothing(t *testing.T) {
	w, _ := atRest(t)
	w.idle(t, w.engine(), -1)
	if w.renders != 0 || w.writes() != 0 {
		t.Errorf("%d renders, %d writes", w.renders, w.writes())
	}
	// A hard refresh does not believe it.
	w.app.Annotations = map[string]string{v1alpha1.AnnotationRefresh: "hard"}
	w.bump()
	w.idle(t, w.engine(), -1)
	if w.renders != 1 {
		t.Errorf("a hard refresh made %d renders", w.renders)
	}
}

// TestWhatAPluginMadeGoesStale: it may have looked at more than content, so it
// is asked again by itself, and neither memory nor the shelf is believed then.
func TestWhatAPluginMadeGoesStale(t *testing.T) {
	w := newWorld(shop())
	w.shelf, w.byPlugin = pile{}, true
	w.commits["c1"], w.head = twoWaves, "c1"
	e := w.engine()
	for range 50 {
		if _, err := e.Reconcile(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		w.ready()
	}
	start := e.Now()
	look := func(e *Engine, after time.Duration, renders int) Result {
		t.Helper()
		w.count()
		e.Now = func() time.Time { return start.Add(after) }
		result, err := e.Reconcile(t.Context(), "shop")
		if err != nil || w.renders != renders {
			t.Errorf("after %s: %d renders, want %d, %v", after, w.renders, renders, err)
		}
		return result
	}
	if got := look(e, time.Hour, 0); got.After != 23*time.Hour {
		t.Errorf("it wants to be looked at after %s", got.After)
	}
	look(w.engine(), time.Hour, 0)
	if got := look(e, 25*time.Hour, 1); got.After != 24*time.Hour {
		t.Errorf("it wants to be looked at after %s", got.After)
	}
	look(w.engine(), 26*time.Hour, 0)
	look(w.engine(), 50*time.Hour, 1)
}

// TestTheQuestionIsAPartOfTheAnswer: another parameter, another cluster version
// and other ways to build are other questions.
func TestTheQuestionIsAPartOfTheAnswer(t *testing.T) {
	ask := func(change func(*manifest.Request)) string {
		req := manifest.Request{
			Source: v1alpha1.ApplicationSource{RepoURL: "r", Path: "p"}, App: manifest.App{Name: "a", Namespace: "n", Revision: "c1"},
			Kube: manifest.Kube{Version: "1.36", APIs: []string{"v1"}, Digest: "d"},
		}
		change(&req)
		text, err := question(req)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	same := ask(func(*manifest.Request) {})
	for name, change := range map[string]func(*manifest.Request){
		"helm":     func(r *manifest.Request) { r.Source.Helm = &v1alpha1.ApplicationSourceHelm{ReleaseName: "x"} },
		"path":     func(r *manifest.Request) { r.Source.Path = "q" },
		"name":     func(r *manifest.Request) { r.App.Name = "b" },
		"version":  func(r *manifest.Request) { r.Kube.Version = "1.37" },
		"options":  func(r *manifest.Request) { r.Build.KustomizeOptions = "--enable-helm" },
		"to where": func(r *manifest.Request) { r.App.Namespace = "m" },
	} {
		if ask(change) == same {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, change := range map[string]func(*manifest.Request){
		"revision": func(r *manifest.Request) { r.App.Revision = "c2" },
		"APIs":     func(r *manifest.Request) { r.Kube.APIs, r.Kube.Digest = nil, "" },
	} {
		if ask(change) != same {
			t.Errorf("%s makes a difference to every answer", name)
		}
	}
}
