package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/herald"
)

// shift is what acts while this process leads. Each time it is made anew:
// everything is looked at again, and nothing is remembered of the time before.
type shift struct {
	engine     *engine.Engine
	controller *controller.Controller
	herald     *herald.Herald
}

func (p *parts) newShift(o runOptions) *shift {
	t := &shift{herald: p.newHerald()}
	t.engine = engine.New(engine.Options{
		SetOptions: engine.SetOptions{Sets: p.hub, Author: p.hub, Oracle: p.oracle, Ancestry: p.sources.git, Known: p.knownClusters},

		Namespace: o.namespace,
		Hub:       p.hub,
		Sources:   p.sources,
		Shelf:     p.shelf,
		Changer:   p.sources.git,
		Verifier:  p.sources.git,
		Renderer:  p.renders,
		Clusters:  many{p.fleet},
		Settings:  p.engineSettings,
		Compiler:  compiler,
		Pairs:     p.pairs,
		Projects:  p.hub,
		Scoped:    scoped{repositories: p.settings.Repositories, clusters: p.settings.Clusters},
		As:        actAs,
		Tracker:   p.tracker,
		Health:    p.scripts.health,
		Now:       time.Now,
		Observe:   p.observe,
		Journal:   p.ledger.Append,
		Meter:     meter{p.metrics},
		Tracer:    p.tracer,
	})
	p.metrics.Restart()
	t.controller = controller.New(controller.Options{
		Namespace:  o.namespace,
		Reconciler: traced{t.engine, p},
		Resolver:   p.sources,
		Foreseer:   p.sources.git,
		Touched:    t.engine.Touched,
		Poll: func() (time.Duration, time.Duration) {
			s := p.settings.Current()
			return s.Reconciliation, s.Jitter
		},
		Workers:    o.workers,
		Place:      p.place,
		Auditor:    t.engine,
		AuditEvery: o.audit,
		Projects:   t.engine,
		Sets:       timedSets{t.engine, p.metrics, p.namespace},
		SetWorkers: p.setWorkers,
		Metrics:    p.metrics.Queues(),
	})
	return t
}

// lead acts until ctx ends, which is when another leads or the process is to
// end. While Argo CD acts on the same applications it does nothing, and says so:
// of two controllers one has to.
func (p *parts) lead(ctx context.Context, o runOptions, since time.Time) error {
	for ctx.Err() == nil {
		why, changed, err := p.rivals.Passive(ctx)
		if err != nil {
			return interruptedOr(ctx, err)
		}
		if why != "" {
			slog.WarnContext(ctx, "passive", "reason", why)
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		acting, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-changed:
				stop()
			case <-acting.Done():
			}
		}()
		err = p.act(acting, o, since)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// act does the work of whoever leads until ctx ends. What happened by then is
// still told.
func (p *parts) act(ctx context.Context, o runOptions, since time.Time) error {
	if err := p.ensureProject(ctx); err != nil {
		return interruptedOr(ctx, err)
	}
	telling, told := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer told()
	wg.Go(func() { p.events.Run(telling) })
	t := p.newShift(o)
	p.shift.Store(t)
	defer p.shift.Store(nil)
	p.brief(ctx, t)
	wg.Go(func() { p.notify(ctx, t.herald) })
	slog.InfoContext(ctx, "ready", "took", time.Since(since).Round(time.Millisecond), "workers", o.workers, "sandbox", p.renders.Sandbox())
	t.controller.Run(ctx)
	return nil
}

// ensureProject makes the project that applications without one belong to,
// unless it is there.
func (p *parts) ensureProject(ctx context.Context) error {
	if _, err := p.hub.Project(ctx, v1alpha1.DefaultProjectName); err == nil {
		return nil
	}
	err := p.hub.EnsureDefaultProject(ctx)
	switch {
	case err == nil:
		return nil
	case fault.ClassOf(err) == fault.Terminal:
		return fmt.Errorf("%w; are the CRDs installed and does namespace %q exist?", err, p.namespace)
	}
	slog.WarnContext(ctx, "the default project could not be made; applications without a project wait for it", "error", err)
	return nil
}

// brief tells a shift of all that there is. What changes meanwhile it is told too,
// and in order: each application is looked up when it is its turn.
func (p *parts) brief(ctx context.Context, t *shift) {
	for _, known := range p.hub.Known() {
		p.telling.Lock()
		// One that is gone by now is not there to be told of.
		if app, err := p.hub.Application(ctx, object.AppName(p.namespace, known.Namespace, known.Name)); err == nil {
			t.controller.ApplicationChanged(nil, app)
		}
		p.telling.Unlock()
	}
	for _, set := range p.hub.Sets() {
		t.controller.EnqueueSet(set)
	}
	for _, project := range p.hub.KnownProjects() {
		t.controller.ProjectChanged(project.Name)
	}
}

// warm has the clusters of applications watched before anybody needs them, while
// another replica leads.
func (p *parts) warm(apps ...*v1alpha1.Application) {
	if p.fleet == nil || p.shift.Load() != nil {
		return
	}
	for _, app := range apps {
		// What is wrong with a destination is said by whoever leads.
		_, _, _ = p.fleet.For(app.Spec.Destination)
	}
}
