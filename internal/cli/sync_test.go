package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func web(code v1alpha1.ResultCode, phase v1alpha1.OperationPhase, message string) v1alpha1.ResourceResult {
	return v1alpha1.ResourceResult{
		Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		Status: code, HookPhase: phase, Message: message, SyncPhase: v1alpha1.SyncPhaseSync,
	}
}

func migrate(phase v1alpha1.OperationPhase) v1alpha1.ResourceResult {
	return v1alpha1.ResourceResult{
		Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "migrate",
		HookType: v1alpha1.HookTypePreSync, HookPhase: phase, SyncPhase: v1alpha1.SyncPhasePreSync,
	}
}

// advance writes the state of the operation as the controller does: with the
// end of it the wish goes.
func advance(m *memory, name string, phase v1alpha1.OperationPhase, message string, results ...v1alpha1.ResourceResult) {
	m.edit(name, func(app *v1alpha1.Application) {
		o := app.Status.OperationState
		if o == nil {
			o = &v1alpha1.OperationState{Operation: *app.Operation, StartedAt: metav1.NewTime(time.Now())}
		}
		o.Phase, o.Message = phase, message
		o.SyncResult = &v1alpha1.SyncOperationResult{Revision: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", Resources: results}
		if phase.Completed() {
			o.FinishedAt = new(metav1.NewTime(time.Now()))
			app.Operation = nil
		}
		app.Status.OperationState = o
	})
}

// play is a controller that takes an operation to a good end in six seconds.
func play(m *memory) func(*v1alpha1.Application) {
	return func(app *v1alpha1.Application) {
		go func() {
			time.Sleep(time.Second)
			advance(m, app.Name, v1alpha1.OperationRunning, "running hooks", migrate(v1alpha1.OperationRunning))
			time.Sleep(2 * time.Second)
			advance(m, app.Name, v1alpha1.OperationRunning, "waiting for Deployment.apps shop/web", migrate(v1alpha1.OperationSucceeded),
				web(v1alpha1.ResultCodeSynced, v1alpha1.OperationRunning, "configured"))
			time.Sleep(3 * time.Second)
			advance(m, app.Name, v1alpha1.OperationSucceeded, "successfully synced", migrate(v1alpha1.OperationSucceeded),
				web(v1alpha1.ResultCodeSynced, v1alpha1.OperationSucceeded, "configured"))
		}()
	}
}

func TestSyncTellsEveryTransitionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := shop("shop")
		app.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationFailed, Message: "an older one"}
		m := newMemory(app)
		m.patched = play(m)
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "sync", "shop", "--prune")
		wantCode(t, got, 0)
		progress := `00:00:00  shop  Pending: waiting for the controller to begin
00:00:01  shop  ◌ Job.batch shop/migrate PreSync hook Running
00:00:01  shop  Running: running hooks
00:00:03  shop  ✔ Job.batch shop/migrate PreSync hook Succeeded
00:00:03  shop  ✔ Deployment.apps shop/web Synced: configured
00:00:03  shop  Running: waiting for Deployment.apps shop/web
00:00:06  shop  Succeeded: successfully synced
`
		if d := cmp.Diff(progress, got.err); d != "" {
			t.Errorf("stderr (-want +got):\n%s", d)
		}
		result := `Application:  shop
Phase:        Succeeded after 5s
Revision:     1a2b3c4
Message:      successfully synced

GROUP   KIND         NAMESPACE   NAME      STATUS   HOOK                MESSAGE
batch   Job          shop        migrate            PreSync Succeeded
apps    Deployment   shop        web       Synced                       configured
`
		if d := cmp.Diff(result, got.out); d != "" {
			t.Errorf("stdout (-want +got):\n%s", d)
		}
	})
}

func TestSyncWritesTheOperation(t *testing.T) {
	app := shop("shop")
	app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{
		SyncOptions: v1alpha1.SyncOptions{"CreateNamespace=true"}, Retry: &v1alpha1.RetryStrategy{Limit: 2},
	}
	app.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationSucceeded}
	m := newMemory(app)
	got := (&desk{hub: m}).run(t, "app", "sync", "shop", "--async", "--revision", "v2", "--prune", "--dry-run", "--force",
		"--resource", "apps:Deployment:shop/web", "--resource", ":Service:web")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, `wait for it with "towline app wait shop --operation"`)
	var patch struct {
		Metadata  metav1.ObjectMeta  `json:"metadata"`
		Operation v1alpha1.Operation `json:"operation"`
		Status    map[string]any     `json:"status"`
	}
	if err := json.Unmarshal([]byte(m.patches[0]), &patch); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.Operation{
		InitiatedBy: v1alpha1.OperationInitiator{Username: "jane"},
		Retry:       v1alpha1.RetryStrategy{Limit: 2},
		Sync: &v1alpha1.SyncOperation{
			Revision: "v2", Prune: true, DryRun: true, SyncOptions: v1alpha1.SyncOptions{"CreateNamespace=true"},
			SyncStrategy: &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: v1alpha1.SyncStrategyApply{Force: true}}},
			Resources: []v1alpha1.SyncOperationResource{
				{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, {Kind: "Service", Name: "web"},
			},
		},
	}
	if d := cmp.Diff(want, patch.Operation); d != "" {
		t.Errorf("operation (-want +got):\n%s", d)
	}
	if patch.Metadata.ResourceVersion != "101" {
		t.Errorf("the patch is bound to version %q", patch.Metadata.ResourceVersion)
	}
	if v, ok := patch.Status["operationState"]; !ok || v != nil {
		t.Errorf("the state of the last operation stays: %v", patch.Status)
	}
}

func TestSyncLeavesAnAbsentStatusAlone(t *testing.T) {
	app := shop("shop")
	app.Status = v1alpha1.ApplicationStatus{}
	m := newMemory(app)
	wantCode(t, (&desk{hub: m}).run(t, "app", "sync", "shop", "--async"), 0)
	if strings.Contains(m.patches[0], "status") {
		t.Errorf("an empty status breaks the schema: %s", m.patches[0])
	}
}

func TestSyncSettlesPatterns(t *testing.T) {
	tests := map[string]struct {
		patterns []string
		want     []string
		code     int
	}{
		"any name of a kind": {patterns: []string{"apps:Deployment:*"}, want: []string{"web", "worker"}},
		"all but one":        {patterns: []string{"!apps:Deployment:worker"}, want: []string{"web", "web"}},
		"other namespace":    {patterns: []string{"*:*:bank/*"}, code: 20},
		"no pattern":         {patterns: []string{"Deployment/web"}, code: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory(shop("shop"))
			args := []string{"app", "sync", "shop", "--async"}
			for _, p := range test.patterns {
				args = append(args, "--resource", p)
			}
			got := (&desk{hub: m}).run(t, args...)
			wantCode(t, got, test.code)
			var names []string
			if op := m.shop().Operation; op != nil {
				for _, r := range op.Sync.Resources {
					names = append(names, r.Name)
				}
			}
			if d := cmp.Diff(test.want, names); d != "" {
				t.Errorf("resources (-want +got):\n%s", d)
			}
		})
	}
}

func TestSyncRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*v1alpha1.Application)
		args   []string
		want   string
	}{
		"while an operation runs": {
			change: func(a *v1alpha1.Application) {
				a.Status.OperationState = &v1alpha1.OperationState{
					Phase: v1alpha1.OperationRunning, StartedAt: metav1.NewTime(today.Add(-90 * time.Second)),
					Operation: v1alpha1.Operation{InitiatedBy: v1alpha1.OperationInitiator{Automated: true}},
				}
			},
			want: `syncing application "bank": another operation is already in progress (Running for 90s, by the sync policy); ` +
				`wait for it with "towline app wait bank --operation"`,
		},
		"while an operation is asked for": {
			change: func(a *v1alpha1.Application) {
				a.Operation = &v1alpha1.Operation{InitiatedBy: v1alpha1.OperationInitiator{Username: "joe"}}
			},
			want: "another operation is already in progress (asked for by joe, not begun yet)",
		},
		"while it is deleted": {
			change: func(a *v1alpha1.Application) { a.DeletionTimestamp = new(metav1.NewTime(today)) },
			want:   "it is being deleted",
		},
		"a revision that the policy would undo": {
			change: func(a *v1alpha1.Application) {
				a.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}
			},
			args: []string{"--revision", "v1"},
			want: `it syncs itself to "main" and would undo that`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			app := shop("bank")
			test.change(app)
			m := newMemory(shop("airport"), app)
			// airport comes first and must not be started either.
			got := (&desk{hub: m}).run(t, append([]string{"app", "sync", "airport", "bank"}, test.args...)...)
			wantCode(t, got, 20)
			wantText(t, "stderr", got.err, test.want)
			if len(m.patches) > 0 {
				t.Errorf("something was written: %q", m.patches)
			}
		})
	}
}

func TestSyncTriesAgainWhenOthersWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		m.patched = play(m)
		conflicts := 2
		m.fails = func(verb string) error {
			if verb == "patch" && conflicts > 0 {
				conflicts--
				return apierrors.NewConflict(resource, "shop", nil)
			}
			return nil
		}
		wantCode(t, (&desk{hub: m, now: time.Now}).run(t, "app", "sync", "shop"), 0)
	})
}

func TestSyncEndsBadly(t *testing.T) {
	tests := map[string]struct {
		play func(m *memory)
		args []string
		want []string
	}{
		"a failed operation": {
			play: func(m *memory) {
				advance(m, "shop", v1alpha1.OperationFailed, "one object failed", web(v1alpha1.ResultCodeSyncFailed, "", "quota exceeded"))
			},
			want: []string{
				"✗ Deployment.apps shop/web SyncFailed: quota exceeded",
				`error: syncing application "shop": Failed: one object failed; "towline app get shop" shows its objects`,
			},
		},
		"nobody is there": {
			play: func(*memory) {},
			args: []string{"--timeout", "30"},
			want: []string{`not done after 30 seconds; it goes on in the cluster, wait for it with "towline app wait shop --operation"`},
		},
		"the application goes": {
			play: func(m *memory) { m.drop("shop") },
			want: []string{"it was deleted meanwhile"},
		},
		"another operation comes": {
			play: func(m *memory) {
				m.edit("shop", func(a *v1alpha1.Application) {
					a.Operation = &v1alpha1.Operation{InitiatedBy: v1alpha1.OperationInitiator{Username: "joe"}}
				})
				advance(m, "shop", v1alpha1.OperationSucceeded, "")
			},
			want: []string{"an operation by joe took its place"},
		},
		"the operation before comes back first": {
			play: func(m *memory) {
				old := v1alpha1.OperationState{
					Phase: v1alpha1.OperationSucceeded, StartedAt: metav1.NewTime(today), FinishedAt: new(metav1.NewTime(today)),
					Operation: v1alpha1.Operation{InitiatedBy: v1alpha1.OperationInitiator{Username: "jane"}},
				}
				m.edit("shop", func(a *v1alpha1.Application) { a.Status.OperationState = &old })
				time.Sleep(time.Second)
				m.edit("shop", func(a *v1alpha1.Application) { a.Status.OperationState = nil })
				advance(m, "shop", v1alpha1.OperationFailed, "the real end")
			},
			want: []string{"Failed: the real end"},
		},
		"two operations in one second": {
			play: func(m *memory) {
				m.edit("shop", func(a *v1alpha1.Application) {
					a.Status.OperationState = &v1alpha1.OperationState{
						Operation: *a.Operation, Phase: v1alpha1.OperationFailed, Message: "the real end",
						StartedAt: metav1.NewTime(today), FinishedAt: new(metav1.NewTime(today)),
					}
					a.Operation = nil
				})
			},
			want: []string{"Failed: the real end"},
		},
		"the wish is taken away": {
			play: func(m *memory) { m.edit("shop", func(a *v1alpha1.Application) { a.Operation = nil }) },
			want: []string{"the operation was taken away before it ended"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := shop("shop")
				app.Status.OperationState = &v1alpha1.OperationState{
					Phase: v1alpha1.OperationSucceeded, StartedAt: metav1.NewTime(today), FinishedAt: new(metav1.NewTime(today)),
				}
				m := newMemory(app)
				m.patched = func(*v1alpha1.Application) {
					go func() {
						time.Sleep(time.Second)
						test.play(m)
					}()
				}
				got := (&desk{hub: m, now: time.Now}).run(t, append([]string{"app", "sync", "shop"}, test.args...)...)
				wantCode(t, got, 20)
				wantText(t, "stderr", got.err, test.want...)
			})
		})
	}
}

func TestSyncSaysThatItGoesOnAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"), shop("bank"))
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, context.Canceled)
		defer cancel()
		got := (&desk{hub: m, now: time.Now, stop: ctx}).run(t, "app", "sync", "-l", "team=shop")
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, `stopped watching the sync of application "bank", "shop": it goes on in the cluster`)
	})
}

func TestSyncOfSeveralPrintsEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"), shop("bank"))
		m.patched = play(m)
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "sync", "shop", "bank", "-o", "json")
		wantCode(t, got, 0)
		dec := json.NewDecoder(strings.NewReader(got.out))
		var names []string
		for dec.More() {
			var app v1alpha1.Application
			if err := dec.Decode(&app); err != nil {
				t.Fatal(err)
			}
			names = append(names, app.Kind+" "+app.Name)
		}
		if d := cmp.Diff([]string{"Application shop", "Application bank"}, names); d != "" {
			t.Errorf("output (-want +got):\n%s", d)
		}
	})
}
