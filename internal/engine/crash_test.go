package engine

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// TestMain keeps the log lines of hundreds of syncs to itself.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// twoWaves has something of everything: objects that are new, one that
// changes, one that stays, one that must become healthy before the second wave.
const twoWaves = `
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: changes}
data: {a: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stays}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template: {spec: {containers: [{name: web, image: "web:1"}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: "1"}}
data: {a: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: "1"}}
stringData: {a: x}
`

// earlier is the revision before: the cluster is as it says.
const earlier = `
apiVersion: v1
kind: ConfigMap
metadata: {name: changes}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stays}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: goes, annotations: {argocd.argoproj.io/sync-wave: "1"}}
data: {a: "1"}
`

func shop() *v1alpha1.Application {
	yes := true
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"},
		Spec: v1alpha1.ApplicationSpec{
			Source:      &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop", Path: ".", TargetRevision: "main"},
			Destination: v1alpha1.ApplicationDestination{Server: v1alpha1.InClusterServer, Namespace: "shop"},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Prune: &yes, SelfHeal: &yes}},
		},
	}
}

func configMap(name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

// atEarlier is a world where the earlier revision was synced and twoWaves was
// pushed since.
func atEarlier(t *testing.T) *world {
	t.Helper()
	w := newWorld(shop())
	w.commits["c1"], w.commits["c2"], w.head = earlier, twoWaves, "c1"
	w.idle(t, w.engine(), -1)
	if len(w.live) != 3 || w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Fatalf("the earlier revision left %d objects, %+v", len(w.live), w.app.Status.Sync)
	}
	w.head = "c2"
	w.count()
	return w
}

// outcome is what must not depend on where a process died: the live objects
// but for their versions, and the status but for the words of the results. An
// object that was applied just before the crash is found "unchanged" after it,
// and one that was pruned just before is not there to be told of.
type outcome struct {
	Live    map[object.Key]map[string]any
	Status  v1alpha1.ApplicationStatus
	Results map[object.Key]v1alpha1.ResultCode
}

func (w *world) outcome() outcome {
	out := outcome{Live: map[object.Key]map[string]any{}, Status: *w.app.Status.DeepCopy(), Results: map[object.Key]v1alpha1.ResultCode{}}
	for k, u := range w.live {
		u = u.DeepCopy()
		unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
		out.Live[k] = u.Object
	}
	for _, r := range out.Status.OperationState.SyncResult.Resources {
		if r.Status != v1alpha1.ResultCodePruned {
			out.Results[object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] = r.Status
		}
	}
	out.Status.OperationState.SyncResult.Resources = nil
	return out
}

// check compares with the run that nothing disturbed.
func (w *world) check(t *testing.T, want outcome) {
	t.Helper()
	if d := cmp.Diff(want, w.outcome()); d != "" {
		t.Errorf("the end differs (-undisturbed +this):\n%s", d)
	}
	if s := w.app.Status.OperationState; s.Phase != v1alpha1.OperationSucceeded || w.app.Operation != nil {
		t.Errorf("the operation ended as %s: %s; %v", s.Phase, s.Message, w.app.Operation)
	}
	wantApplied := map[object.Key]int{
		configMap("new"): 1, configMap("changes"): 1, configMap("later"): 1,
		{Kind: "Secret", Namespace: "shop", Name: "later"}:                  1,
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}: 1,
	}
	if d := cmp.Diff(wantApplied, w.applied); d != "" {
		t.Errorf("the applies differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[object.Key]int{configMap("goes"): 1}, w.deleted); d != "" {
		t.Errorf("the deletes differ (-want +got):\n%s", d)
	}
	if n := len(w.app.Status.History); n != 2 {
		t.Errorf("there are %d history entries", n)
	}
}

func undisturbed(t *testing.T) (outcome, int) {
	t.Helper()
	w := atEarlier(t)
	w.idle(t, w.engine(), -1)
	want := w.outcome()
	w.check(t, want)
	if want.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced || want.Status.Sync.Revision != "c2" ||
		want.Status.Health.Status != v1alpha1.HealthStatusHealthy || len(want.Status.Resources) != 6 {
		t.Fatalf("the undisturbed sync ended with %+v", want.Status)
	}
	return want, w.writes()
}

// TestCrashAfterEveryWrite kills the process after its n-th write, for every
// n, and lets another one carry on.
func TestCrashAfterEveryWrite(t *testing.T) {
	want, writes := undisturbed(t)
	if writes < 8 {
		t.Fatalf("the undisturbed sync made %d writes only", writes)
	}
	for n := 1; n <= writes; n++ {
		t.Run(fmt.Sprintf("after write %d of %d", n, writes), func(t *testing.T) {
			w := atEarlier(t)
			w.lives = n
			w.idle(t, w.engine(), -1)
			w.check(t, want)
		})
	}
}

// TestCrashAgainAndAgain gives no process more than a few writes to live.
func TestCrashAgainAndAgain(t *testing.T) {
	want, _ := undisturbed(t)
	for lives := 1; lives <= 4; lives++ {
		t.Run(fmt.Sprintf("%d writes each", lives), func(t *testing.T) {
			w := atEarlier(t)
			w.lives = lives
			w.idle(t, w.engine(), lives)
			w.check(t, want)
		})
	}
}

// TestCrashWhileHealing: somebody changes an object by hand, and the process
// that sets it right dies after each of its writes.
func TestCrashWhileHealing(t *testing.T) {
	drifted := func(t *testing.T) *world {
		t.Helper()
		w := atEarlier(t)
		w.idle(t, w.engine(), -1)
		w.count()
		u := w.live[configMap("stays")].DeepCopy()
		if err := unstructured.SetNestedField(u.Object, "by hand", "data", "a"); err != nil {
			t.Fatal(err)
		}
		w.version++
		u.SetResourceVersion(strconv.Itoa(w.version))
		w.live[configMap("stays")] = u
		return w
	}
	w := drifted(t)
	w.idle(t, w.engine(), -1)
	want, writes := w.outcome(), w.writes()
	for n := 0; n <= writes; n++ {
		t.Run(fmt.Sprintf("after write %d of %d", n, writes), func(t *testing.T) {
			w := drifted(t)
			if n > 0 {
				w.lives = n
			}
			w.idle(t, w.engine(), -1)
			if d := cmp.Diff(want, w.outcome()); d != "" {
				t.Errorf("the end differs (-undisturbed +this):\n%s", d)
			}
			if d := cmp.Diff(map[object.Key]int{configMap("stays"): 1}, w.applied); d != "" || len(w.deleted) != 0 {
				t.Errorf("deleted were %v; the applies differ (-want +got):\n%s", w.deleted, d)
			}
			s := w.app.Status.OperationState
			if s.Phase != v1alpha1.OperationSucceeded || s.Operation.Sync.AutoHealAttemptsCount != 1 || len(w.app.Status.History) != 2 {
				t.Errorf("the operation ended with %+v", s)
			}
			if got, _, _ := unstructured.NestedString(w.live[configMap("stays")].Object, "data", "a"); got != "1" {
				t.Errorf("the object says %q", got)
			}
		})
	}
}

// TestASyncEndsWithTheRevisionItBeganWith: a commit is pushed while a sync runs
// that a person asked for. It does not mix the two, and the commit has its turn
// afterwards.
func TestASyncEndsWithTheRevisionItBeganWith(t *testing.T) {
	w := atEarlier(t)
	w.commits["c3"] = strings.ReplaceAll(twoWaves, `{a: "1"}`, `{a: "3"}`)
	w.app.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{Prune: true}, InitiatedBy: v1alpha1.OperationInitiator{Username: "ada"}}
	w.bump()
	// The first wave waits for its Deployment.
	if _, err := w.engine().Reconcile(t.Context(), "shop"); err != nil || w.app.Status.OperationState.Phase != v1alpha1.OperationRunning {
		t.Fatalf("got %+v, %v", w.app.Status.OperationState, err)
	}
	w.head = "c3"
	w.idle(t, w.engine(), -1)
	if n := w.applied[configMap("later")]; n != 2 {
		t.Errorf("the second wave was applied %d times, want once for each revision", n)
	}
	var revisions, values []string
	for _, h := range w.app.Status.History {
		revisions = append(revisions, h.Revision+h.InitiatedBy.Username)
	}
	if d := cmp.Diff([]string{"c1", "c2ada", "c3"}, revisions); d != "" {
		t.Errorf("the history differs (-want +got):\n%s", d)
	}
	for _, name := range []string{"new", "stays", "later"} {
		v, _, _ := unstructured.NestedString(w.live[configMap(name)].Object, "data", "a")
		values = append(values, v)
	}
	if d := cmp.Diff([]string{"3", "3", "3"}, values); d != "" {
		t.Errorf("the values differ (-want +got):\n%s", d)
	}
}

// TestARefusedObjectFailsTheSyncOnce: what the server will not take ends the
// sync before the second wave and the prune, and the same revision is not
// tried again and again.
func TestARefusedObjectFailsTheSyncOnce(t *testing.T) {
	w := atEarlier(t)
	w.fails["apply"] = fault.Terminalf("Rejected", "no")
	w.idle(t, w.engine(), -1)
	s := w.app.Status.OperationState
	if s.Phase != v1alpha1.OperationFailed || len(w.applied) != 0 || len(w.deleted) != 0 || w.app.Operation != nil {
		t.Errorf("got %s, applied %v, deleted %v", s.Phase, w.applied, w.deleted)
	}
	if len(w.app.Status.History) != 1 || w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeOutOfSync {
		t.Errorf("the history is %v, the verdict %s", w.app.Status.History, w.app.Status.Sync.Status)
	}
	patches := w.patches
	w.idle(t, w.engine(), -1)
	if w.patches != patches {
		t.Errorf("another process wrote %d times", w.patches-patches)
	}
}

// TestIdleCostsNothing: once all is done, another look by the same process
// asks and writes nothing, and a new process asks and does not write.
func TestIdleCostsNothing(t *testing.T) {
	w := atEarlier(t)
	e := w.idle(t, w.engine(), -1)
	w.count()
	for range 3 {
		if r, err := e.Reconcile(t.Context(), "shop"); err != nil || r.After != 0 {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	if w.writes() != 0 || w.dryRuns != 0 || w.renders != 0 {
		t.Errorf("idling made %d writes, %d dry-runs and %d renders", w.writes(), w.dryRuns, w.renders)
	}
	if _, err := w.engine().Reconcile(t.Context(), "shop"); err != nil || w.writes() != 0 {
		t.Errorf("a new process made %d writes, %v", w.writes(), err)
	}
}

// TestNoLostUpdate has somebody else write the application just before the
// engine does, for every one of its writes.
func TestNoLostUpdate(t *testing.T) {
	want, _ := undisturbed(t)
	w := atEarlier(t)
	w.idle(t, w.engine(), -1)
	patches := w.patches
	for n := range patches {
		t.Run(fmt.Sprintf("before patch %d of %d", n+1, patches), func(t *testing.T) {
			w := atEarlier(t)
			w.onPatch = func(i int) {
				if i == n {
					w.app.Annotations = map[string]string{"mine": "stays"}
					w.app.Status.ObservedAt = &metav1.Time{Time: w.app.Status.ReconciledAt.Time}
					w.bump()
				}
			}
			w.idle(t, w.engine(), -1)
			if w.app.Annotations["mine"] != "stays" || w.app.Status.ObservedAt == nil {
				t.Errorf("the update was lost: %v, %v", w.app.Annotations, w.app.Status.ObservedAt)
			}
			w.app.Status.ObservedAt = nil
			w.check(t, want)
		})
	}
}

// TestAPersonGoesFirst: somebody asks for a sync in the moment when the engine
// begins one by itself. Theirs is the one that is done.
func TestAPersonGoesFirst(t *testing.T) {
	w := atEarlier(t)
	w.onPatch = func(i int) {
		if i == 0 {
			w.app.Operation = &v1alpha1.Operation{
				Sync: &v1alpha1.SyncOperation{Prune: true}, InitiatedBy: v1alpha1.OperationInitiator{Username: "ada"},
			}
			w.bump()
		}
	}
	w.idle(t, w.engine(), -1)
	if s := w.app.Status.OperationState; s.Operation.InitiatedBy.Username != "ada" || s.Phase != v1alpha1.OperationSucceeded {
		t.Errorf("the last operation is %+v", s)
	}
	if w.app.Status.Sync.Revision != "c2" || len(w.live) != 6 {
		t.Errorf("the sync left %d objects at %s", len(w.live), w.app.Status.Sync.Revision)
	}
}
