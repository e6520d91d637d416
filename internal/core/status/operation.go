package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Start is the state of an operation that begins.
func Start(op v1alpha1.Operation, of Content, now time.Time) *v1alpha1.OperationState {
	return &v1alpha1.OperationState{
		Operation:  op,
		Phase:      v1alpha1.OperationRunning,
		Message:    "waiting to start",
		StartedAt:  stamp(now),
		SyncResult: of.result(),
	}
}

// Progress reads back how far an operation has come.
func Progress(s *v1alpha1.OperationState) plan.Progress {
	p := plan.Progress{Done: map[plan.Task]plan.Outcome{}}
	if sync := s.Operation.Sync; sync != nil {
		p.Prune = sync.Prune
		p.NoHooks = sync.SyncStrategy != nil && sync.SyncStrategy.Apply != nil
		for _, r := range sync.Resources {
			p.Only = append(p.Only, plan.Selector{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
	if s.SyncResult == nil {
		return p
	}
	for _, r := range s.SyncResult.Resources {
		o := plan.Outcome{Code: plan.Code(r.Status), Message: r.Message}
		if r.HookType != "" {
			o.Result = plan.Ending(r.HookPhase)
		}
		p.Done[taskOf(r)] = o
	}
	return p
}

func taskOf(r v1alpha1.ResourceResult) plan.Task {
	return plan.Task{
		Phase: plan.Phase(r.SyncPhase),
		Key:   object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name},
	}
}

// RunOf is the attempt that a running operation is.
func RunOf(s *v1alpha1.OperationState) plan.Run {
	r := plan.Run{Started: s.StartedAt.Time, Attempt: int(s.RetryCount)}
	if s.SyncResult != nil {
		r.Revision = Synced(s.SyncResult).First()
	}
	return r
}

// Result is the outcome of one object, to be recorded.
type Result struct {
	Item    plan.Item
	Outcome plan.Outcome
	Images  []string
}

// Record adds outcomes to a copy of the state. A later word on the same object
// takes the place of an earlier one.
func Record(s *v1alpha1.OperationState, results []Result) *v1alpha1.OperationState {
	out := s.DeepCopy()
	if out.SyncResult == nil {
		out.SyncResult = &v1alpha1.SyncOperationResult{}
	}
	at := make(map[plan.Task]int, len(out.SyncResult.Resources))
	for i, r := range out.SyncResult.Resources {
		at[taskOf(r)] = i
	}
	for _, r := range results {
		next := resourceResult(r)
		i, again := at[r.Item.Task()]
		if !again {
			out.SyncResult.Resources = append(out.SyncResult.Resources, next)
			continue
		}
		if next.Message == "" {
			next.Message = out.SyncResult.Resources[i].Message
		}
		next.Images = out.SyncResult.Resources[i].Images
		out.SyncResult.Resources[i] = next
	}
	return out
}

func resourceResult(r Result) v1alpha1.ResourceResult {
	out := v1alpha1.ResourceResult{
		Group: r.Item.Key.Group, Version: r.Item.Version, Kind: r.Item.Key.Kind,
		Namespace: r.Item.Key.Namespace, Name: r.Item.Key.Name,
		Status: v1alpha1.ResultCode(r.Outcome.Code), Message: r.Outcome.Message,
		SyncPhase: v1alpha1.SyncPhase(r.Item.Phase), HookPhase: hookPhase(r.Outcome),
		Images: r.Images,
	}
	if r.Item.Hook {
		out.HookType = v1alpha1.HookType(r.Item.Phase)
	}
	return out
}

// hookPhase is how far a hook is, and what Argo CD writes beside the result of
// an ordinary object: an applied one "runs" until its wave is over.
func hookPhase(o plan.Outcome) v1alpha1.OperationPhase {
	switch {
	case o.Code == plan.CodeFailed:
		return v1alpha1.OperationFailed
	case o.Result != "":
		return v1alpha1.OperationPhase(o.Result)
	case o.Code == plan.CodePruned, o.Code == plan.CodePruneSkipped:
		return v1alpha1.OperationSucceeded
	default:
		return v1alpha1.OperationRunning
	}
}

// Wait is an operation that failed and will be tried again: it is still
// running, with the time at which its last attempt ended.
func Wait(s *v1alpha1.OperationState, message string, wait time.Duration, now time.Time) *v1alpha1.OperationState {
	out := s.DeepCopy()
	t := stamp(now)
	out.FinishedAt = &t
	out.RetryCount++
	out.Message = fmt.Sprintf("%s. Retrying attempt #%d at %s.", message, out.RetryCount, t.Add(wait).Format(time.Kitchen))
	return out
}

// Again begins the next attempt of an operation: what the last one did is not
// recorded any more.
func Again(s *v1alpha1.OperationState, of Content) *v1alpha1.OperationState {
	out := s.DeepCopy()
	out.FinishedAt = nil
	out.SyncResult = of.result()
	return out
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
		Revisions: s.SyncResult.Revisions, Sources: s.SyncResult.Sources,
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
