package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Start is the state of an operation that begins.
func Start(op v1alpha1.Operation, source v1alpha1.ApplicationSource, revision string, now time.Time) *v1alpha1.OperationState {
	return &v1alpha1.OperationState{
		Operation: op,
		Phase:     v1alpha1.OperationRunning,
		Message:   "waiting to start",
		StartedAt: stamp(now),
		SyncResult: &v1alpha1.SyncOperationResult{
			Revision: revision,
			Source:   source,
		},
	}
}

// Progress reads back how far an operation has come.
func Progress(s *v1alpha1.OperationState) plan.Progress {
	p := plan.Progress{Done: map[object.Key]plan.Outcome{}}
	if s.Operation.Sync != nil {
		p.Prune = s.Operation.Sync.Prune
		for _, r := range s.Operation.Sync.Resources {
			p.Only = append(p.Only, object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
	if s.SyncResult == nil {
		return p
	}
	for _, r := range s.SyncResult.Resources {
		k := object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		p.Done[k] = plan.Outcome{Code: plan.Code(r.Status), Message: r.Message}
	}
	return p
}

// Result is the outcome of one object, to be recorded.
type Result struct {
	Item    plan.Item
	Outcome plan.Outcome
	Images  []string
}

// Record adds outcomes to a copy of the state.
func Record(s *v1alpha1.OperationState, results []Result) *v1alpha1.OperationState {
	out := s.DeepCopy()
	if out.SyncResult == nil {
		out.SyncResult = &v1alpha1.SyncOperationResult{}
	}
	for _, r := range results {
		out.SyncResult.Resources = append(out.SyncResult.Resources, v1alpha1.ResourceResult{
			Group: r.Item.Key.Group, Version: r.Item.Version, Kind: r.Item.Key.Kind,
			Namespace: r.Item.Key.Namespace, Name: r.Item.Key.Name,
			Status: v1alpha1.ResultCode(r.Outcome.Code), Message: r.Outcome.Message,
			SyncPhase: v1alpha1.SyncPhase(r.Item.Phase), HookPhase: hookPhase(r.Outcome.Code),
			Images: r.Images,
		})
	}
	return out
}

// hookPhase is what Argo CD writes beside the result of an ordinary object:
// an applied one "runs" until its wave is over.
func hookPhase(c plan.Code) v1alpha1.OperationPhase {
	switch c {
	case plan.CodeFailed:
		return v1alpha1.OperationFailed
	case plan.CodePruned, plan.CodePruneSkipped:
		return v1alpha1.OperationSucceeded
	default:
		return v1alpha1.OperationRunning
	}
}

// Finish ends an operation.
func Finish(s *v1alpha1.OperationState, phase v1alpha1.OperationPhase, message string, now time.Time) *v1alpha1.OperationState {
	out := s.DeepCopy()
	out.Phase, out.Message = phase, message
	t := stamp(now)
	out.FinishedAt = &t
	return out
}

// Remember adds a successful sync to the history and drops what is over the
// limit, the oldest first. Dry-runs and partial syncs leave no entry: there is
// nothing whole to go back to.
func Remember(app *v1alpha1.Application, s *v1alpha1.OperationState) v1alpha1.RevisionHistories {
	history := app.Status.History
	sync := s.Operation.Sync
	if s.Phase != v1alpha1.OperationSucceeded || sync == nil || sync.DryRun || len(sync.Resources) > 0 || s.SyncResult == nil {
		return history
	}
	id := int64(0)
	if n := len(history); n > 0 {
		id = history[n-1].ID + 1
	}
	started := s.StartedAt
	history = append(slices.Clone(history), v1alpha1.RevisionHistory{
		ID: id, Revision: s.SyncResult.Revision, Source: s.SyncResult.Source,
		DeployStartedAt: &started, DeployedAt: *s.FinishedAt, InitiatedBy: s.Operation.InitiatedBy,
	})
	limit := int64(defaultHistory)
	if app.Spec.RevisionHistoryLimit != nil {
		limit = max(0, *app.Spec.RevisionHistoryLimit)
	}
	if over := int64(len(history)) - limit; over > 0 {
		history = history[over:]
	}
	return history
}

const defaultHistory = 10

// stamp is a time as the API keeps it.
func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
