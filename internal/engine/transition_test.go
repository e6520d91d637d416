package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/transition"
)

// TestTransitionsAreTold: a first sync tells its start, its end and what it
// changed, each once; a heal also tells who had changed what; and a look that
// nothing came before tells nothing.
func TestTransitionsAreTold(t *testing.T) {
	w := newWorld(shop())
	w.commits["c1"], w.head = earlier, "c1"
	e := w.engine()
	var told []transition.Transition
	e.Observe = func(tr transition.Transition) { told = append(told, tr) }
	w.idle(t, e, -1)
	wantTold(t, "a first sync", told, transition.Refreshed, transition.Started, transition.SyncChanged, transition.HealthChanged,
		transition.Completed, transition.SyncChanged, transition.HealthChanged, transition.Refreshed)
	if c := told[4].Counts; c != (transition.Counts{Created: 3}) {
		t.Errorf("the first sync counts %+v", c)
	}

	told = nil
	w.live[configMap("stays")].Object["data"] = map[string]any{"a": "edited"}
	w.live[configMap("stays")].SetResourceVersion("999")
	w.idle(t, e, -1)
	wantTold(t, "a heal", told, transition.Refreshed, transition.Started, transition.SyncChanged,
		transition.Completed, transition.SyncChanged, transition.Healed, transition.Refreshed)
	healed := told[5].Episodes
	if len(healed) != 1 || healed[0].Key != configMap("stays") || healed[0].Path != "data.a" || healed[0].Healed.IsZero() {
		t.Errorf("the heal ended %+v", healed)
	}

	told = nil
	if _, err := e.Reconcile(t.Context(), "shop"); err != nil || len(told) > 0 {
		t.Errorf("a quiet look told %+v, %v", told, err)
	}
}

func wantTold(t *testing.T, what string, told []transition.Transition, want ...transition.Kind) {
	t.Helper()
	var got []transition.Kind
	for _, tr := range told {
		got = append(got, tr.Kind)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// TestAHeldPruneIsToldOnce: however often the sync is looked at while it waits.
func TestAHeldPruneIsToldOnce(t *testing.T) {
	w := newWorld(shop())
	w.commits["c1"] = earlier + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: asks, annotations: {argocd.argoproj.io/sync-options: Prune=confirm}}
`
	w.commits["c2"], w.head = earlier, "c1"
	e := w.engine()
	w.idle(t, e, -1)
	w.head = "c2"
	var held []string
	e.Observe = func(tr transition.Transition) {
		if tr.Kind == transition.PruneHeld {
			held = append(held, tr.Message)
		}
	}
	w.idle(t, e, -1)
	w.idle(t, e, -1)
	if len(held) != 1 || !strings.Contains(held[0], "ConfigMap shop/asks") {
		t.Errorf("it was told %d times: %q", len(held), held)
	}
}
