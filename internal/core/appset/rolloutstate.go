package appset

import (
	"fmt"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// observed is how far an Application is, by what is seen of it.
func (r *rollout) observed(m *member) v1alpha1.ApplicationSetApplicationStatus {
	s, known := r.was[m.want.Name]
	s.Application, s.Step = m.want.Name, stepName(m.step)
	if !known {
		s.Status, s.Message = v1alpha1.ProgressiveSyncWaiting, "it is new"
	}
	if m.app == nil {
		s.Status, s.Message = v1alpha1.ProgressiveSyncWaiting, "it has to be created first"
		s.TargetRevisions = nil
		return s
	}
	moved := !slices.Equal(s.TargetRevisions, revisions(m.app))
	s.TargetRevisions = revisions(m.app)
	// While the status is about an older spec nobody knows whether there is anything to sync.
	outdated := !compared(m.app) || m.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced
	s = transition(s, seen{app: m.app, moved: moved, outdated: outdated})
	if m.step == stepless && s.Status != v1alpha1.ProgressiveSyncHealthy {
		s.Message = "no step selects it, so that the rollout never syncs it; sync it yourself, or add a step that selects its labels"
	}
	return s
}

func revisions(app *v1alpha1.Application) []string {
	if len(app.Status.Sync.Revisions) > 0 {
		return app.Status.Sync.Revisions
	}
	if app.Status.Sync.Revision == "" {
		return nil
	}
	return []string{app.Status.Sync.Revision}
}

// seen is what is seen of an Application.
type seen struct {
	app *v1alpha1.Application
	// moved says that its revision is another than before; outdated, that it is not in sync with what it should be.
	moved, outdated bool
}

func (o seen) healthy() bool {
	last := o.app.Status.OperationState
	done := o.app.Operation == nil && (last == nil || last.Phase == v1alpha1.OperationSucceeded)
	return !o.outdated && done && o.app.Status.Health.Status == v1alpha1.HealthStatusHealthy
}

// transition takes the state of an Application as far as what is seen allows.
func transition(s v1alpha1.ApplicationSetApplicationStatus, o seen) v1alpha1.ApplicationSetApplicationStatus {
	to := func(status v1alpha1.ProgressiveSyncStatusCode, why string) { s.Status, s.Message = status, why }
	busy := o.app.Operation != nil || running(o.app)
	last := o.app.Status.OperationState

	if s.Status == v1alpha1.ProgressiveSyncHealthy && o.outdated {
		to(v1alpha1.ProgressiveSyncWaiting, "it has changes that are not synced")
	}
	if s.Status == v1alpha1.ProgressiveSyncProgressing && o.outdated && o.moved && !busy {
		to(v1alpha1.ProgressiveSyncWaiting, "there is a newer revision")
	}
	if s.Status == v1alpha1.ProgressiveSyncPending {
		switch {
		case busy, o.app.Status.Health.Status == v1alpha1.HealthStatusProgressing:
			to(v1alpha1.ProgressiveSyncProgressing, "it is being synced")
		case !o.outdated && last != nil && last.Phase == v1alpha1.OperationSucceeded:
			to(v1alpha1.ProgressiveSyncProgressing, "it was synced")
		case startedFor(last, s):
			to(v1alpha1.ProgressiveSyncProgressing, "")
		}
	}
	switch {
	case s.Status == v1alpha1.ProgressiveSyncHealthy:
	case o.healthy():
		to(v1alpha1.ProgressiveSyncHealthy, "it is in sync and healthy")
	case s.Status == v1alpha1.ProgressiveSyncProgressing:
		s.Message = waitsFor(o, busy)
	}
	return s
}

// startedFor tells whether an operation is the sync that was started when the Application became Pending.
func startedFor(o *v1alpha1.OperationState, s v1alpha1.ApplicationSetApplicationStatus) bool {
	return o != nil && s.LastTransitionTime != nil && o.Operation.InitiatedBy.Username == v1alpha1.InitiatorRollout &&
		!o.StartedAt.Before(s.LastTransitionTime)
}

// waitsFor says what an Application on the way waits for.
func waitsFor(o seen, busy bool) string {
	last := o.app.Status.OperationState
	switch {
	case busy:
		return "its sync is running"
	case last != nil && last.Phase != v1alpha1.OperationSucceeded:
		return fmt.Sprintf("its sync ended as %s: %s; correct the cause and sync it", last.Phase, last.Message)
	case o.outdated:
		return fmt.Sprintf("it is %s after its sync; look at what differs", statusWord(o.app))
	default:
		h := o.app.Status.Health
		if h.Message != "" {
			return fmt.Sprintf("it is synced and its health is %s: %s", h.Status, h.Message)
		}
		return fmt.Sprintf("it is synced and its health is %s", h.Status)
	}
}
