package engine

import (
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// log is what one engine leaves to the next, in memory.
type log struct {
	pairs map[string]map[object.Key]diff.Pair
	marks map[string]object.Seen
}

func newLog() *log {
	return &log{pairs: map[string]map[object.Key]diff.Pair{}, marks: map[string]object.Seen{}}
}

func (l *log) Load(app, scope string) []diff.Pair {
	var out []diff.Pair
	for _, p := range l.pairs[app+scope] {
		out = append(out, p)
	}
	return out
}

func (l *log) Keep(app, scope string, pairs []diff.Pair) error {
	if l.pairs[app+scope] == nil {
		l.pairs[app+scope] = map[object.Key]diff.Pair{}
	}
	for _, p := range pairs {
		l.pairs[app+scope][p.Key] = p
	}
	return nil
}

func (l *log) Drop(app string) { delete(l.marks, app) }

func (l *log) Mark(app string) (object.Seen, bool) {
	mark, ok := l.marks[app]
	return mark, ok && !mark.IsZero()
}

func (l *log) SetMark(app string, mark object.Seen) error {
	l.marks[app] = mark
	return nil
}

// watched is a shelf that tells when somebody looks at it, which a look at an
// application does in a process that has just begun.
type watched struct {
	pile
	loads int
}

func (s *watched) Load(key string) ([]byte, bool) {
	s.loads++
	return s.pile.Load(key)
}

// rested is a world at rest with a shelf that is watched.
func rested(t *testing.T) (*world, *watched) {
	t.Helper()
	w, _ := atRest(t)
	pieces, _ := w.shelf.(pile)
	shelf := &watched{pile: pieces}
	w.shelf = shelf
	return w, shelf
}

// TestARestartLooksAtNothingThatIsTheSame: neither at what was rendered nor at
// what the server said.
func TestARestartLooksAtNothingThatIsTheSame(t *testing.T) {
	w, shelf := rested(t)
	for range 2 {
		w.idle(t, w.engine(), -1)
		if shelf.loads != 0 || w.renders != 0 || w.writes() != 0 || w.dryRuns != 0 {
			t.Errorf("%d loads, %d renders, %d writes, %d dry-runs", shelf.loads, w.renders, w.writes(), w.dryRuns)
		}
	}
	if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Errorf("it is %s", w.app.Status.Sync.Status)
	}
}

// TestARestartLooksAtWhatIsNotTheSame: whatever a look depends on and has
// changed while nobody was there.
func TestARestartLooksAtWhatIsNotTheSame(t *testing.T) {
	for name, meanwhile := range map[string]func(*world){
		"an object was changed": func(w *world) {
			u := w.live[configMap("stays")]
			u.Object["data"] = map[string]any{"a": "drifted"}
			w.version++
			u.SetResourceVersion(strconv.Itoa(w.version))
		},
		"an object is judged otherwise": func(w *world) {
			u := w.live[object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}]
			u.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1)}
		},
		"an object is gone":                 func(w *world) { delete(w.live, configMap("stays")) },
		"a commit was pushed":               func(w *world) { w.push("c2", earlier, nil) },
		"the application was told":          func(w *world) { w.app.Spec.Source.Path = "elsewhere"; w.bump() },
		"the project was changed":           func(w *world) { w.project.ResourceVersion = "2" },
		"the settings are others":           func(w *world) { w.settings = "not as they were" },
		"the cluster serves something else": func(w *world) { w.kube = &manifest.Kube{Version: "1.37", Digest: "other"} },
		"the log was lost":                  func(w *world) { w.pairs = newLog() },
		"somebody asks": func(w *world) {
			w.app.Annotations = map[string]string{v1alpha1.AnnotationRefresh: "normal"}
			w.bump()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, shelf := rested(t)
			meanwhile(w)
			w.idle(t, w.engine(), -1)
			if shelf.loads+w.renders == 0 {
				t.Error("nobody looked")
			}
			if level := w.live[configMap("stays")].Object["data"]; !cmp.Equal(level, map[string]any{"a": "1"}) {
				t.Errorf("it was not healed: %v", level)
			}
		})
	}
}

// TestWhatTakesMoreThanAMarkIsLookedAt: where something else must be known to
// follow what happens next, the next process looks for itself.
func TestWhatTakesMoreThanAMarkIsLookedAt(t *testing.T) {
	for name, with := range map[string]func(*world){
		"nobody can name the settings":      func(w *world) { w.settings = "" },
		"its commits have to be signed":     func(w *world) { signed(w.project) },
		"its project asks for what is else": func(w *world) { w.project.Spec.OrphanedResources = &v1alpha1.OrphanedResourcesMonitorSettings{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(shop())
			w.shelf = pile{}
			with(w)
			w.commits["c1"], w.head = earlier, "c1"
			e := w.engine()
			e.Verifier = trusting{}
			w.idle(t, e, -1)
			if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
				t.Fatalf("it is %s", w.app.Status.Sync.Status)
			}
			if mark, ok := w.pairs.Mark("shop"); ok {
				t.Errorf("%v is left to the next process", mark)
			}
		})
	}
}

func signed(p *v1alpha1.AppProject) {
	p.Spec.SignatureKeys = []v1alpha1.SignatureKey{{KeyID: "4AEE18F83AFDEB23"}}
}

// trusting finds every signature good.
type trusting struct{}

func (trusting) Verify(context.Context, manifest.Origin, string, policy.Demand) (string, error) {
	return "", nil
}

// TestSimple: the same of one look, part by part.
func TestSimple(t *testing.T) {
	elsewhere := []object.Key{configMap("elsewhere")}
	for name, c := range map[string]struct {
		with func(*Engine, *observation)
		want bool
	}{
		"as it is":                {func(*Engine, *observation) {}, true},
		"not in sync":             {func(_ *Engine, o *observation) { o.app.Status.Sync.Status = v1alpha1.SyncStatusCodeOutOfSync }, false},
		"wants another's object":  {func(e *Engine, _ *observation) { e.wants.set("shop", "", elsewhere) }, false},
		"doubts an object":        {func(e *Engine, _ *observation) { e.doubts.set("shop", "", elsewhere) }, false},
		"watches a namespace":     {func(e *Engine, _ *observation) { e.places.set("shop", corner{"", "shop"}) }, false},
		"waits for a kind":        {func(e *Engine, o *observation) { e.await(o, true) }, false},
		"fetched something more":  {func(_ *Engine, o *observation) { o.rendered[0].Needs = []needed{{}} }, false},
		"a plugin made it":        {func(e *Engine, o *observation) { o.rendered[0].Made = e.Now() }, false},
		"what it read is unknown": {func(_ *Engine, o *observation) { o.rendered[0].Result.Reads = nil }, false},
		"it was not rendered":     {func(_ *Engine, o *observation) { o.rendered[0] = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, e := atRest(t)
			o := e.observe(t.Context(), w.app, look{})
			c.with(e, o)
			if got := e.simple(o); got != c.want {
				t.Errorf("simple is %v", got)
			}
		})
	}
}

// TestAProcessThatDidNotLookKnowsWhomAPushConcerns: what was rendered says what
// was read, once that matters.
func TestAProcessThatDidNotLookKnowsWhomAPushConcerns(t *testing.T) {
	w, shelf := rested(t)
	e := w.idle(t, w.engine(), -1)
	// The first look at the repository is no move of it.
	if woken := w.touched(t, e, "", "c1"); len(woken) != 1 || shelf.loads != 0 {
		t.Errorf("a first look: woken are %v, %d loads", woken, shelf.loads)
	}
	w.push("c2", twoWaves, map[string]string{"README.md": "hello"})
	if woken := w.touched(t, e, "c1", "c2"); len(woken) != 0 || shelf.loads != 1 {
		t.Errorf("a commit elsewhere: woken are %v, %d loads", woken, shelf.loads)
	}
	// It is asked for once, however often the repository moves.
	w.push("c2b", twoWaves, map[string]string{"README.md": "again"})
	if woken := w.touched(t, e, "c2", "c2b"); len(woken) != 0 || shelf.loads != 1 {
		t.Errorf("another commit elsewhere: woken are %v, %d loads", woken, shelf.loads)
	}
	w.push("c3", earlier, nil)
	if woken := w.touched(t, e, "c2b", "c3"); len(woken) != 1 {
		t.Errorf("a commit of its own: woken are %v", woken)
	}
	w.idle(t, e, -1)
	if w.renders != 1 || w.app.Status.Sync.Revision != "c3" {
		t.Errorf("%d renders, revision %s", w.renders, w.app.Status.Sync.Revision)
	}
	// What another process rendered of another commit says nothing.
	other := w.idle(t, w.engine(), -1)
	if woken := w.touched(t, other, "c2", "c3"); len(woken) != 1 {
		t.Errorf("from another commit: woken are %v", woken)
	}
}

// planned says that an engine has made a plan of its own for the application.
func planned(e *Engine) bool {
	_, ok := e.verdicts["shop"]
	return ok
}

// TestARestartAfterACommitElsewhere: what was read is the same, and the next
// process need not look; after a commit of its own, or one that cannot be
// compared, it has to.
func TestARestartAfterACommitElsewhere(t *testing.T) {
	w, _ := rested(t)
	w.push("c2", twoWaves, map[string]string{"README.md": "hello"})
	for range 2 {
		e := w.idle(t, w.engine(), -1)
		if known := !planned(e); !known || w.writes() != 0 || w.app.Status.Sync.Revision != "c1" {
			t.Errorf("adopted is %v, %d writes, revision %s", known, w.writes(), w.app.Status.Sync.Revision)
		}
		w.push("c3", twoWaves, map[string]string{"README.md": "again"})
		if woken := w.touched(t, e, "c2", "c3"); len(woken) != 0 {
			t.Errorf("woken are %v", woken)
		}
		w.head = "c2"
	}
	w.push("c3", earlier, nil)
	e := w.idle(t, w.engine(), -1)
	if known := !planned(e); known || w.renders != 1 || w.app.Status.Sync.Revision != "c3" {
		t.Errorf("adopted is %v, %d renders, revision %s", known, w.renders, w.app.Status.Sync.Revision)
	}
	w.push("c4", earlier, map[string]string{"README.md": "hello"})
	w.fails["changes"] = errDead
	e = w.idle(t, w.engine(), -1)
	if known := !planned(e); known {
		t.Error("it was adopted though nobody could compare")
	}
}

// TestARestartAfterAnInstallation: what else the cluster serves since matters to
// those whose renders ask for it.
func TestARestartAfterAnInstallation(t *testing.T) {
	for _, uses := range []bool{false, true} {
		w := newWorld(shop())
		w.shelf, w.usesAPIs, w.kube = pile{}, uses, &manifest.Kube{Version: "1.36", Digest: "before"}
		w.commits["c1"], w.head = earlier, "c1"
		w.idle(t, w.engine(), -1)
		w.kube = &manifest.Kube{Version: "1.36", Digest: "after"}
		e := w.idle(t, w.engine(), -1)
		if adopted := !planned(e); adopted == uses {
			t.Errorf("its renders use the APIs: %v, and it was adopted: %v", uses, adopted)
		}
	}
}

// TestAnAuditTakesALookBack: where it finds that the gate was wrong neither this
// process nor the next one rests on that look.
func TestAnAuditTakesALookBack(t *testing.T) {
	w, _ := rested(t)
	k := configMap("stays")
	w.live[k].Object["data"] = map[string]any{"a": "drifted"}
	w.version++
	w.live[k].SetResourceVersion(strconv.Itoa(w.version))
	// As if the server had once said that this is what the manifest makes.
	wrong := w.pairs.pairs["shop"][k]
	wrong.Live = object.FactOf(w.live[k], v1alpha1.FieldManagerApply).Digest
	w.pairs.pairs["shop"][k] = wrong
	e := w.idle(t, w.engine(), -1)
	if _, ok := w.pairs.Mark("shop"); !ok || w.writes() != 0 {
		t.Fatalf("the gate let nothing through: %v, %d writes", ok, w.writes())
	}
	for range len(w.live) {
		if right, err := e.Audit(t.Context(), "shop"); err != nil || !right {
			break
		}
	}
	if mark, ok := w.pairs.Mark("shop"); ok {
		t.Errorf("%v is still left to the next process", mark)
	}
	w.idle(t, e, -1)
	if w.applied[k] != 1 {
		t.Errorf("it was applied %d times after the audit", w.applied[k])
	}
}
