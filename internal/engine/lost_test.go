package engine

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

var (
	silent   = fault.Waitingf(destination.Unreachable, "cluster prod cannot be reached: no answer")
	refusing = fault.Transientf(destination.Unreachable, "cluster prod cannot be reached: connection refused")
)

// TestASilentClusterIsUnknown: the application says so once, and nothing is done
// until the cluster answers.
func TestASilentClusterIsUnknown(t *testing.T) {
	w := atEarlier(t)
	e := w.engine()
	w.idle(t, e, -1)
	w.count()
	w.fails["cluster"] = silent
	for range 3 {
		if result, err := e.Reconcile(t.Context(), "shop"); err != nil || result.After != 0 {
			t.Errorf("it comes back by itself: %v, %v", result, err)
		}
	}
	if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeUnknown || w.writes() != 1 {
		t.Errorf("it is %s after %d writes", w.app.Status.Sync.Status, w.writes())
	}
	if c := w.app.Status.Conditions; len(c) != 1 || c[0].Message != silent.Error() {
		t.Errorf("the conditions are %+v", c)
	}
	delete(w.fails, "cluster")
	w.idle(t, e, -1)
	if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced || len(w.app.Status.Conditions) != 0 || len(w.applied) != 0 {
		t.Errorf("afterwards it is %s with %v, applied %v", w.app.Status.Sync.Status, w.app.Status.Conditions, w.applied)
	}
}

// TestAClusterThatStartsIsNotSpokenOf: what the status says stands.
func TestAClusterThatStartsIsNotSpokenOf(t *testing.T) {
	for _, reason := range []string{destination.Starting, destination.Skipped} {
		w := atEarlier(t)
		w.count()
		w.fails["cluster"] = fault.Waitingf(reason, "not now")
		if result, err := w.engine().Reconcile(t.Context(), "shop"); err != nil || result.After != 0 || w.writes() != 0 {
			t.Errorf("%s: %v, %v, %d writes", reason, result, err, w.writes())
		}
	}
}

// TestASyncOutlivesAnOutage: a cluster that stops answering in the middle of a
// sync costs it nothing but time.
func TestASyncOutlivesAnOutage(t *testing.T) {
	w := atEarlier(t)
	e := w.engine()
	// The first requests are refused, before it is known that the cluster is gone.
	w.fails["apply"] = refusing
	if _, err := e.Reconcile(t.Context(), "shop"); !destination.Lost(err) {
		t.Errorf("the queue hears %v", err)
	}
	w.fails["cluster"] = silent
	for range 2 {
		if _, err := e.Reconcile(t.Context(), "shop"); err != nil {
			t.Error(err)
		}
	}
	s := w.app.Status.OperationState
	if s == nil || s.Phase != v1alpha1.OperationRunning {
		t.Fatalf("the sync was given up: %+v", s)
	}
	began := s.StartedAt
	clear(w.fails)
	w.idle(t, e, -1)
	s = w.app.Status.OperationState
	if s.Phase != v1alpha1.OperationSucceeded || !s.StartedAt.Equal(&began) || w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Errorf("the sync ended %s: %s", s.Phase, s.Message)
	}
}

// TestDeletionWaitsForASilentCluster: nothing is let go, and the reason is said.
func TestDeletionWaitsForASilentCluster(t *testing.T) {
	for _, err := range []error{silent, fault.Waitingf(destination.Ambiguous, "2 clusters have the name"), fault.Waitingf(destination.Misconfigured, "no JSON")} {
		w := atEarlier(t)
		w.app.Finalizers = []string{v1alpha1.FinalizerResources}
		now := w.app.CreationTimestamp
		w.app.DeletionTimestamp = &now
		w.fails["cluster"] = err
		if _, err := w.engine().Reconcile(t.Context(), "shop"); err != nil {
			t.Error(err)
		}
		if len(w.app.Finalizers) != 1 || len(w.deleted) != 0 {
			t.Errorf("%v: it was let go", err)
		}
		if c := w.app.Status.Conditions; len(c) != 1 || !strings.Contains(c[0].Message, err.Error()) {
			t.Errorf("the conditions are %+v", c)
		}
	}
}

// TestAnotherClustersWordDoesNotCount: an application that moves is asked about
// anew, though its objects look the same there.
func TestAnotherClustersWordDoesNotCount(t *testing.T) {
	e := New(Options{})
	e.verdicts["shop"] = judged{scope: "one", verdicts: nil}
	if e.knownVerdicts("shop", "two"); e.verdicts["shop"].scope != "two" {
		t.Error("what the first cluster said is kept")
	}
}
