package main

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/engine"
)

// counter counts the reconciles that the queue asks for.
type counter struct {
	controller.Reconciler
	calls, failures, woken atomic.Int64
	last                   atomic.Int64

	mu   sync.Mutex
	seen map[string]struct{}
	// wanted is how many applications somebody waits for.
	wanted int
	all    chan struct{}
}

// everybody is closed once so many applications were looked at.
func (c *counter) everybody(apps int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= apps {
		return closed
	}
	c.wanted, c.all = apps, make(chan struct{})
	return c.all
}

// closed is a channel for those who need not wait.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Reconcile counts and passes on.
func (c *counter) Reconcile(ctx context.Context, name string) (engine.Result, error) {
	c.calls.Add(1)
	result, err := c.Reconciler.Reconcile(ctx, name)
	if err != nil {
		c.failures.Add(1)
	}
	c.last.Store(time.Now().UnixNano())
	c.mu.Lock()
	c.seen[name] = struct{}{}
	if c.all != nil && len(c.seen) >= c.wanted {
		close(c.all)
		c.all = nil
	}
	c.mu.Unlock()
	return result, err
}

func (c *counter) counts() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return map[string]int64{
		"reconciles": c.calls.Load(), "failures": c.failures.Load(), "woken": c.woken.Load(), "apps": int64(len(c.seen)),
	}
}

// idle says that an application is Synced and that nothing is under way.
func idle(app *v1alpha1.Application) bool {
	op := app.Status.OperationState
	return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Operation == nil && op != nil && op.Phase.Completed()
}

// settledAt says that an application is Synced, Healthy and idle, at a revision
// if there is one.
func settledAt(app *v1alpha1.Application, revision string) bool {
	return app != nil && idle(app) && app.Status.Health.Status == v1alpha1.HealthStatusHealthy &&
		(revision == "" || app.Status.Sync.Revision == revision)
}

// building counts the applications that something is still to become true of.
type building struct {
	mu    sync.Mutex
	left  int
	holds func(old, app *v1alpha1.Application) bool
	done  map[string]struct{}
	all   chan struct{}
}

func newBuilding() *building { return &building{} }

// expect returns a channel that is closed when it was true of so many.
func (b *building) expect(apps int, holds func(old, app *v1alpha1.Application) bool) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.holds, b.done, b.all = apps, holds, map[string]struct{}{}, make(chan struct{})
	return b.all
}

func (b *building) saw(old, app *v1alpha1.Application) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 || !b.holds(old, app) {
		return
	}
	name := cmp.Or(app, old).Name
	if _, ok := b.done[name]; ok {
		return
	}
	b.done[name] = struct{}{}
	if b.left--; b.left == 0 {
		close(b.all)
	}
}

func wait(ctx context.Context, all <-chan struct{}) error {
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
