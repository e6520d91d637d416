package server

import (
	"slices"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	// mostPaces is of how many applications the last sync is remembered, and mostSteps how many objects of each.
	mostPaces = 256
	mostSteps = 2_000
)

// paces remembers when the objects of running syncs began and ended. Nothing in an application's status says so; it is what
// this process saw go by, and gone with it. Only syncs that were seen to run are remembered, so that an idle fleet costs
// nothing.
type paces struct {
	mu  sync.Mutex
	now func() time.Time
	by  map[string]*pace
	// order has the applications, the one whose sync began longest ago first.
	order []string
}

// pace is one sync.
type pace struct {
	began time.Time
	steps map[step]*span
	over  bool
}

// step is an object in a phase.
type step struct{ phase, group, kind, namespace, name string }

// span is when an object was seen first, and when it was seen to be done with.
type span struct {
	Began time.Time
	Ended time.Time
}

func newPaces(now func() time.Time) *paces { return &paces{now: now, by: map[string]*pace{}} }

// see takes note of what the status of an application says now. It is told of every change, in their order.
func (p *paces) see(name string, app *v1alpha1.Application) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if app == nil {
		p.forget(name)
		return
	}
	op := app.Status.OperationState
	if op == nil {
		return
	}
	known := p.by[name]
	if known == nil || !known.began.Equal(op.StartedAt.Time) {
		if op.FinishedAt != nil {
			return
		}
		p.forget(name)
		known = &pace{began: op.StartedAt.Time, steps: map[step]*span{}}
		p.by[name], p.order = known, append(p.order, name)
		if len(p.order) > mostPaces {
			p.forget(p.order[0])
		}
	}
	if known.over || op.SyncResult == nil {
		return
	}
	known.note(op, p.now())
}

func (p *pace) note(op *v1alpha1.OperationState, now time.Time) {
	p.over = op.FinishedAt != nil
	for _, r := range op.SyncResult.Resources {
		k := stepOf(r)
		s := p.steps[k]
		if s == nil {
			if len(p.steps) == mostSteps {
				continue
			}
			s = &span{Began: now}
			p.steps[k] = s
		}
		running := r.HookPhase == v1alpha1.OperationRunning && !p.over
		if s.Ended.IsZero() && !running {
			s.Ended = now
		}
	}
}

func stepOf(r v1alpha1.ResourceResult) step {
	return step{phase: string(r.SyncPhase), group: r.Group, kind: r.Kind, namespace: r.Namespace, name: r.Name}
}

func (p *paces) forget(name string) {
	if _, known := p.by[name]; !known {
		return
	}
	delete(p.by, name)
	p.order = slices.DeleteFunc(p.order, func(n string) bool { return n == name })
}

// of is when an object of the sync that began then began and ended.
func (p *paces) of(name string, began time.Time) func(v1alpha1.ResourceResult) (span, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.by[name]
	if known == nil || !known.began.Equal(began) {
		return func(v1alpha1.ResourceResult) (span, bool) { return span{}, false }
	}
	steps := make(map[step]span, len(known.steps))
	for k, s := range known.steps {
		steps[k] = *s
	}
	return func(r v1alpha1.ResourceResult) (span, bool) {
		s, seen := steps[stepOf(r)]
		return s, seen
	}
}

// pointer is a time, or nothing.
func pointer(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
