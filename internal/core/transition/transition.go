// Package transition names what changed in the life of an application, one
// value for each change, so that logs, events, metrics and notifications all
// speak of the same thing. It must not tell anybody: it compares two states,
// and whoever wrote the second passes on what it returns.
package transition

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Kind is what happened.
type Kind string

// The kinds.
const (
	// Refreshed is a look at an application that was made, whether or not it
	// found anything new.
	Refreshed Kind = "Refreshed"
	Started   Kind = "OperationStarted"
	Completed Kind = "OperationCompleted"
	// SyncChanged and HealthChanged have From and To.
	SyncChanged   Kind = "SyncChanged"
	HealthChanged Kind = "HealthChanged"
	// Complained is a condition that was not there before; To is its type.
	Complained Kind = "Complained"
	// Healed has the episodes of drift that a sync ended.
	Healed Kind = "Healed"
	// PruneHeld is a deletion that waits; the message says what for.
	PruneHeld Kind = "PruneHeld"
	// Deleted is an application that was let go, its objects being gone.
	Deleted Kind = "Deleted"
)

// Transition is one change of one application.
type Transition struct {
	Kind Kind
	// App is the application after the change. It is shared: nobody may change
	// it.
	App *v1alpha1.Application
	At  time.Time
	// From and To are the words of a status that changed.
	From, To string
	// Took is how long the refresh or the operation took.
	Took time.Duration
	// Message is the decision that a refresh came to, or what is waited for.
	Message string
	// Operation is the one that began or ended, and Counts what it did.
	Operation *v1alpha1.OperationState
	Counts    Counts
	Episodes  []plan.Episode
}

// Counts are the objects that an operation wrote.
type Counts struct {
	Created, Updated, Pruned, Failed int
}

// Between are the transitions from one state of an application to the next, in
// the order in which they are told: how an operation ended comes before what
// it changed.
func Between(was, now *v1alpha1.Application, at time.Time) []Transition {
	out := operations(was.Status.OperationState, now.Status.OperationState)
	if from, to := was.Status.Sync.Status, now.Status.Sync.Status; from != to {
		out = append(out, Transition{Kind: SyncChanged, From: string(from), To: string(to)})
	}
	if from, to := was.Status.Health.Status, now.Status.Health.Status; from != to {
		out = append(out, Transition{Kind: HealthChanged, From: string(from), To: string(to)})
	}
	for _, c := range now.Status.Conditions {
		// A condition whose words move is still the same complaint.
		if !slices.ContainsFunc(was.Status.Conditions, func(o v1alpha1.ApplicationCondition) bool { return o.Type == c.Type }) {
			out = append(out, Transition{Kind: Complained, To: string(c.Type), Message: c.Message})
		}
	}
	if now.DeletionTimestamp != nil && cascades(was) && !cascades(now) {
		out = append(out, Transition{Kind: Deleted})
	}
	for i := range out {
		out[i].App, out[i].At = now, at
	}
	return out
}

// operations compares two states of the operation. Its start is its name.
func operations(was, now *v1alpha1.OperationState) []Transition {
	if now == nil {
		return nil
	}
	var out []Transition
	same := was != nil && was.StartedAt.Equal(&now.StartedAt)
	if was != nil && !same && !was.Phase.Completed() {
		out = append(out, ended(superseded(was, now)))
	}
	if !same {
		out = append(out, Transition{Kind: Started, Operation: now})
	}
	if now.Phase.Completed() && (!same || !was.Phase.Completed()) {
		out = append(out, ended(now))
	}
	return out
}

// superseded is how an operation ended whose place another one took.
func superseded(was, now *v1alpha1.OperationState) *v1alpha1.OperationState {
	s := was.DeepCopy()
	s.Phase, s.FinishedAt = v1alpha1.OperationFailed, &now.StartedAt
	s.Message = strings.TrimSuffix("superseded while it was running: "+s.Message, ": ")
	return s
}

func ended(s *v1alpha1.OperationState) Transition {
	t := Transition{Kind: Completed, Operation: s, Counts: Count(s)}
	if s.FinishedAt != nil {
		t.Took = max(0, s.FinishedAt.Sub(s.StartedAt.Time))
	}
	return t
}

// The words at the end of an outcome's message, by which it is known afterwards
// what was done.
const (
	created    = " created"
	configured = " configured"
)

// Count reads back what an operation did with its objects.
func Count(s *v1alpha1.OperationState) Counts {
	var c Counts
	if s.SyncResult == nil || s.Operation.Sync != nil && s.Operation.Sync.DryRun {
		return c
	}
	for _, r := range s.SyncResult.Resources {
		switch {
		case r.Status == v1alpha1.ResultCodeSyncFailed || r.HookPhase == v1alpha1.OperationFailed:
			c.Failed++
		case r.Status == v1alpha1.ResultCodePruned:
			c.Pruned++
		case strings.HasSuffix(r.Message, created):
			c.Created++
		case strings.HasSuffix(r.Message, configured):
			c.Updated++
		}
	}
	return c
}

func cascades(app *v1alpha1.Application) bool {
	return slices.ContainsFunc(app.Finalizers, func(f string) bool {
		return f == v1alpha1.FinalizerResources || strings.HasPrefix(f, v1alpha1.FinalizerResources+"/")
	})
}

// Partial says that an operation was about some of the objects only.
func Partial(s *v1alpha1.OperationState) bool {
	return s.Operation.Sync != nil && len(s.Operation.Sync.Resources) > 0
}

// Revision is what an operation syncs to.
func Revision(s *v1alpha1.OperationState) string {
	if s.SyncResult != nil {
		return s.SyncResult.Revision
	}
	if s.Operation.Sync != nil {
		return s.Operation.Sync.Revision
	}
	return ""
}

// Initiator is who asked for an operation; "" is the sync policy.
func Initiator(s *v1alpha1.OperationState) string {
	if s.Operation.InitiatedBy.Automated {
		return ""
	}
	return cmp.Or(s.Operation.InitiatedBy.Username, "somebody")
}
