package status_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

// most is what the API server keeps: an Application must be well below it.
const most = 3 << 19

// many are objects that are as desired, in two waves.
func many(n int) []plan.Item {
	out := make([]plan.Item, n)
	for i := range out {
		out[i] = live("ConfigMap", fmt.Sprintf("settings-of-the-shop-%05d", i), "", "")
		out[i].Wave = i / ((n + 1) / 2)
	}
	return out
}

// ran is an operation that did so with each.
func ran(phase v1alpha1.OperationPhase, items []plan.Item, of func(i int) plan.Outcome) *v1alpha1.OperationState {
	s := status.Start(v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}}, content(*newApp().Spec.Source), dawn)
	results := make([]status.Result, len(items))
	for i, it := range items {
		results[i] = status.Result{Item: it, Outcome: of(i)}
	}
	s = status.Record(s, results)
	s.Phase, s.Message = phase, "told"
	return s
}

func well(int) plan.Outcome {
	return plan.Outcome{Code: plan.CodeSynced, Message: "configmap/settings-of-the-shop created"}
}

// TestFit: what an application of very many objects says of them.
func TestFit(t *testing.T) {
	broken := func(items []plan.Item, at ...int) []plan.Item {
		for _, i := range at {
			items[i].Sync, items[i].Action = plan.OutOfSync, plan.Update
		}
		return items
	}
	cases := map[string]struct {
		items   []plan.Item
		outcome func(i int) plan.Outcome
		// listed are how many of the objects and of the results are.
		objects, results int
		// first is the object that is to be listed beside the first of all.
		first string
	}{
		"few enough":                    {items: many(2000), outcome: well, objects: 2000, results: 2000},
		"too many with their results":   {items: many(4000), outcome: well, objects: 4000, results: 0},
		"too many by themselves":        {items: many(9000), outcome: well, objects: 1, results: 0},
		"and some of them differ":       {items: broken(many(9000), 17, 8000), outcome: well, objects: 3, results: 0, first: "settings-of-the-shop-00017"},
		"and what failed is still told": {items: many(9000), outcome: failedAt(5), objects: 1, results: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(newApp(), noon, c.items...)
			in.Operation = ran(v1alpha1.OperationSucceeded, c.items, c.outcome)
			given := in.Operation.DeepCopy()
			got, _ := status.Update(in)
			if d := cmp.Diff(given, in.Operation); d != "" {
				t.Fatalf("what was given was changed: %s", d)
			}
			results := got.OperationState.SyncResult.Resources
			if len(got.Resources) != c.objects || len(results) != c.results {
				t.Fatalf("%d objects and %d results are listed, want %d and %d", len(got.Resources), len(results), c.objects, c.results)
			}
			if c.first != "" && got.Resources[1].Name != c.first {
				t.Errorf("%q is listed, want %q", got.Resources[1].Name, c.first)
			}
			if listed, all := status.Listed(got); listed != c.objects || all != len(c.items) {
				t.Errorf("it says that %d of %d are listed, want %d of %d", listed, all, c.objects, len(c.items))
			}
			if told := strings.HasSuffix(got.OperationState.Message, status.Unlisted); told != (c.results < len(c.items)) {
				t.Errorf("the message is %q", got.OperationState.Message)
			}
			again := in
			app := newApp()
			app.Status = got
			again.App, again.Operation = app, got.OperationState
			if same, differs := status.Update(again); differs {
				t.Errorf("the second look differs: %s", cmp.Diff(got, same))
			}
		})
	}
}

func failedAt(n int) func(int) plan.Outcome {
	return func(i int) plan.Outcome {
		if i == n {
			return plan.Outcome{Code: plan.CodeFailed, Message: "no"}
		}
		return well(i)
	}
}

// TestNothingIsTooLarge: whatever is wrong with however many, the server keeps
// what is written.
func TestNothingIsTooLarge(t *testing.T) {
	long := strings.Repeat("the server says that this <cannot> be; ", 10)
	items := many(12000)
	for i := range items {
		items[i].Live.Health = health.Health{Status: health.Degraded, Message: long}
		items[i].Sync = plan.OutOfSync
	}
	for _, phase := range []v1alpha1.OperationPhase{v1alpha1.OperationRunning, v1alpha1.OperationFailed} {
		in := input(newApp(), noon, items...)
		in.Operation = ran(phase, items, func(int) plan.Outcome { return plan.Outcome{Code: plan.CodeFailed, Message: long} })
		got, _ := status.Update(in)
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > most {
			t.Errorf("%s: the status has %d bytes", phase, len(text))
		}
		if len(got.Resources) < 500 || len(got.OperationState.SyncResult.Resources) < 500 {
			t.Errorf("%s: it lists %d objects and %d results", phase, len(got.Resources), len(got.OperationState.SyncResult.Resources))
		}
	}
}

// TestARunningSyncIsNotForgotten: what is left out of a sync that runs is not
// done again, nor is a wave that was passed waited for again.
func TestARunningSyncIsNotForgotten(t *testing.T) {
	items := many(6000)
	items[0].Live.Health = health.Health{Status: health.Progressing}
	in := input(newApp(), noon, items...)
	in.Operation = ran(v1alpha1.OperationRunning, items[:5999], well)
	got, _ := status.Update(in)
	left := got.OperationState.SyncResult.Resources
	if len(left) > 10 {
		t.Fatalf("%d results are listed", len(left))
	}
	progress := status.Progress(got.OperationState)
	var steps []plan.Do
	for range 5 {
		step := plan.Next(*in.Plan, progress)
		steps = append(steps, step.Do)
		for _, it := range step.Items {
			outcome, ok := plan.Settle(it, progress)
			if !ok {
				t.Fatalf("%s is written again", it.Key)
			}
			progress.Done[it.Task()] = outcome
		}
	}
	if want := []plan.Do{plan.DoApply, plan.DoApply, plan.DoDone, plan.DoDone, plan.DoDone}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %v, want %v", steps, want)
	}
}

// TestWhatIsNotDoneIsKept: a result of a running sync stays as long as its
// object is not as desired, or it would be written with each look.
func TestWhatIsNotDoneIsKept(t *testing.T) {
	items := many(6000)
	items[4000].Action, items[4000].Sync = plan.Update, plan.OutOfSync
	in := input(newApp(), noon, items...)
	in.Operation = ran(v1alpha1.OperationRunning, items, well)
	got, _ := status.Update(in)
	if !slices.ContainsFunc(got.OperationState.SyncResult.Resources, func(r v1alpha1.ResourceResult) bool { return r.Name == items[4000].Key.Name }) {
		t.Error("it is not listed")
	}
}

// TestAnOutageKeepsTheCount: a look that fails knows of no objects, and what was
// said of them stays.
func TestAnOutageKeepsTheCount(t *testing.T) {
	app := newApp()
	app.Status, _ = status.Update(input(app, dawn, many(9000)...))
	in := input(app, noon)
	in.Plan = nil
	got, _ := status.Update(in)
	if listed, all := status.Listed(got); listed != 1 || all != 9000 {
		t.Errorf("it says that %d of %d are listed", listed, all)
	}
	if app.Status = got; app.Status.Conditions[0].Type != v1alpha1.ApplicationConditionType(finding.Abridged) {
		t.Errorf("the conditions are %v", got.Conditions)
	}
}
