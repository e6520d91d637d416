// Package wish is what people ask of an application by hand: to sync it, to go back, to end what runs, to delete it, to
// make another one of it. It says why that cannot be, and what is to be written. It must not read or write anything
// itself, and it does not know who may ask.
package wish

import (
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Sync is the wish for a sync.
type Sync struct {
	// Revision is for an application with one source, Revisions for one with several: empty ones are the source's own.
	Revision  string
	Revisions []string

	Prune, DryRun bool
	Strategy      *v1alpha1.SyncStrategy
	Resources     []v1alpha1.SyncOperationResource
	// Manifests are synced instead of those of the sources.
	Manifests []string
	Info      []v1alpha1.Info
	// Options take the place of those of the policy; nil leaves these. More come after either, since the last one counts.
	Options v1alpha1.SyncOptions
	More    []string
	// Retry takes the place of that of the policy; nil leaves it.
	Retry *v1alpha1.RetryStrategy
	// By is who asks.
	By string
}

// Reason says why something cannot be done now; empty is that it can.
type Reason string

// The reasons.
const (
	// Deleting is that the application is being deleted, and Busy that another operation runs.
	Deleting Reason = "Deleting"
	Busy     Reason = "Busy"
	// LocalUndone and RevisionUndone are that automation would undo it at once.
	LocalUndone    Reason = "LocalUndone"
	RevisionUndone Reason = "RevisionUndone"
	// RevisionUnclear is that there are several sources and one revision, or not as many revisions as sources.
	RevisionUnclear Reason = "RevisionUnclear"
)

// Running says that an operation was asked for and has not ended.
func Running(app *v1alpha1.Application) bool {
	o := app.Status.OperationState
	return app.Operation != nil || o != nil && !o.Phase.Completed()
}

// Refusal says why an application cannot be synced so now.
func (s Sync) Refusal(app *v1alpha1.Application) Reason {
	automated := app.Spec.SyncPolicy.AutomatedEnabled()
	switch {
	case !app.DeletionTimestamp.IsZero():
		return Deleting
	case Running(app):
		return Busy
	case len(s.Manifests) > 0 && automated && !s.DryRun:
		return LocalUndone
	case len(s.Revisions) > 0 && len(s.Revisions) != max(1, len(app.Spec.Sources)):
		return RevisionUnclear
	case s.DryRun:
		return ""
	case s.Revision != "" && len(app.Spec.Sources) > 0:
		return RevisionUnclear
	case automated && s.elsewhere(app):
		return RevisionUndone
	}
	return ""
}

// elsewhere says that a revision is another one than the application's own.
func (s Sync) elsewhere(app *v1alpha1.Application) bool {
	sources := app.Sources()
	for i, revision := range s.revisions() {
		if revision != "" && i < len(sources) && revision != Target(sources[i]) {
			return true
		}
	}
	return false
}

func (s Sync) revisions() []string {
	if len(s.Revisions) > 0 {
		return s.Revisions
	}
	return []string{s.Revision}
}

// Elsewhere says that the wish is for something else than what the application declares: for another revision, or for
// manifests that are nowhere but here.
func (s Sync) Elsewhere(app *v1alpha1.Application) bool {
	return len(s.Manifests) > 0 || s.elsewhere(app)
}

// Target is the revision that a source names.
func Target(s v1alpha1.ApplicationSource) string {
	if s.TargetRevision == "" {
		return "HEAD"
	}
	return s.TargetRevision
}

// Operation is what is written for the wish.
func (s Sync) Operation(app *v1alpha1.Application) *v1alpha1.Operation {
	op := &v1alpha1.Operation{
		Sync: &v1alpha1.SyncOperation{
			Revision: s.Revision, Revisions: s.Revisions, Prune: s.Prune, DryRun: s.DryRun, Resources: s.Resources,
			Manifests: s.Manifests, SyncStrategy: s.Strategy,
		},
		InitiatedBy: v1alpha1.OperationInitiator{Username: s.By},
		Info:        s.Info,
	}
	// The options of an operation replace those of the policy, so they go along.
	if p := app.Spec.SyncPolicy; p != nil {
		op.Sync.SyncOptions = slices.Clone(p.SyncOptions)
		if p.Retry != nil {
			op.Retry = *p.Retry
		}
	}
	if s.Options != nil {
		op.Sync.SyncOptions = slices.Clone(s.Options)
	}
	op.Sync.SyncOptions = append(op.Sync.SyncOptions, s.More...)
	if s.Retry != nil {
		op.Retry = *s.Retry
	}
	if len(app.Spec.Sources) == 0 && len(s.Revisions) == 1 {
		op.Sync.Revision, op.Sync.Revisions = s.Revisions[0], nil
	}
	return op
}

// Start is what begins an operation. It is bound to the version that was looked at, so that of two people only one
// succeeds, and it takes the state of the operation before away, so that what comes is known to be of this one. A status
// that is not there yet is left alone.
func Start(app *v1alpha1.Application, op *v1alpha1.Operation) map[string]any {
	out := map[string]any{
		"metadata":  map[string]any{"resourceVersion": app.ResourceVersion},
		"operation": op,
	}
	if app.Status.OperationState != nil {
		out["status"] = map[string]any{"operationState": nil}
	}
	return out
}

// End is what ends the operation of an application; nil is that there is none. begun says that it had begun: one that had
// not is taken back.
func End(app *v1alpha1.Application) (patch map[string]any, begun bool) {
	patch = map[string]any{"metadata": map[string]any{"resourceVersion": app.ResourceVersion}}
	switch o := app.Status.OperationState; {
	case o != nil && !o.Phase.Completed():
		patch["status"] = map[string]any{"operationState": map[string]any{"phase": v1alpha1.OperationTerminating}}
		return patch, true
	case app.Operation != nil:
		patch["operation"] = nil
		return patch, false
	}
	return nil, false
}
