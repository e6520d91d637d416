package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

func start(sync *v1alpha1.SyncOperation) *v1alpha1.OperationState {
	return status.Start(v1alpha1.Operation{Sync: sync}, content(v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop"}), dawn)
}

func TestStart(t *testing.T) {
	op := v1alpha1.Operation{
		Sync:        &v1alpha1.SyncOperation{Prune: true, Resources: []v1alpha1.SyncOperationResource{{Group: "apps", Kind: "Deployment", Name: "web"}}},
		InitiatedBy: v1alpha1.OperationInitiator{Username: "ada"},
	}
	got := status.Start(op, content(v1alpha1.ApplicationSource{Path: "x"}), dawn)
	if d := cmp.Diff(op, got.Operation); d != "" {
		t.Errorf("the operation differs (-want +got):\n%s", d)
	}
	if got.Phase != v1alpha1.OperationRunning || !got.StartedAt.Equal(at(dawn)) || got.FinishedAt != nil || got.Message == "" {
		t.Errorf("got %+v", got)
	}
	if got.SyncResult == nil || got.SyncResult.Revision != "c0ffee" || got.SyncResult.Source.Path != "x" {
		t.Errorf("got the result %+v", got.SyncResult)
	}
	p := status.Progress(got)
	want := plan.Progress{Prune: true, Only: []plan.Selector{{Group: "apps", Kind: "Deployment", Name: "web"}}, Done: map[plan.Task]plan.Outcome{}}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("the progress differs (-want +got):\n%s", d)
	}
}

func TestProgressOfNothing(t *testing.T) {
	want := plan.Progress{Done: map[plan.Task]plan.Outcome{}}
	if d := cmp.Diff(want, status.Progress(&v1alpha1.OperationState{})); d != "" {
		t.Errorf("the progress differs (-want +got):\n%s", d)
	}
}

// TestProgressReadsBackWhatWasRecorded: the status is the only memory of a
// sync, so what goes in must come out.
func TestProgressReadsBackWhatWasRecorded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := start(&v1alpha1.SyncOperation{})
		want := map[plan.Task]plan.Outcome{}
		for step := range rapid.IntRange(0, 3).Draw(t, "steps") {
			var results []status.Result
			for i := range rapid.IntRange(0, 3).Draw(t, "results") {
				k := object.Key{
					Group: rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group"), Kind: "Kind",
					Namespace: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "namespace"), Name: fmt.Sprint(step, ":", i),
				}
				o := plan.Outcome{
					Code:    rapid.SampledFrom([]plan.Code{plan.CodeSynced, plan.CodeFailed, plan.CodePruned, plan.CodePruneSkipped}).Draw(t, "code"),
					Message: rapid.String().Draw(t, "message"),
				}
				want[plan.Task{Phase: plan.InSync, Key: k}] = o
				results = append(results, status.Result{Item: plan.Item{Key: k, Phase: plan.InSync}, Outcome: o})
			}
			before := state.DeepCopy()
			next := status.Record(state, results)
			if d := cmp.Diff(before, state); d != "" {
				t.Fatalf("recording changed the state that it was given:\n%s", d)
			}
			state = next
		}
		if d := cmp.Diff(want, status.Progress(state).Done); d != "" {
			t.Errorf("the outcomes differ (-want +got):\n%s", d)
		}
	})
}

func TestRecord(t *testing.T) {
	item := plan.Item{Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1", Phase: plan.PreSync}
	for code, phase := range map[plan.Code]v1alpha1.OperationPhase{
		plan.CodeSynced: v1alpha1.OperationRunning, plan.CodeFailed: v1alpha1.OperationFailed,
		plan.CodePruned: v1alpha1.OperationSucceeded, plan.CodePruneSkipped: v1alpha1.OperationSucceeded,
	} {
		got := status.Record(&v1alpha1.OperationState{}, []status.Result{{Item: item, Outcome: plan.Outcome{Code: code, Message: "done"}, Images: []string{"a:1"}}})
		want := v1alpha1.ResourceResults{{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", Status: v1alpha1.ResultCode(code),
			Message: "done", HookPhase: phase, SyncPhase: "PreSync", Images: []string{"a:1"},
		}}
		if d := cmp.Diff(want, got.SyncResult.Resources); d != "" {
			t.Errorf("%s: the result differs (-want +got):\n%s", code, d)
		}
	}
}

func TestFinish(t *testing.T) {
	state := start(&v1alpha1.SyncOperation{})
	before := state.DeepCopy()
	got := status.Finish(state, v1alpha1.OperationFailed, "no", noon)
	if d := cmp.Diff(before, state); d != "" {
		t.Errorf("finishing changed the state that it was given:\n%s", d)
	}
	want := before
	want.Phase, want.Message, want.FinishedAt = v1alpha1.OperationFailed, "no", at(noon)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the state differs (-want +got):\n%s", d)
	}
	if !got.Phase.Completed() {
		t.Error("the operation is not over")
	}
}

func finished(phase v1alpha1.OperationPhase, sync *v1alpha1.SyncOperation) *v1alpha1.OperationState {
	return status.Finish(start(sync), phase, "", noon)
}

func TestRemember(t *testing.T) {
	app := newApp()
	var revisions []string
	for i := range 15 {
		state := finished(v1alpha1.OperationSucceeded, &v1alpha1.SyncOperation{})
		state.SyncResult.Revision = fmt.Sprint("r", i)
		state.Operation.InitiatedBy.Username = "ada"
		before := app.DeepCopy()
		history := status.Remember(app, state)
		if d := cmp.Diff(before, app); d != "" {
			t.Fatalf("remembering changed the application:\n%s", d)
		}
		app.Status.History = history
		revisions = append(revisions, state.SyncResult.Revision)
	}
	revisions = revisions[5:]
	if len(app.Status.History) != len(revisions) {
		t.Fatalf("%d entries, want %d", len(app.Status.History), len(revisions))
	}
	for i, h := range app.Status.History {
		if h.Revision != revisions[i] || h.ID != int64(i+5) {
			t.Errorf("entry %d is %s with id %d", i, h.Revision, h.ID)
		}
		if !h.DeployedAt.Equal(at(noon)) || !h.DeployStartedAt.Equal(at(dawn)) || h.InitiatedBy.Username != "ada" || h.Source.RepoURL == "" {
			t.Errorf("entry %d is %+v", i, h)
		}
	}
}

func TestRememberLimit(t *testing.T) {
	for limit, want := range map[int64]int{0: 0, 1: 1, 3: 3, 5: 4, -1: 0} {
		app := newApp()
		app.Spec.RevisionHistoryLimit = &limit
		for id := range 3 {
			app.Status.History = append(app.Status.History, v1alpha1.RevisionHistory{ID: int64(id + 7)})
		}
		got := status.Remember(app, finished(v1alpha1.OperationSucceeded, &v1alpha1.SyncOperation{}))
		if len(got) != want {
			t.Errorf("limit %d: %d entries, want %d", limit, len(got), want)
		}
		if want > 0 && got[len(got)-1].ID != 10 {
			t.Errorf("limit %d: the last id is %d", limit, got[len(got)-1].ID)
		}
	}
}

func TestNotRemembered(t *testing.T) {
	whole := &v1alpha1.SyncOperation{}
	noResult := finished(v1alpha1.OperationSucceeded, whole)
	noResult.SyncResult = nil
	cases := map[string]*v1alpha1.OperationState{
		"failed":    finished(v1alpha1.OperationFailed, whole),
		"error":     finished(v1alpha1.OperationError, whole),
		"running":   start(whole),
		"dry run":   finished(v1alpha1.OperationSucceeded, &v1alpha1.SyncOperation{DryRun: true}),
		"partial":   finished(v1alpha1.OperationSucceeded, &v1alpha1.SyncOperation{Resources: []v1alpha1.SyncOperationResource{{Kind: "Pod", Name: "a"}}}),
		"no sync":   finished(v1alpha1.OperationSucceeded, nil),
		"no result": noResult,
	}
	for name, state := range cases {
		app := newApp()
		app.Status.History = v1alpha1.RevisionHistories{{ID: 4, Revision: "before"}}
		if d := cmp.Diff(app.Status.History, status.Remember(app, state)); d != "" {
			t.Errorf("%s: the history changed (-want +got):\n%s", name, d)
		}
	}
}

func TestTimesAreWholeSecondsInUTC(t *testing.T) {
	state := finished(v1alpha1.OperationSucceeded, &v1alpha1.SyncOperation{})
	app := newApp()
	for name, got := range map[string]time.Time{
		"started": state.StartedAt.Time, "finished": state.FinishedAt.Time,
		"reconciled": status.Project(input(app, dawn)).ReconciledAt.Time,
		"health":     status.Project(input(app, dawn)).Health.LastTransitionTime.Time,
	} {
		if got.Nanosecond() != 0 || got.Location() != time.UTC {
			t.Errorf("%s at %v does not survive the API", name, got)
		}
	}
}

// content is one source at a commit.
func content(s v1alpha1.ApplicationSource) status.Content {
	return status.Content{Sources: v1alpha1.ApplicationSources{s}, Revisions: []string{"c0ffee"}}
}
