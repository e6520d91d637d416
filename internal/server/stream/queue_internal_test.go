package stream

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/server/catalog"
)

// Whatever a client reads late: it has either the last state of everything, or
// it is told to begin again. What waits for it is bounded, and numbers go
// upwards.
func TestAQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cl := newClient("bob")
		cl.queue.limits = Limits{Whole: rapid.IntRange(0, 4).Draw(t, "whole"), Keys: rapid.IntRange(1, 6).Draw(t, "keys")}
		cl.wants = func(*event) bool { return true }
		truth, known := map[string]uint64{}, map[string]uint64{}
		rows := map[string]*catalog.Row{}
		var last uint64
		read := func() {
			b := cl.take()
			if b.lost {
				// As a client does: it reads everything.
				known, last = maps.Clone(truth), b.seen
			}
			for _, e := range b.entries {
				if e.seq <= last {
					t.Fatalf("%d comes after %d", e.seq, last)
				}
				last = e.seq
				if now, found := truth[e.key.Name]; found {
					known[e.key.Name] = now
					if e.event != nil {
						known[e.key.Name] = e.event.seq
					}
				} else {
					delete(known, e.key.Name)
				}
				if e.event != nil && e.event.after == nil {
					delete(known, e.key.Name)
				}
			}
		}
		for seq := range uint64(rapid.IntRange(1, 60).Draw(t, "events")) {
			seq++
			name := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "app"))
			e := &event{seq: seq, before: rows[name]}
			if rows[name] == nil || rapid.IntRange(0, 3).Draw(t, "remove") > 0 {
				e.after = &catalog.Row{Key: catalog.Key{Name: name}, Version: seq}
				rows[name], truth[name] = e.after, seq
			} else {
				delete(rows, name)
				delete(truth, name)
			}
			cl.push(e)
			if cl.whole > cl.queue.limits.Whole || cl.filled > cl.queue.limits.Keys || len(cl.entries) > 2*cl.filled+65 {
				t.Fatalf("%d whole, %d keys, %d entries wait", cl.whole, cl.filled, len(cl.entries))
			}
			if rapid.IntRange(0, 4).Draw(t, "read") == 0 {
				read()
			}
		}
		read()
		if diff := cmp.Diff(truth, known); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Without pressure every change arrives, also several of one application.
func TestAQueueKeepsEveryChange(t *testing.T) {
	cl := newClient("bob")
	cl.queue.limits = Limits{}.orDefaults()
	cl.wants = func(*event) bool { return true }
	for seq := range uint64(60) {
		row := &catalog.Row{Key: catalog.Key{Name: fmt.Sprint(seq % 3)}}
		cl.push(&event{seq: seq + 1, before: row, after: row})
	}
	if b := cl.take(); len(b.entries) != 60 || b.lost {
		t.Errorf("%d entries (lost: %v), want 60", len(b.entries), b.lost)
	}
}

// A client that reads nothing costs no more, however much happens.
func TestAClientThatDoesNotReadIsBounded(t *testing.T) {
	hub := NewHub("e", Limits{Whole: 4, Keys: 16, Ring: 8})
	cl := newClient("bob")
	cl.wants = func(*event) bool { return true }
	if _, _, err := hub.join(cl, nil); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(10_000) {
		row := &catalog.Row{Key: catalog.Key{Name: fmt.Sprint(seq % 100)}}
		hub.Changed(catalog.Change{Type: catalog.Added, Seq: seq + 1, After: row})
		if len(cl.entries) > 100 || len(hub.ring) > 8 {
			t.Fatalf("%d entries and %d in the ring", len(cl.entries), len(hub.ring))
		}
	}
	if b := cl.take(); !b.lost || b.seen != 10_000 {
		t.Errorf("lost %v at %d, want true at 10000", b.lost, b.seen)
	}
}

func TestReplay(t *testing.T) {
	hub := NewHub("e", Limits{Ring: 4})
	for seq := range uint64(6) {
		row := &catalog.Row{Key: catalog.Key{Name: fmt.Sprint(seq % 2)}}
		hub.Changed(catalog.Change{Type: catalog.Added, Seq: seq + 1, Version: 10 * (seq + 1), After: row})
	}
	cases := map[string]struct {
		since place
		found bool
		want  []uint64
	}{
		"at the end":               {place{seq: 6}, true, nil},
		"one behind":               {place{seq: 5}, true, []uint64{6}},
		"the last state of each":   {place{seq: 2}, true, []uint64{5, 6}},
		"too far behind":           {place{seq: 1}, false, nil},
		"by version":               {place{version: 50, byVersion: true}, true, []uint64{6}},
		"by version, in between":   {place{version: 55, byVersion: true}, true, []uint64{6}},
		"too far behind a version": {place{version: 19, byVersion: true}, false, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cl := newClient("")
			behind, found, err := hub.join(cl, &c.since)
			if err != nil {
				t.Fatal(err)
			}
			defer hub.leave(cl)
			var got []uint64
			for _, e := range behind {
				got = append(got, e.seq)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || found != c.found {
				t.Errorf("found %v, want %v\n%s", found, c.found, diff)
			}
		})
	}
	hub.Changed(catalog.Change{Type: catalog.Reset, Seq: 7})
	if _, found, _ := hub.join(newClient(""), &place{seq: 6}); found {
		t.Error("after a reset a client goes on as if nothing had been")
	}
}
