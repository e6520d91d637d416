package cluster

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

var configMaps = schema.GroupKind{Kind: "ConfigMap"}

// told is an index that keeps what it tells, with a watch for each of two kinds.
type told struct {
	*index
	feeds   map[schema.GroupKind]*feed
	changes []Change
}

func newTold() *told {
	t := &told{feeds: map[schema.GroupKind]*feed{}}
	t.index = newIndex(func(c Change) { t.changes = append(t.changes, c) })
	for _, gk := range []schema.GroupKind{configMaps, {Kind: "Secret"}} {
		t.feeds[gk] = t.open(gk)
	}
	return t
}

func (t *told) watched(f object.Fact)        { t.index.watched(t.feeds[f.Key.GroupKind()], &f) }
func (t *told) gone(k object.Key, rv string) { t.index.gone(t.feeds[k.GroupKind()], k, rv) }

func (t *told) bookmark(gk schema.GroupKind, rv string) { t.index.bookmark(t.feeds[gk], rv) }

func (t *told) replace(gk schema.GroupKind, facts []object.Fact, rv string) {
	pointers := make([]*object.Fact, len(facts))
	for i := range facts {
		pointers[i] = &facts[i]
	}
	t.index.replace(t.feeds[gk], pointers, rv)
}

// news returns what was told since the last call: "+a" came, "-a" went, "~a" changed.
func (t *told) news() []string {
	var out []string
	for _, c := range t.changes {
		switch {
		case c.Old == nil:
			out = append(out, "+"+c.New.Key.Name)
		case c.New == nil:
			out = append(out, "-"+c.Old.Key.Name)
		default:
			out = append(out, "~"+c.New.Key.Name)
		}
	}
	t.changes = nil
	slices.Sort(out)
	return out
}

func (t *told) names(app string) []string {
	var out []string
	for _, f := range t.managed(app) {
		out = append(out, f.Key.Name+"@"+f.ResourceVersion)
	}
	return out
}

// fact is a reading of the first object of that name, marked by app.
func fact(name, rv, app string) object.Fact {
	return object.Fact{
		Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}, UID: "first", ResourceVersion: rv, App: app,
		Digest: object.Digest{1},
	}
}

// second is the same name taken by another object.
func second(f object.Fact) object.Fact {
	f.UID = "second"
	return f
}

func (t *told) check(tb testing.TB, app string, want []string, news ...string) {
	tb.Helper()
	if d := cmp.Diff(want, t.names(app)); d != "" {
		tb.Errorf("the objects of %q differ (-want +got):\n%s", app, d)
	}
	if d := cmp.Diff(news, t.news()); d != "" {
		tb.Errorf("the news differ (-want +got):\n%s", d)
	}
}

func TestIndexWatches(t *testing.T) {
	ix := newTold()
	ix.watched(fact("b", "1", "shop"))
	ix.watched(fact("a", "2", "shop"))
	ix.watched(fact("x", "3", "cart"))
	ix.watched(fact("free", "4", ""))
	ix.check(t, "shop", []string{"a@2", "b@1"}, "+a", "+b", "+free", "+x")
	ix.check(t, "", nil)
	if f, ok := ix.get(fact("free", "", "").Key); !ok || f.ResourceVersion != "4" {
		t.Errorf("an unmarked object is %+v, %v", f, ok)
	}
	ix.gone(fact("a", "", "").Key, "5")
	ix.check(t, "shop", []string{"b@1"}, "-a")
	ix.gone(fact("a", "", "").Key, "6")
	ix.check(t, "shop", []string{"b@1"})
	if _, ok := ix.get(object.Key{Kind: "Secret", Name: "a"}); ok {
		t.Error("a kind that nobody watches has an object")
	}
}

func TestIndexTellsOnlyWhatMatters(t *testing.T) {
	cases := map[string]struct {
		change func(*object.Fact)
		tells  bool
	}{
		"resourceVersion only": {change: func(*object.Fact) {}},
		"keep":                 {change: func(f *object.Fact) { f.Keep = true }},
		// Others write these, so the digest of what we own does not cover them.
		"owner":           {change: func(f *object.Fact) { f.Owned = true }, tells: true},
		"extra":           {change: func(f *object.Fact) { f.Extra = true }, tells: true},
		"quiet":           {change: func(f *object.Fact) { f.Quiet = true }, tells: true},
		"options":         {change: func(f *object.Fact) { f.Options = "Prune=false" }, tells: true},
		"images":          {change: func(f *object.Fact) { f.Images = []string{"web:2"} }, tells: true},
		"the gate closes": {change: func(f *object.Fact) { f.Digest = object.Digest{} }, tells: true},
		"digest":          {change: func(f *object.Fact) { f.Digest = object.Digest{2} }, tells: true},
		"uid":             {change: func(f *object.Fact) { f.UID = "second" }, tells: true},
		"mark":            {change: func(f *object.Fact) { f.App = "cart" }, tells: true},
		"mark gone":       {change: func(f *object.Fact) { f.App = "" }, tells: true},
		"on its way out":  {change: func(f *object.Fact) { f.Deleting = true }, tells: true},
		"health":          {change: func(f *object.Fact) { f.Health.Status = health.Degraded }, tells: true},
		"health message":  {change: func(f *object.Fact) { f.Health.Message = "x" }, tells: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ix := newTold()
			ix.watched(fact("a", "1", "shop"))
			ix.news()
			next := fact("a", "2", "shop")
			c.change(&next)
			ix.watched(next)
			if got := len(ix.news()) == 1; got != c.tells {
				t.Errorf("told: %v, want %v", got, c.tells)
			}
			if f, ok := ix.get(next.Key); !ok || f.ResourceVersion != "2" {
				t.Errorf("the reading was not kept: %+v", f)
			}
		})
	}
}

// TestIndexTellsEveryVersionWhileTheGateIsOff: where there is no digest of what
// we own, any new version may be a drift.
func TestIndexTellsEveryVersionWhileTheGateIsOff(t *testing.T) {
	ix := newTold()
	f := fact("a", "1", "shop")
	f.Digest = object.Digest{}
	ix.watched(f)
	f.ResourceVersion = "2"
	ix.watched(f)
	ix.check(t, "shop", []string{"a@2"}, "+a", "~a")
	// The same version again, as a relist has it, is no news.
	ix.watched(f)
	ix.check(t, "shop", []string{"a@2"})
}

func TestIndexFollowsTheMark(t *testing.T) {
	ix := newTold()
	ix.watched(fact("a", "1", "shop"))
	ix.watched(fact("a", "2", "cart"))
	ix.check(t, "shop", nil, "+a", "~a")
	ix.check(t, "cart", []string{"a@2"})
	ix.watched(fact("a", "3", ""))
	ix.check(t, "cart", nil, "~a")
	if len(ix.byApp) != 0 {
		t.Errorf("applications without objects are kept: %v", ix.byApp)
	}
}

func TestIndexIgnoresOlderReadings(t *testing.T) {
	ix := newTold()
	ix.watched(fact("a", "10", "shop"))
	old := fact("a", "9", "cart")
	old.Digest = object.Digest{9}
	ix.watched(old)
	ix.check(t, "shop", []string{"a@10"}, "+a")
	// Versions are numbers and not text.
	ix.watched(fact("a", "100", "shop"))
	ix.check(t, "shop", []string{"a@100"})
	// Where they are no numbers the order of arrival is all there is.
	ix.watched(fact("a", "odd", "shop"))
	ix.check(t, "shop", []string{"a@odd"})
}

func TestIndexReplace(t *testing.T) {
	ix := newTold()
	for _, f := range []object.Fact{fact("stays", "1", "shop"), fact("goes", "2", "shop"), fact("moves", "3", "shop")} {
		ix.watched(f)
	}
	ix.written(fact("newer", "20", "shop"))
	secret := fact("secret", "4", "shop")
	secret.Key.Kind = "Secret"
	ix.watched(secret)
	ix.news()
	ix.replace(configMaps, []object.Fact{fact("stays", "1", "shop"), fact("moves", "9", "cart"), fact("comes", "8", "shop"), fact("newer", "7", "cart")}, "10")
	ix.check(t, "shop", []string{"comes@8", "newer@20", "stays@1", "secret@4"}, "+comes", "-goes", "~moves")
	ix.check(t, "cart", []string{"moves@9"})
	ix.forget(configMaps)
	ix.check(t, "shop", []string{"secret@4"}, "-comes", "-moves", "-newer", "-stays")
	if _, ok := ix.get(fact("stays", "", "").Key); ok {
		t.Error("a forgotten kind has an object")
	}
}

func TestIndexWritten(t *testing.T) {
	cases := map[string]struct {
		before func(*told)
		write  object.Fact
		want   []string
	}{
		"is seen at once": {func(*told) {}, fact("a", "5", "shop"), []string{"a@5"}},
		"is newer than the watch": {
			func(ix *told) { ix.watched(fact("a", "4", "shop")) }, fact("a", "5", "shop"), []string{"a@5"},
		},
		"comes after the watch saw it": {
			func(ix *told) { ix.watched(fact("a", "5", "shop")) }, fact("a", "5", "shop"), []string{"a@5"},
		},
		"comes after the watch saw a later change": {
			func(ix *told) { ix.watched(fact("a", "6", "shop")) }, fact("a", "5", "shop"), []string{"a@6"},
		},
		"comes after the object was deleted again": {
			func(ix *told) { ix.watched(fact("a", "5", "shop")); ix.gone(fact("a", "", "").Key, "6") }, fact("a", "5", "shop"), nil,
		},
		"comes after a deletion whose beginning nobody saw": {
			func(ix *told) { ix.gone(fact("a", "", "").Key, "6") }, fact("a", "5", "shop"), nil,
		},
		"comes after a list that has it no more": {
			func(ix *told) { ix.replace(configMaps, nil, "6") }, fact("a", "5", "shop"), nil,
		},
		"comes after a bookmark": {
			func(ix *told) { ix.bookmark(configMaps, "6") }, fact("a", "5", "shop"), nil,
		},
		"a bookmark of another kind says nothing": {
			func(ix *told) { ix.bookmark(schema.GroupKind{Kind: "Secret"}, "6") }, fact("a", "5", "shop"), []string{"a@5"},
		},
		"an older bookmark says nothing": {
			func(ix *told) { ix.bookmark(configMaps, "6"); ix.bookmark(configMaps, "3") }, fact("a", "7", "shop"), []string{"a@7"},
		},
		"without a number it is left to the watch": {func(*told) {}, fact("a", "odd", "shop"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ix := newTold()
			c.before(ix)
			ix.news()
			ix.written(c.write)
			ix.check(t, "shop", c.want)
		})
	}
}

func TestIndexDeleted(t *testing.T) {
	cases := map[string]struct {
		before func(*told)
		want   []string
		news   []string
	}{
		"is seen at once, and told": {func(ix *told) { ix.watched(fact("a", "5", "shop")) }, nil, []string{"-a"}},
		"is left to a watch that has not come so far": {
			func(ix *told) { ix.watched(fact("b", "4", "")); ix.written(fact("a", "5", "shop")) }, []string{"a@5"}, nil,
		},
		"comes after the watch told": {
			func(ix *told) { ix.watched(fact("a", "5", "shop")); ix.gone(fact("a", "", "").Key, "6") }, nil, nil,
		},
		"comes after another took the name": {
			func(ix *told) { ix.watched(second(fact("a", "7", "shop"))) }, []string{"a@7"}, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ix := newTold()
			c.before(ix)
			ix.news()
			ix.deleted(fact("a", "5", "shop"))
			ix.check(t, "shop", c.want, c.news...)
			// The watch's own news of it is none any more.
			had := len(ix.names("shop"))
			ix.gone(fact("a", "", "").Key, "6")
			if had == 0 {
				ix.check(t, "shop", nil)
			}
		})
	}
}

func TestIndexEchoOfAWriteIsNoNews(t *testing.T) {
	ix := newTold()
	ix.written(fact("a", "5", "shop"))
	ix.watched(fact("a", "5", "shop"))
	ix.check(t, "shop", []string{"a@5"})
	// What was on its way before the write does not undo it.
	ix.watched(fact("a", "4", "cart"))
	ix.check(t, "shop", []string{"a@5"})
}

// The watch lags behind our writes. What it tells late, about the object that
// had the name before, must not take away what we know to be there.

func TestIndexLateDeletionDoesNotDropTheNextObject(t *testing.T) {
	ix := newTold()
	ix.watched(fact("a", "4", "shop"))
	ix.news()
	// Somebody deletes it (5), we make it anew (6), and only then the watch tells of the deletion.
	ix.written(second(fact("a", "6", "shop")))
	ix.gone(fact("a", "", "").Key, "5")
	if d := cmp.Diff([]string{"a@6"}, ix.names("shop")); d != "" {
		t.Errorf("the object that we made was dropped (-want +got):\n%s", d)
	}
}

func TestIndexLateReadingDoesNotReplaceTheNextObject(t *testing.T) {
	ix := newTold()
	ix.watched(fact("a", "3", "shop"))
	ix.written(second(fact("a", "6", "shop")))
	// A change of the first object, from before its deletion.
	ix.watched(fact("a", "4", "shop"))
	if d := cmp.Diff([]string{"a@6"}, ix.names("shop")); d != "" {
		t.Errorf("the object that we made was replaced by one that is gone (-want +got):\n%s", d)
	}
}

func TestIndexOlderListDoesNotDropAWrite(t *testing.T) {
	ix := newTold()
	ix.written(fact("a", "6", "shop"))
	// The list was read before the write, and arrives after it.
	ix.replace(configMaps, nil, "5")
	if d := cmp.Diff([]string{"a@6"}, ix.names("shop")); d != "" {
		t.Errorf("a list from before the write dropped it (-want +got):\n%s", d)
	}
}

// TestIndexForgetDuringAWrite: the answer to a write arrives while its kind is
// forgotten. Whatever is kept, looking at the application must not panic.
func TestIndexForgetDuringAWrite(t *testing.T) {
	ix := newTold()
	ix.notify = func(c Change) {
		if c.New == nil {
			ix.written(fact("b", "9", "shop"))
		}
	}
	ix.watched(fact("a", "1", "shop"))
	ix.forget(configMaps)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("listing the application's objects panics: %v", r)
		}
	}()
	for _, f := range ix.managed("shop") {
		if _, ok := ix.get(f.Key); !ok {
			t.Errorf("%s is listed and not known", f.Key)
		}
	}
}

// TestIndexFollowsTheServer plays a server whose watch lags: whatever the
// interleaving of writes and their answers, once the watch has told everything
// the index is what the server has.
func TestIndexFollowsTheServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ix, server, rv := newTold(), map[string]object.Fact{}, 0
		var stream []func()
		var answers []func()
		names := []string{"a", "b"}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1:
				rv++
				f := fact(name, strconv.Itoa(rv), rapid.SampledFrom([]string{"shop", "cart", ""}).Draw(t, "app"))
				f.UID = fmt.Sprint("made at ", rv)
				if old, ok := server[name]; ok {
					f.UID = old.UID
				}
				server[name] = f
				stream = append(stream, func() { ix.watched(f) })
				if rapid.Bool().Draw(t, "ours") {
					answers = append(answers, func() { ix.written(f) })
				}
			case 2:
				if old, ok := server[name]; ok {
					rv++
					at := strconv.Itoa(rv)
					delete(server, name)
					stream = append(stream, func() { ix.gone(old.Key, at) })
					if rapid.Bool().Draw(t, "ours") {
						answers = append(answers, func() { ix.deleted(old) })
					}
				}
			case 3:
				if len(stream) > 0 {
					stream[0]()
					stream = stream[1:]
				}
			case 4:
				if len(answers) > 0 {
					i := rapid.IntRange(0, len(answers)-1).Draw(t, "answer")
					answers[i]()
					answers = slices.Delete(answers, i, i+1)
				}
			}
		}
		for _, tell := range stream {
			tell()
		}
		for _, answer := range answers {
			answer()
		}
		for _, app := range []string{"shop", "cart"} {
			want := []object.Fact{}
			for _, name := range slices.Sorted(maps.Keys(server)) {
				if server[name].App == app {
					want = append(want, server[name])
				}
			}
			if d := cmp.Diff(want, ix.managed(app)); d != "" {
				t.Errorf("the objects of %s differ (-server +index):\n%s", app, d)
			}
		}
	})
}

func TestIndexIsSafeForConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	count := 0
	ix := newTold()
	ix.notify = func(Change) { mu.Lock(); count++; mu.Unlock() }
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 100 {
				f := fact(fmt.Sprint(i), strconv.Itoa(n+1), "shop")
				f.Digest = object.Digest{byte(n)}
				ix.watched(f)
				ix.written(fact(fmt.Sprint("w", i), strconv.Itoa(n+1000), "shop"))
				ix.managed("shop")
				ix.get(f.Key)
			}
			ix.gone(fact(fmt.Sprint(i), "", "").Key, "5000")
		})
	}
	wg.Wait()
	for _, f := range ix.managed("shop") {
		if f.Key.Name[0] != 'w' {
			t.Errorf("%s was deleted", f.Key)
		}
	}
}

// TestIndexRefusesAFeedThatIsOver: a watch that was stopped may still be
// telling when its kind is watched anew, or no more.
func TestIndexRefusesAFeedThatIsOver(t *testing.T) {
	ix := newTold()
	ix.watched(fact("a", "1", "shop"))
	old := ix.feeds[configMaps]
	ix.feeds[configMaps] = ix.open(configMaps)
	ix.check(t, "shop", []string{"a@1"}, "+a")
	late := func() {
		b := fact("b", "2", "shop")
		ix.index.watched(old, &b)
		ix.index.gone(old, fact("a", "", "").Key, "3")
		ix.index.bookmark(old, "9")
		ix.index.replace(old, nil, "9")
	}
	late()
	ix.check(t, "shop", []string{"a@1"})
	ix.watched(fact("b", "2", "shop"))
	ix.check(t, "shop", []string{"a@1", "b@2"}, "+b")
	ix.forget(configMaps)
	ix.news()
	late()
	ix.written(fact("c", "4", "shop"))
	ix.check(t, "shop", nil)
}

// TestIndexTakesANewHistory: a server that was restored from a backup counts
// from an earlier version on. What it lists then is what there is.
func TestIndexTakesANewHistory(t *testing.T) {
	ix := newTold()
	ix.watched(fact("goes", "900", "shop"))
	ix.watched(fact("stays", "1000", "shop"))
	ix.written(fact("ours", "1001", "shop"))
	ix.news()
	ix.replace(configMaps, []object.Fact{fact("stays", "100", "shop")}, "500")
	ix.check(t, "shop", []string{"stays@100"}, "-goes", "-ours")
	ix.watched(fact("stays", "501", "cart"))
	ix.check(t, "cart", []string{"stays@501"}, "~stays")
	c := &Cluster{index: ix.index}
	if k := fact("stays", "", "").Key; c.Seen(k, "600") || !c.Seen(k, "501") {
		t.Error("what was seen in the old history counts")
	}
}

// TestAwait covers the versions that are no numbers, and the end of a kind.
func TestAwait(t *testing.T) {
	ix := newTold()
	c := &Cluster{index: ix.index}
	k := fact("a", "", "").Key
	results := make(chan error)
	// await returns once somebody waits.
	await := func(rv string) {
		go func() { results <- c.Await(t.Context(), k, rv) }()
		for waits := false; !waits; runtime.Gosched() {
			ix.mu.RLock()
			waits = ix.kinds[configMaps].moved != nil
			ix.mu.RUnlock()
		}
	}
	await("odd")
	ix.watched(fact("b", "7", ""))
	ix.watched(fact("a", "odd", ""))
	if err := <-results; err != nil {
		t.Error(err)
	}
	await("8")
	ix.bookmark(configMaps, "9")
	if err := <-results; err != nil {
		t.Error(err)
	}
	await("10")
	ix.forget(configMaps)
	if err := <-results; err == nil {
		t.Error("a kind that is not watched any more was seen")
	}
}
