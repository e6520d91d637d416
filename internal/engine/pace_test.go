package engine

import (
	"testing"
	"time"
)

// TestPace: turns follow one another at the rate; whoever comes back before
// its time comes for a reason, and does not wait.
func TestPace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := newPace()
	for _, c := range []struct {
		app  string
		when time.Duration
		want time.Duration
	}{
		{"a", 0, 0},
		{"b", 0, time.Second},
		{"c", 0, 2 * time.Second},
		{"c", 100 * time.Millisecond, 0}, // something happened to it
		{"a", 200 * time.Millisecond, 0}, // it was looked at
		{"b", time.Second, 0},            // its time has come
		{"d", 10 * time.Second, 0},
	} {
		if got := p.turn(c.app, 10, 10, now.Add(c.when)); got != c.want {
			t.Errorf("%s after %s waits %s, want %s", c.app, c.when, got, c.want)
		}
	}
}

// TestADatedVerdictStands: after a start without confirmed pairs the second of
// two busy applications keeps its status and asks nothing until its turn.
func TestADatedVerdictStands(t *testing.T) {
	w := newWorld(shop())
	w.commits["c1"], w.head = earlier, "c1"
	w.idle(t, w.engine(), -1)
	w.count()
	w.pairs = newLog()
	e := w.engine()
	e.Settings = func() Settings { return Settings{ConfirmRate: 1} }
	e.pace.turn("another", 100, 1, e.Now())
	r, err := e.Reconcile(t.Context(), "shop")
	if err != nil || r.After < 99*time.Second || w.dryRuns != 0 || w.writes() != 0 {
		t.Fatalf("got %+v, %v, %d questions and %d writes", r, err, w.dryRuns, w.writes())
	}
	if _, err := e.Reconcile(t.Context(), "shop"); err != nil || w.dryRuns == 0 {
		t.Errorf("an event did not bring the questions: %v, %d", err, w.dryRuns)
	}
}
