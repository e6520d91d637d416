package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// knownVerdicts are the server's answers so far; after a restart those that
// the log of pairs has.
func (e *Engine) knownVerdicts(app string) map[object.Key]diff.Verdict {
	e.mu.Lock()
	known, ok := e.verdicts[app]
	e.mu.Unlock()
	if ok {
		return known
	}
	known = map[object.Key]diff.Verdict{}
	for _, p := range e.Pairs.Load(app) {
		known[p.Key] = p.Verdict()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verdicts[app] = known
	return known
}

// keepVerdicts remembers the answers that a plan was made from.
func (e *Engine) keepVerdicts(ctx context.Context, app string, p plan.Plan) {
	out := make(map[object.Key]diff.Verdict, len(p.Items))
	for _, it := range p.Items {
		// A verdict without an answer is not worth keeping: ask again.
		if it.Live != nil && !it.Prunable && (it.Verdict.Problem == "" || it.Verdict.Rejected) {
			out[it.Key] = it.Verdict
		}
	}
	e.mu.Lock()
	e.verdicts[app] = out
	e.mu.Unlock()
	e.log(ctx, app, out)
}

// confirm remembers what applies have confirmed.
func (e *Engine) confirm(ctx context.Context, app string, confirmed map[object.Key]diff.Verdict) {
	e.mu.Lock()
	// A plan that is being made may hold the map that stands: it is replaced,
	// not changed.
	next := make(map[object.Key]diff.Verdict, len(e.verdicts[app])+len(confirmed))
	maps.Copy(next, e.verdicts[app])
	maps.Copy(next, confirmed)
	e.verdicts[app] = next
	e.mu.Unlock()
	e.log(ctx, app, confirmed)
}

// log writes confirmed pairs for the next process.
func (e *Engine) log(ctx context.Context, app string, verdicts map[object.Key]diff.Verdict) {
	var pairs []diff.Pair
	for k, v := range verdicts {
		if p, ok := v.Pair(k); ok {
			pairs = append(pairs, p)
		}
	}
	if err := e.Pairs.Keep(app, pairs); err != nil {
		slog.WarnContext(ctx, "confirmed pairs could not be written; a restart will ask again", "app", app, "error", err)
	}
}

// noPairs is for an engine that does not outlive its process.
type noPairs struct{}

// Load knows nothing.
func (noPairs) Load(string) []diff.Pair { return nil }

// Keep keeps nothing.
func (noPairs) Keep(string, []diff.Pair) error { return nil }

// Drop has nothing to drop.
func (noPairs) Drop(string) {}

// await notes whether an application waits for a kind of its objects to be
// served or readable.
func (e *Engine) await(app string, waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, app)
	if waits {
		e.waiting[app] = struct{}{}
	}
}

// Waiting are the applications to look at when a cluster serves other kinds
// than before, or can be read where it could not.
func (e *Engine) Waiting() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.waiting))
}
