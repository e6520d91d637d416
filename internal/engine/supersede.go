package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/status"
)

// supersede gives way to a newer commit, or a changed source, while a sync that
// nobody asked for by hand is waiting. done says that it did.
func (e *Engine) supersede(
	ctx context.Context, app *v1alpha1.Application, state *v1alpha1.OperationState,
) (r Result, done bool, err error) {
	if !state.Operation.InitiatedBy.Automated || state.Phase != v1alpha1.OperationRunning || state.SyncResult == nil {
		return Result{}, false, nil
	}
	revisions, err := e.targets(ctx, app)
	if err != nil {
		// What cannot be looked at is not newer.
		return Result{}, false, nil
	}
	now := status.ContentOf(app)
	if now.Revisions = revisions; now.Same(status.Synced(state.SyncResult)) {
		return Result{}, false, nil
	}
	o := e.observe(ctx, app, look{})
	if interrupted(ctx) {
		return Result{}, true, nil
	}
	if o.plan == nil || o.content.Same(status.Synced(state.SyncResult)) {
		// The newer commit is the same to this application.
		return Result{}, false, nil
	}
	message := fmt.Sprintf("superseded by %s while it was waiting: %s", short(o.content.Name()), state.Message)
	ended := status.Finish(state, v1alpha1.OperationFailed, message, e.Now())
	o.app = app.DeepCopy()
	o.app.Status.OperationState = ended
	decision := e.autoSync(o)
	o.app = app
	if decision.Sync {
		o.reason = decision.Reason
		r, err = e.begin(ctx, o, automatic(app, o, decision))
		return r, true, err
	}
	r, err = e.finish(ctx, o, ended)
	return r, true, err
}

// targets are the revisions that the sources of an application stand at.
func (e *Engine) targets(ctx context.Context, app *v1alpha1.Application) ([]string, error) {
	var out []string
	for _, s := range app.Sources() {
		revision, _, err := e.Sources.Resolve(ctx, manifest.OriginOf(app, s), e.Settings().MaxAge)
		if err != nil {
			return nil, err
		}
		out = append(out, revision)
	}
	return out, nil
}

// pending tells of an attempt that waits for its time, unless something newer
// makes it moot.
func (e *Engine) pending(
	ctx context.Context, app *v1alpha1.Application, state *v1alpha1.OperationState, wait time.Duration,
) (Result, error) {
	if r, done, err := e.supersede(ctx, app, state); done {
		return r, err
	}
	return Result{After: wait}, nil
}

// replan makes the plan again for a run that has just begun.
func (e *Engine) replan(ctx context.Context, o *observation, state *v1alpha1.OperationState) error {
	again := e.observe(ctx, o.app, lookFor(&state.Operation, state, false))
	if again.plan == nil {
		return fmt.Errorf("planning the sync of application %q: %s", e.key(o.app), why(again))
	}
	*o = *again
	return nil
}
