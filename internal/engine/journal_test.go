package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/journal"
	"github.com/towline-cd/towline/internal/core/object"
)

// book is what an engine writes down.
type book []journal.Record

func (b *book) of(e *Engine) *Engine {
	e.Journal = func(r journal.Record) { *b = append(*b, r) }
	return e
}

// words are the records for people: kinds and deeds.
func (b *book) words() []string {
	var out []string
	for _, r := range *b {
		var deeds []string
		for _, d := range r.Objects {
			deeds = append(deeds, strings.TrimSuffix(string(d.Action)+":"+d.Name+"!"+d.Failed, "!"))
		}
		// Those of a step are written at once, in any order.
		slices.Sort(deeds)
		line := strings.Join(append([]string{string(r.Kind)}, deeds...), " ")
		out = append(out, strings.TrimSpace(line+" "+r.Phase))
	}
	return out
}

// TestASyncIsWrittenDown: what was decided, every object with its versions, and the proof of what went.
func TestASyncIsWrittenDown(t *testing.T) {
	w := atEarlier(t)
	was := w.live[configMap("goes")].DeepCopy()
	var b book
	w.idle(t, b.of(w.engine()), -1)
	want := []string{
		"began", "objects create:new create:web update:changes", "deletes delete:goes", "objects delete:goes",
		"objects create:later create:later", "ended Succeeded",
	}
	if d := cmp.Diff(want, b.words()); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	for _, r := range b {
		if r.App != "shop" || r.Operation == "" || !r.By.Automated || !slices.Equal(r.Revisions, []string{"c2"}) || r.Tree == "" || r.Server == "" {
			t.Errorf("a record does not say what it is about: %+v", r)
		}
	}
	goes := b[3].Objects[0]
	if goes.UID != string(was.GetUID()) || goes.Before != was.GetResourceVersion() {
		t.Errorf("what went was %s %s, and is told as %+v", was.GetUID(), was.GetResourceVersion(), goes)
	}
	if d := cmp.Diff(&journal.Proof{Reason: journal.Undesired, Mark: "shop", Desired: 6}, goes.Proof); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	changes := b[1].Objects[slices.IndexFunc(b[1].Objects, func(d journal.Deed) bool { return d.Name == "changes" })]
	if changes.Before == "" || changes.After != w.live[configMap("changes")].GetResourceVersion() || changes.Before == changes.After {
		t.Errorf("the versions of what changed are %+v", changes)
	}
}

// TestNoDeleteWithoutProof: wherever the process dies, what was deleted was announced before, with its proof.
func TestNoDeleteWithoutProof(t *testing.T) {
	for lives := range 12 {
		w := atEarlier(t)
		var b book
		w.lives = lives + 1
		e := b.of(w.engine())
		for range 6 {
			_, _ = e.Reconcile(t.Context(), "shop")
		}
		announced := map[object.Key]bool{}
		for _, r := range b {
			for _, d := range r.Objects {
				announced[d.Key()] = announced[d.Key()] || r.Kind == journal.Deletes && d.Proof != nil
				if d.Action == journal.Delete && d.Proof == nil {
					t.Errorf("%s went without a proof", d.Key())
				}
			}
		}
		for k := range w.deleted {
			if !announced[k] {
				t.Errorf("after %d writes %s was deleted and nobody was told why", lives, k)
			}
		}
	}
}

// TestAnApplicationThatGoes: its objects go because it does, and that it was let go is written down.
func TestAnApplicationThatGoes(t *testing.T) {
	w := atEarlier(t)
	w.app.Finalizers = []string{v1alpha1.FinalizerResources}
	w.app.DeletionTimestamp = new(metav1.Now())
	var b book
	w.idle(t, b.of(w.engine()), -1)
	words := b.words()
	if len(words) < 3 || !strings.HasPrefix(words[0], "deletes delete:goes") || words[len(words)-1] != "released" {
		t.Fatalf("it is told as %q", words)
	}
	if p := b[0].Objects[0].Proof; p.Reason != journal.Cascade || p.Mark != "shop" {
		t.Errorf("the proof is %+v", p)
	}
}

// TestAFailureIsAClass: what a server says may repeat what it was sent.
func TestAFailureIsAClass(t *testing.T) {
	w := atEarlier(t)
	w.fails["apply"] = fault.Terminalf("Rejected", "the value hush is not one that we take")
	var b book
	e := b.of(w.engine())
	for range 4 {
		_, _ = e.Reconcile(t.Context(), "shop")
	}
	all := strings.Join(b.words(), "\n")
	if !strings.Contains(all, "!Rejected") {
		t.Errorf("the failure is told as:\n%s", all)
	}
	for _, r := range b {
		line, _, err := journal.Seal(journal.Head{}, r)
		if err != nil || strings.Contains(string(line), "hush") {
			t.Errorf("%v: %s", err, line)
		}
	}
}
