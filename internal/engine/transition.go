package engine

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/transition"
)

// changed tells what a write changed. What is told was written: a process that
// dies in between tells too little, never what did not happen.
func (e *Engine) changed(ctx context.Context, was, app *v1alpha1.Application) {
	for _, t := range transition.Between(was, app, e.Now()) {
		if t.Kind == transition.Started {
			slog.InfoContext(ctx, "sync started", "app", e.key(app), "revision", short(transition.Revision(t.Operation)),
				"by", transition.Initiator(t.Operation), "partial", transition.Partial(t.Operation))
		}
		if t.Kind == transition.Deleted {
			e.letGoOf(app)
		}
		e.tell(t)
	}
}

// refreshed tells of a look that was made. One that changed something is worth
// a line in everybody's log.
func (e *Engine) refreshed(ctx context.Context, o *observation, start time.Time, d plan.Decision, news bool) {
	took, level := e.Now().Sub(start), slog.LevelDebug
	if news {
		level = slog.LevelInfo
	}
	slog.Log(ctx, level, "refreshed", append([]any{
		"app", e.key(o.app), "cause", causeOf(ctx), "revision", short(o.content.Name()), "reason", d.Reason, "took", took,
	}, o.took...)...)
	e.tell(transition.Transition{Kind: transition.Refreshed, App: o.app, At: e.Now(), Took: took, Message: d.Reason})
}

// healed tells which drift a sync has ended.
func (e *Engine) healed(ctx context.Context, app *v1alpha1.Application, episodes []plan.Episode) {
	if len(episodes) == 0 {
		return
	}
	slog.InfoContext(ctx, "drift healed", "app", e.key(app), "fields", len(episodes),
		"object", episodes[0].Key.String(), "field", episodes[0].Path, "manager", episodes[0].Manager)
	e.tell(transition.Transition{Kind: transition.Healed, App: app, At: e.Now(), Episodes: episodes})
}

// held tells, once, that deletions wait and what for.
func (e *Engine) held(ctx context.Context, app *v1alpha1.Application, state *v1alpha1.OperationState, s plan.Step) {
	if !s.Held || strings.TrimSuffix(state.Message, status.Unlisted) == s.Message {
		return
	}
	slog.WarnContext(ctx, "pruning is held back", "app", e.key(app), "reason", s.Message)
	e.heldBack(app, state, s)
	e.Meter.Refused(s.Rule)
	e.tell(transition.Transition{Kind: transition.PruneHeld, App: app, At: e.Now(), Operation: state, Message: s.Message})
}

func (e *Engine) tell(t transition.Transition) {
	if e.Observe != nil {
		e.Observe(t)
	}
}
