package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// TestErrorsNeverDelete: whatever cannot be read, nothing is deleted for it.
// When it can be read again the object that Git dropped does go, so it was the
// error that held it.
func TestErrorsNeverDelete(t *testing.T) {
	transient, terminal, plain := fault.Transientf("Unreachable", "no network"), fault.Terminalf("Refused", "no such thing"), errors.New("what?")
	for _, what := range []string{"resolve", "tree", "render", "project", "cluster", "get", "dryRun", "application"} {
		for class, err := range map[string]error{"transient": transient, "terminal": terminal, "unclassified": plain} {
			for _, running := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, running %v", class, what, running), func(t *testing.T) {
					w := atEarlier(t)
					if running {
						// The sync had begun, and its process died with the first write.
						w.lives = 1
						_, _ = w.engine().Reconcile(t.Context(), "shop")
						w.lives = -1
					}
					w.fails[what] = err
					e := w.engine()
					for range 2 {
						_, _ = e.Reconcile(t.Context(), "shop")
						_, _ = w.engine().Reconcile(t.Context(), "shop")
					}
					if len(w.deleted) != 0 {
						t.Fatalf("deleted were %v", slices.Collect(maps.Keys(w.deleted)))
					}
					delete(w.fails, what)
					if s := w.app.Status.OperationState; s.Phase.Completed() && s.SyncResult.Revision == "c2" {
						// A person tries again.
						w.app.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{Prune: true}}
						w.bump()
					}
					w.idle(t, e, -1)
					if w.deleted[configMap("goes")] != 1 || len(w.deleted) != 1 || w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
						t.Errorf("afterwards deleted were %v, %s", w.deleted, w.app.Status.Sync.Status)
					}
				})
			}
		}
	}
}

func TestAnIncompleteRenderNeverDeletes(t *testing.T) {
	w := atEarlier(t)
	w.incomplete = true
	w.idle(t, w.engine(), -1)
	if len(w.deleted) != 0 || w.applied[configMap("new")] != 1 {
		t.Errorf("deleted were %v, applied %v", w.deleted, w.applied)
	}
}

func TestAnEmptySourceNeverDeletesByItself(t *testing.T) {
	w := atEarlier(t)
	w.commits["c2"] = "# nothing\n"
	w.idle(t, w.engine(), -1)
	if len(w.deleted) != 0 || len(w.app.Status.Conditions) == 0 {
		t.Errorf("deleted were %v; the conditions are %v", w.deleted, w.app.Status.Conditions)
	}
}

// TestDeletionWaitsForTheCluster: an application is not let go, and nothing is
// deleted, while its cluster cannot be asked.
func TestDeletionWaitsForTheCluster(t *testing.T) {
	for what, rest := range map[string]int{"cluster": 3, "delete": 3} {
		w := atEarlier(t)
		w.app.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
		w.app.Finalizers = []string{v1alpha1.FinalizerResources, "mine"}
		w.fails[what] = fault.Transientf("Unreachable", "no network")
		if _, err := w.engine().Reconcile(t.Context(), "shop"); err == nil {
			t.Errorf("%s: there is no error to try again for", what)
		}
		if len(w.live) != rest || len(w.app.Finalizers) != 2 {
			t.Errorf("%s: %d objects are left, the finalizers are %v", what, len(w.live), w.app.Finalizers)
		}
		delete(w.fails, what)
		w.idle(t, w.engine(), -1)
		if d := cmp.Diff([]string{"mine"}, w.app.Finalizers); len(w.live) != 0 || d != "" {
			t.Errorf("%s: %d objects are left, the finalizers differ:\n%s", what, len(w.live), d)
		}
	}
}

// TestAnInterruptedLookWritesNothing: a process that is going down has seen
// half of everything.
func TestAnInterruptedLookWritesNothing(t *testing.T) {
	w := atEarlier(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.engine().Reconcile(ctx, "shop"); err != nil || w.writes() != 0 {
		t.Errorf("got %v and %d writes", err, w.writes())
	}
}
