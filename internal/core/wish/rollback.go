package wish

import (
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
)

// Rollback is the wish to go back to what was deployed before.
type Rollback struct {
	// To is the entry of the history.
	To            v1alpha1.RevisionHistory
	Prune, DryRun bool
	By            string
}

// Entry finds the entry of the history to go back to: the one with the ID, or for nil the newest that differs from what is
// deployed.
func Entry(app *v1alpha1.Application, id *int64) (v1alpha1.RevisionHistory, bool) {
	history := app.Status.History
	for _, h := range slices.Backward(history) {
		switch {
		case id != nil && h.ID != *id:
		case id == nil && status.Deployed(h).Same(status.Deployed(history[len(history)-1])):
		default:
			return h, true
		}
	}
	return v1alpha1.RevisionHistory{}, false
}

// Leaving is the revision that automation must not take up again; "" where there is no automation, or nothing is left.
func (r Rollback) Leaving(app *v1alpha1.Application) string {
	compared, wanted := status.Compared(app.Status.Sync).Name(), status.Deployed(r.To).Name()
	if r.DryRun || !app.Spec.SyncPolicy.AutomatedEnabled() || compared == wanted {
		return ""
	}
	return compared
}

// Patch starts the operation and, in the same write, keeps automation from undoing it.
func (r Rollback) Patch(app *v1alpha1.Application) map[string]any {
	op := &v1alpha1.Operation{
		InitiatedBy: v1alpha1.OperationInitiator{Username: r.By},
		Sync: &v1alpha1.SyncOperation{
			Revision: r.To.Revision, Revisions: r.To.Revisions, Sources: r.To.Sources, Prune: r.Prune, DryRun: r.DryRun,
			SyncStrategy: &v1alpha1.SyncStrategy{Apply: &v1alpha1.SyncStrategyApply{}},
		},
	}
	if len(r.To.Sources) == 0 {
		op.Sync.Source = &r.To.Source
	}
	if p := app.Spec.SyncPolicy; p != nil {
		op.Sync.SyncOptions = p.SyncOptions
	}
	out := Start(app, op)
	if left := r.Leaving(app); left != "" {
		meta, _ := out["metadata"].(map[string]any)
		meta["annotations"] = map[string]any{v1alpha1.AnnotationRejected: left}
	}
	return out
}
