package transition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/transition"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func app(edits ...func(*v1alpha1.Application)) *v1alpha1.Application {
	a := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	for _, e := range edits {
		e(a)
	}
	return a
}

func sync(code v1alpha1.SyncStatusCode) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) { a.Status.Sync.Status = code }
}

func health(code v1alpha1.HealthStatusCode) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) { a.Status.Health.Status = code }
}

func condition(message string) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) {
		a.Status.Conditions = append(a.Status.Conditions, v1alpha1.ApplicationCondition{Type: "SyncError", Message: message})
	}
}

// op is an operation that began so many seconds after noon, and took five if
// it is over.
func op(start int, phase v1alpha1.OperationPhase, results ...v1alpha1.ResourceResult) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) {
		s := &v1alpha1.OperationState{
			Phase: phase, StartedAt: metav1.NewTime(noon.Add(time.Duration(start) * time.Second)),
			Operation:  v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}},
			SyncResult: &v1alpha1.SyncOperationResult{Revision: "abc", Resources: results},
		}
		if phase.Completed() {
			s.FinishedAt = new(metav1.NewTime(s.StartedAt.Add(5 * time.Second)))
		}
		a.Status.OperationState = s
	}
}

func deleting(finalizers ...string) func(*v1alpha1.Application) {
	return func(a *v1alpha1.Application) {
		a.DeletionTimestamp = new(metav1.NewTime(noon))
		a.Finalizers = finalizers
	}
}

func TestBetween(t *testing.T) {
	result := func(code v1alpha1.ResultCode, message string) v1alpha1.ResourceResult {
		return v1alpha1.ResourceResult{Status: code, Message: message}
	}
	done := []v1alpha1.ResourceResult{
		result(v1alpha1.ResultCodeSynced, "configmap/a created"), result(v1alpha1.ResultCodeSynced, "configmap/b configured"),
		result(v1alpha1.ResultCodeSynced, "configmap/c unchanged"), result(v1alpha1.ResultCodePruned, "pruned"),
		result(v1alpha1.ResultCodeSyncFailed, "no"), result(v1alpha1.ResultCodePruneSkipped, "ignored (requires pruning)"),
	}
	cases := map[string]struct {
		was, now *v1alpha1.Application
		want     []string
	}{
		"nothing":        {app(sync("Synced")), app(sync("Synced")), nil},
		"first look":     {app(), app(sync("OutOfSync"), health("Missing")), []string{"SyncChanged >OutOfSync", "HealthChanged >Missing"}},
		"begins":         {app(sync("Synced")), app(sync("OutOfSync"), op(0, "Running")), []string{"OperationStarted", "SyncChanged Synced>OutOfSync"}},
		"goes on":        {app(op(0, "Running")), app(op(0, "Running", done...)), nil},
		"ends":           {app(op(0, "Running"), sync("OutOfSync")), app(op(0, "Succeeded", done...), sync("Synced")), []string{"OperationCompleted Succeeded 5s 1/1/1/1", "SyncChanged OutOfSync>Synced"}},
		"ended before":   {app(op(0, "Failed")), app(op(0, "Failed"), health("Healthy")), []string{"HealthChanged >Healthy"}},
		"ends at once":   {app(op(0, "Failed")), app(op(9, "Error")), []string{"OperationStarted", "OperationCompleted Error 5s 0/0/0/0"}},
		"superseded":     {app(op(0, "Running", done...)), app(op(9, "Running")), []string{"OperationCompleted Failed 9s 1/1/1/1", "OperationStarted"}},
		"complains":      {app(), app(condition("no")), []string{"Complained >SyncError: no"}},
		"still the same": {app(condition("no")), app(condition("no, really")), nil},
		"let go":         {app(deleting(v1alpha1.FinalizerResourcesBackground)), app(deleting()), []string{"Deleted"}},
		"not yet":        {app(deleting(v1alpha1.FinalizerResources, "x")), app(deleting(v1alpha1.FinalizerResources)), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, tr := range transition.Between(c.was, c.now, noon) {
				if tr.App != c.now || !tr.At.Equal(noon) {
					t.Errorf("%s is of %v at %s", tr.Kind, tr.App, tr.At)
				}
				got = append(got, words(tr))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func words(tr transition.Transition) string {
	s := string(tr.Kind)
	if tr.To != "" {
		s += " " + tr.From + ">" + tr.To
	}
	if tr.Kind == transition.Completed {
		s += fmt.Sprintf(" %s %s %d/%d/%d/%d", tr.Operation.Phase, tr.Took, tr.Counts.Created, tr.Counts.Updated, tr.Counts.Pruned, tr.Counts.Failed)
	}
	return strings.TrimSuffix(s+": "+tr.Message, ": ")
}

// TestCountReadsThePlansWords holds the words to those that a sync records.
func TestCountReadsThePlansWords(t *testing.T) {
	live := &object.Fact{ResourceVersion: "1"}
	answer := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "2"}}}
	s := &v1alpha1.OperationState{SyncResult: &v1alpha1.SyncOperationResult{Resources: v1alpha1.ResourceResults{
		{Message: plan.Applied(plan.Item{}, answer, false).Message},
		{Message: plan.Applied(plan.Item{Live: live}, answer, false).Message},
		{Message: plan.Applied(plan.Item{Live: &object.Fact{ResourceVersion: "2"}}, answer, false).Message},
	}}}
	if c := transition.Count(s); c != (transition.Counts{Created: 1, Updated: 1}) {
		t.Errorf("it counts %+v", c)
	}
}

func TestADryRunCountsNothing(t *testing.T) {
	a := app(op(0, "Succeeded", v1alpha1.ResourceResult{Status: v1alpha1.ResultCodeSynced, Message: "configmap/a created"}))
	a.Status.OperationState.Operation.Sync.DryRun = true
	if c := transition.Count(a.Status.OperationState); c != (transition.Counts{}) {
		t.Errorf("it counts %+v", c)
	}
}
