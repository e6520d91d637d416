package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	goodRevision = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	badRevision  = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"
)

// deployedTwice is an application that syncs itself and is at its second
// revision, which it had to sync twice.
func deployedTwice() *v1alpha1.Application {
	app := shop("shop")
	app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{
		Automated: &v1alpha1.SyncPolicyAutomated{}, SyncOptions: v1alpha1.SyncOptions{"CreateNamespace=true"},
	}
	app.Status.Sync.Revision = badRevision
	for i, r := range []string{goodRevision, badRevision, badRevision} {
		app.Status.History = append(app.Status.History, v1alpha1.RevisionHistory{
			ID: int64(i), Revision: r, Source: *app.Spec.Source, DeployedAt: metav1.NewTime(today.Add(time.Duration(i-3) * time.Hour)),
		})
	}
	return app
}

// lastPatch is the last thing that was written.
func lastPatch(t *testing.T, m *memory) map[string]any {
	t.Helper()
	if len(m.patches) == 0 {
		t.Fatal("nothing was written")
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(m.patches[len(m.patches)-1]), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRollbackIsOneWrite(t *testing.T) {
	m := newMemory(deployedTwice())
	got := (&desk{hub: m}).run(t, "app", "rollback", "shop", "--prune", "--async")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, `rolling application "shop" back to 1a2b3c4 (history entry 0, deployed 3h ago)`,
		`9f8e7d6 is not synced again by itself, a newer commit is; "towline app sync shop" takes it up again`)
	if len(m.patches) != 1 {
		t.Errorf("it took %d writes", len(m.patches))
	}
	want := map[string]any{
		"metadata": map[string]any{"resourceVersion": "101", "annotations": map[string]any{"towline.io/rejected": badRevision}},
		"operation": map[string]any{
			"initiatedBy": map[string]any{"username": "jane"}, "retry": map[string]any{},
			"sync": map[string]any{
				"revision": goodRevision, "prune": true, "syncOptions": []any{"CreateNamespace=true"},
				"syncStrategy": map[string]any{"apply": map[string]any{}},
				"source":       map[string]any{"repoURL": "https://git.example.com/shop.git", "path": "deploy", "targetRevision": "main"},
			},
		},
	}
	if d := cmp.Diff(want, lastPatch(t, m)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRollbackWithoutAutomationRejectsNothing(t *testing.T) {
	app := deployedTwice()
	app.Spec.SyncPolicy.Automated = nil
	m := newMemory(app)
	got := (&desk{hub: m}).run(t, "app", "rollback", "shop", "0", "--async")
	wantCode(t, got, 0)
	if meta := lastPatch(t, m)["metadata"].(map[string]any); meta["annotations"] != nil || strings.Contains(got.err, "automated") {
		t.Errorf("it wrote %v and said %s", meta, got.err)
	}
}

func TestRollbackFollowsTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(deployedTwice())
		m.patched = play(m)
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "rollback", "shop")
		wantCode(t, got, 0)
		wantText(t, "stdout", got.out, "Phase:        Succeeded")
	})
}

func TestRollbackWaitsForItsTurn(t *testing.T) {
	app := deployedTwice()
	app.Operation = &v1alpha1.Operation{}
	m := newMemory(app)
	got := (&desk{hub: m}).run(t, "app", "rollback", "shop")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "another operation is already in progress")
}

func TestHoldAndUnhold(t *testing.T) {
	m := newMemory(deployedTwice())
	got := (&desk{hub: m}).run(t, "app", "hold", "shop", "--for", "1d", "--reason", "outage")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, `application "shop" is held until 2026-03-15T09:00:00Z (for 24h)`)
	a := m.shop().Annotations
	if a[v1alpha1.AnnotationHoldUntil] != "2026-03-15T09:00:00Z" || a[v1alpha1.AnnotationHoldReason] != "outage" {
		t.Errorf("the annotations are %v", a)
	}
	// A later hold without a reason does not keep that of the earlier one.
	wantCode(t, (&desk{hub: m}).run(t, "app", "hold", "shop", "--until", "2026-03-14T12:00:00+02:00"), 0)
	a = m.shop().Annotations
	if a[v1alpha1.AnnotationHoldUntil] != "2026-03-14T10:00:00Z" || a[v1alpha1.AnnotationHoldReason] != "" {
		t.Errorf("the annotations are %v", a)
	}
	got = (&desk{hub: m}).run(t, "app", "unhold", "shop")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, "is held no longer")
	if a := m.shop().Annotations; len(a) != 0 {
		t.Errorf("the annotations are %v", a)
	}
	got = (&desk{hub: m}).run(t, "app", "unhold", "shop")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, "was not held")
}

func TestTerminate(t *testing.T) {
	running := shop("shop")
	running.Operation = &v1alpha1.Operation{}
	running.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning, Message: "waiting"}
	m := newMemory(running)
	wantCode(t, (&desk{hub: m}).run(t, "app", "terminate-op", "shop"), 0)
	if o := m.shop().Status.OperationState; o.Phase != v1alpha1.OperationTerminating || o.Message != "waiting" {
		t.Errorf("the state is %+v", o)
	}

	asked := shop("shop")
	asked.Operation = &v1alpha1.Operation{}
	m = newMemory(asked)
	got := (&desk{hub: m}).run(t, "app", "terminate-op", "shop")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, "had not begun")
	if m.shop().Operation != nil {
		t.Error("the wish is still there")
	}

	m = newMemory(shop("shop"))
	got = (&desk{hub: m}).run(t, "app", "terminate-op", "shop")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "none is in progress")
}

func TestConfirmDeletion(t *testing.T) {
	m := newMemory(shop("shop"))
	wantCode(t, (&desk{hub: m}).run(t, "app", "confirm-deletion", "shop"), 0)
	if a := m.shop().Annotations[v1alpha1.AnnotationDeletionApproved]; a != "2026-03-14T09:00:00Z" {
		t.Errorf("approved %q", a)
	}
}

func TestSyncFlagsBecomeTheOperation(t *testing.T) {
	app := shop("shop")
	app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{SyncOptions: v1alpha1.SyncOptions{"CreateNamespace=true"}, Retry: &v1alpha1.RetryStrategy{Limit: 9}}
	m := newMemory(app)
	d := &desk{hub: m, local: map[string][]string{"./deploy": {`{"kind":"ConfigMap"}`}}}
	got := d.run(t, "app", "sync", "shop", "--async", "--strategy", "apply", "--force", "--replace", "--server-side",
		"--apply-out-of-sync-only", "--retry-limit", "3", "--retry-backoff-duration", "10s", "--retry-refresh",
		"--info", "ticket=42", "--info", "why=a=b", "--local", "./deploy")
	wantCode(t, got, 0)
	want := &v1alpha1.Operation{
		InitiatedBy: v1alpha1.OperationInitiator{Username: "jane"},
		Info:        []v1alpha1.Info{{Name: "ticket", Value: "42"}, {Name: "why", Value: "a=b"}},
		Retry: v1alpha1.RetryStrategy{
			Limit: 3, Refresh: true, Backoff: &v1alpha1.Backoff{Duration: "10s", MaxDuration: "3m", Factor: new(int64(2))},
		},
		Sync: &v1alpha1.SyncOperation{
			SyncStrategy: &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{Force: true}},
			SyncOptions:  v1alpha1.SyncOptions{"CreateNamespace=true", "Replace=true", "ServerSideApply=true", "ApplyOutOfSyncOnly=true"},
			Manifests:    []string{`{"kind":"ConfigMap"}`},
		},
	}
	if diff := cmp.Diff(want, m.shop().Operation); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSyncFlagsThatMakeNoSense(t *testing.T) {
	automated := shop("shop")
	automated.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"a strategy":           {[]string{"--strategy", "merge"}, 2, "--strategy is apply or hook"},
		"a note without value": {[]string{"--info", "ticket"}, 2, "KEY=VALUE"},
		"a wait and no retry":  {[]string{"--retry-backoff-factor", "3"}, 2, "need --retry-limit"},
		"local at a revision":  {[]string{"--local", "./deploy", "--revision", "v1"}, 2, "not in Git"},
		"an empty folder":      {[]string{"--local", "./empty"}, 2, "no manifests"},
		"local and automated":  {[]string{"--local", "./deploy"}, 20, "would undo local manifests"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory(automated.DeepCopy())
			d := &desk{hub: m, local: map[string][]string{"./deploy": {"{}"}}}
			got := d.run(t, append([]string{"app", "sync", "shop", "--async"}, test.args...)...)
			wantCode(t, got, test.code)
			wantText(t, "stderr", got.err, test.want)
			if len(m.patches) > 0 {
				t.Errorf("it wrote %s", m.patches)
			}
		})
	}
}
