package appset_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
)

// rolling plays a line about a rolling sync.
func (y *yard) rolling(word, name, more string) {
	switch word {
	case "roll":
		y.roll()
	case "deletes":
		for _, app := range appset.DeletionOrder(y.in.Set, y.in.Owned) {
			fmt.Fprintf(&y.out, "delete %s\n", app.Name)
		}
	case "deleting":
		y.owned(name).DeletionTimestamp = new(metav1.NewTime(y.in.Now))
	case "commit":
		// Every Application is compared with a new revision, and found to differ.
		for _, app := range y.in.Owned {
			app.Status.Sync.Status, app.Status.Sync.Revision = v1alpha1.SyncStatusCodeOutOfSync, name
			compare(app)
		}
	case "starts":
		// A sync begins: by the rollout, or by a person if the line says so.
		o := &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning, StartedAt: metav1.NewTime(y.in.Now)}
		o.Operation.InitiatedBy.Username = v1alpha1.InitiatorRollout
		if more == "by ann" {
			o.Operation.InitiatedBy.Username = "ann"
		}
		y.owned(name).Status.OperationState = o
	case "ends":
		// A sync ends well, and the health is what the line says.
		app := y.owned(name)
		app.Status.OperationState.Phase = v1alpha1.OperationSucceeded
		app.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced
		app.Status.Health.Status = v1alpha1.HealthStatusCode(more)
	case "fails":
		o := y.owned(name).Status.OperationState
		o.Phase, o.Message = v1alpha1.OperationFailed, more
	case "health":
		y.owned(name).Status.Health.Status = v1alpha1.HealthStatusCode(more)
	default:
		y.t.Fatalf("unknown word %q", word)
	}
}

// roll tells the next move of a rolling sync, and keeps what the status says of it.
func (y *yard) roll() {
	b := &y.out
	r := appset.Rollout(appset.RolloutInput{Set: y.in.Set, Now: y.in.Now, Apps: y.in.Result.Apps, Owned: y.in.Owned})
	y.rollout = &r
	y.in.Set.Status.ApplicationStatus = r.Statuses
	if r.Invalid != "" {
		fmt.Fprintf(b, "invalid: %s\n", r.Invalid)
	}
	for _, s := range r.Statuses {
		fmt.Fprintf(b, "step %s %s %s since %s: %s\n", s.Step, s.Application, s.Status, s.LastTransitionTime.UTC().Format("15:04:05"), s.Message)
	}
	for _, s := range r.Start {
		fmt.Fprintf(b, "start %s, prune %v, retry %d\n", s.App.Name, s.Operation.Sync.Prune, s.Operation.Retry.Limit)
	}
	if r.Done {
		fmt.Fprintf(b, "done: %s\n", r.Message)
	} else if r.Message != "" {
		fmt.Fprintf(b, "going on: %s\n", r.Message)
	}
}
