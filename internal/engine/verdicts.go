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

// judged are the answers of one cluster about the objects of an application.
type judged struct {
	scope    string
	verdicts map[object.Key]diff.Verdict
}

// knownVerdicts are the server's answers so far; after a restart those that
// the log of pairs has. What another cluster said counts for nothing.
func (e *Engine) knownVerdicts(app, scope string) map[object.Key]diff.Verdict {
	e.mu.Lock()
	known, ok := e.verdicts[app]
	e.mu.Unlock()
	if ok && known.scope == scope {
		return known.verdicts
	}
	known = judged{scope: scope, verdicts: map[object.Key]diff.Verdict{}}
	for _, p := range e.Pairs.Load(app, scope) {
		known.verdicts[p.Key] = p.Verdict()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verdicts[app] = known
	return known.verdicts
}

// keepVerdicts remembers the answers that a plan was made from.
func (e *Engine) keepVerdicts(ctx context.Context, o *observation, p plan.Plan) {
	app, scope := e.key(o.app), o.scope()
	out := make(map[object.Key]diff.Verdict, len(p.Items))
	for _, it := range p.Items {
		// A verdict without an answer is not worth keeping: ask again.
		if it.Live != nil && !it.Prunable && (it.Verdict.Problem == "" || it.Verdict.Rejected) {
			out[it.Key] = it.Verdict
		}
	}
	e.mu.Lock()
	e.verdicts[app] = judged{scope: scope, verdicts: out}
	e.mu.Unlock()
	e.log(ctx, o, out)
}

// confirm remembers what applies have confirmed.
func (e *Engine) confirm(ctx context.Context, o *observation, confirmed map[object.Key]diff.Verdict) {
	app, scope := e.key(o.app), o.scope()
	e.mu.Lock()
	// A plan that is being made may hold the map that stands: it is replaced,
	// not changed.
	known := e.verdicts[app]
	next := make(map[object.Key]diff.Verdict, len(known.verdicts)+len(confirmed))
	if known.scope == scope {
		maps.Copy(next, known.verdicts)
	}
	maps.Copy(next, confirmed)
	e.verdicts[app] = judged{scope: scope, verdicts: next}
	e.mu.Unlock()
	e.log(ctx, o, confirmed)
}

// scope is whose word an answer is: the cluster, and the version of its server.
func (o *observation) scope() string { return o.cluster.View().Identity }

// log writes confirmed pairs for the next process.
func (e *Engine) log(ctx context.Context, o *observation, verdicts map[object.Key]diff.Verdict) {
	var pairs []diff.Pair
	for k, v := range verdicts {
		if p, ok := v.Pair(k); ok {
			pairs = append(pairs, p)
		}
	}
	if err := e.Pairs.Keep(e.key(o.app), o.scope(), pairs); err != nil {
		slog.WarnContext(ctx, "confirmed pairs could not be written; a restart will ask again", "app", e.key(o.app), "error", err)
	}
}

// noPairs is for an engine that does not outlive its process.
type noPairs struct{}

// Load knows nothing.
func (noPairs) Load(string, string) []diff.Pair { return nil }

// Keep keeps nothing.
func (noPairs) Keep(string, string, []diff.Pair) error { return nil }

// Drop has nothing to drop.
func (noPairs) Drop(string) {}

// Mark knows nothing.
func (noPairs) Mark(string) (object.Seen, bool) { return object.Seen{}, false }

// SetMark keeps nothing.
func (noPairs) SetMark(string, object.Seen) error { return nil }

// await notes whether an application waits for a kind of its objects to be
// served or readable.
func (e *Engine) await(o *observation, waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, e.key(o.app))
	if waits {
		e.waiting[e.key(o.app)] = o.cluster.place.Server
	}
}

// waits says whether an application waits for a kind.
func (e *Engine) waits(app string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, waits := e.waiting[app]
	return waits
}

// Waiting are the applications to look at when a cluster serves other kinds
// than before, or can be read where it could not.
func (e *Engine) Waiting(server string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for app, at := range e.waiting {
		if at == server {
			out = append(out, app)
		}
	}
	slices.Sort(out)
	return out
}
