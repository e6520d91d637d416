package engine

import (
	"context"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// Meter counts what nobody else sees. It must not block.
type Meter interface {
	// Gate counts the objects of a look that were vouched for by what is known of
	// them, and those that the server was asked about.
	Gate(passed, asked int)
	// Rendered counts a render, by why what is known would not do.
	Rendered(cause string, took time.Duration)
	// Requested counts a request to a cluster.
	Requested(r Requested)
	// Waited counts how long a sync waited, and what for.
	Waited(cause string, took time.Duration)
	// Refused counts an object that was not deleted, by the rule that kept it.
	Refused(rule string)
}

// Requested is a request to a cluster that was made for an application.
type Requested struct {
	App          *v1alpha1.Application
	Server, Verb string
	Object       object.Key
	DryRun       bool
	Err          error
}

type noMeter struct{}

func (noMeter) Gate(int, int)                  {}
func (noMeter) Rendered(string, time.Duration) {}
func (noMeter) Requested(Requested)            {}
func (noMeter) Waited(string, time.Duration)   {}
func (noMeter) Refused(string)                 {}

// Tracer tells how long the parts of the work take. end is called when the part
// is over; attributes are keys and values, as slog has them.
type Tracer interface {
	Span(ctx context.Context, name string, attributes ...any) (inner context.Context, end func(error))
}

type noTracer struct{}

func (noTracer) Span(ctx context.Context, _ string, _ ...any) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// causeKey is where a context says why an application is looked at.
type causeKey struct{}

// Because has the log say why an application is looked at.
func Because(ctx context.Context, cause string) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

func causeOf(ctx context.Context) string {
	cause, _ := ctx.Value(causeKey{}).(string)
	return cause
}

// part begins a part of a look, whose time is told by the log and by traces.
func (o *observation) part(ctx context.Context, name string) (inner context.Context, end func(error)) {
	start := o.engine.Now()
	inner, over := o.engine.Tracer.Span(ctx, name, "app", o.engine.key(o.app))
	return inner, func(err error) {
		o.took = append(o.took, name, o.engine.Now().Sub(start))
		over(err)
	}
}

func timed[T any](ctx context.Context, o *observation, name string, do func(context.Context) (T, error)) (T, error) {
	inner, end := o.part(ctx, name)
	out, err := do(inner)
	end(err)
	return out, err
}

// judgedItems is how many objects stand that Git has too: only of those the
// server can be asked whether they are in sync.
func judgedItems(p plan.Plan) int {
	n := 0
	for _, it := range p.Items {
		if it.Live != nil && it.Desired.Body != nil && !it.Hook {
			n++
		}
	}
	return n
}

// renderCause is why a render was made: somebody asked for it, the question was
// never asked before (the first time, or with other parameters), what it was
// rendered for has changed, or the content has.
func (e *Engine) renderCause(ask string, req manifest.Request, l look) string {
	if l.hard {
		return "hard_refresh"
	}
	known := e.renders.answers(ask)
	if len(known) == 0 {
		return "new_question"
	}
	for _, r := range known {
		if !r.serves(req) {
			return "revision_or_apis"
		}
	}
	return "content"
}

// pauses remembers since when the syncs of applications wait, and what for. A
// restart forgets it, and counts from then on.
type pauses struct {
	mu  sync.Mutex
	now map[string]pausing
}

type pausing struct {
	cause string
	since time.Time
}

func newPauses() *pauses { return &pauses{now: map[string]pausing{}} }

func (p *pauses) begin(app, cause string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now[app].cause != cause {
		p.now[app] = pausing{cause, now}
	}
}

func (p *pauses) end(app string) (pausing, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, ok := p.now[app]
	delete(p.now, app)
	return was, ok
}

// resumed counts how long a sync waited that goes on now.
func (e *Engine) resumed(o *observation) {
	if was, ok := e.pauses.end(e.key(o.app)); ok {
		e.Meter.Waited(was.cause, e.Now().Sub(was.since))
	}
}

// pauseCause is what a step waits for.
func pauseCause(s plan.Step) string {
	switch {
	case s.Held:
		return "prune"
	case s.Mid:
		return "hook"
	default:
		return "health"
	}
}
