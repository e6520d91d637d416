package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/pairs"
	"github.com/towline-cd/towline/internal/render"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/shelf"
	"github.com/towline-cd/towline/internal/source"
)

// enginePart is the product: the same parts that `towline run` wires, with a
// counter between the queue and the engine.
type enginePart struct {
	setup      setup
	cluster    *cluster.Cluster
	hub        *hub.Cache
	engine     *engine.Engine
	controller *controller.Controller
	pairs      *pairs.Store
	counter    *counter
	sources    *source.Store
	renders    *renderCounter
	running    sync.Once
	built      *building
	// gone is closed when the applications are that were to go.
	gone <-chan struct{}
	// secrets are those of clusters, once somebody wants them; joined tells
	// that one changed.
	secrets atomic.Pointer[settings.Store]
	joined  chan struct{}
}

// workers is how many applications are worked on at once, as `towline run` has
// it by default.
const workers = 10

func newEnginePart(s setup) (part, error) {
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	p := &enginePart{
		setup: s, counter: &counter{seen: map[string]struct{}{}}, built: newBuilding(), joined: make(chan struct{}, 1),
	}
	client, err := hub.New(config, controlNamespace)
	if err != nil {
		return nil, err
	}
	p.hub, err = hub.NewCache(client, hub.Events{
		Application: func(old, app *v1alpha1.Application) {
			p.controller.ApplicationChanged(old, app)
			p.built.saw(old, app)
		},
		Project: func(_ string, apps []string) {
			for _, app := range apps {
				p.controller.Enqueue(app, controller.User)
			}
		},
	}, hub.Namespaces{})
	if err != nil {
		return nil, err
	}
	if p.cluster, err = cluster.New(config, p.changed); err != nil {
		return nil, err
	}
	if p.sources, err = source.New(source.Options{Dir: filepath.Join(s.Data, "git"), AllowFile: true}); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	p.renders = &renderCounter{Renderer: render.NewHost(render.HostOptions{Command: []string{self, renderWord}})}
	kept, err := shelf.Open(filepath.Join(s.Data, "renders"), shelfSize)
	if err != nil {
		return nil, err
	}
	if p.pairs, err = pairs.Open(filepath.Join(s.Data, pairsFolder)); err != nil {
		return nil, err
	}
	p.engine = engine.New(engine.Options{
		SetOptions: engine.SetOptions{Sets: p.hub, Author: p.hub, Ancestry: p.sources, Known: p.known},

		Namespace: controlNamespace, Hub: p.hub, Sources: gitOnly{p.sources}, Renderer: p.renders,
		Changer: p.sources, Shelf: kept, Clusters: single{p.cluster}, Pairs: p.pairs, Now: time.Now,
		Settings: func() engine.Settings {
			return engine.Settings{Name: pairs.Program(), MaxAge: time.Hour, Backoff: plan.DefaultBackoff, ConfirmRate: float64(s.Rate)}
		},
	})
	p.counter.Reconciler = p.engine
	p.controller = controller.New(controller.Options{
		Namespace: controlNamespace, Reconciler: p.counter, Resolver: p.sources, Workers: workers, Touched: p.engine.Touched,
		// Repositories are looked at by nobody: that is another scenario's matter.
		Poll: func() (time.Duration, time.Duration) { return 0, 0 },
	})
	return p, nil
}

// changed wakes the applications that a live object belongs to.
func (p *enginePart) changed(ch cluster.Change) {
	for _, f := range []*object.Fact{ch.Old, ch.New} {
		if f == nil || f.App == "" {
			continue
		}
		p.counter.woken.Add(1)
		if ns, name := object.SplitInstance(controlNamespace, f.App); ns == controlNamespace {
			p.controller.Enqueue(name, controller.Drift)
		}
	}
}

// single is the one destination.
type single struct{ cluster engine.Cluster }

// For finds the cluster of a destination.
func (s single) For(d v1alpha1.ApplicationDestination) (engine.Cluster, string, string, error) {
	if d.Server == v1alpha1.InClusterServer {
		return s.cluster, v1alpha1.InClusterServer, v1alpha1.InClusterName, nil
	}
	return nil, "", "", fault.Terminalf("UnknownCluster", "cluster %q is not known", d.Server)
}

func (p *enginePart) do(ctx context.Context, o order) (map[string]int64, error) {
	switch o.Do {
	case "start":
		return nil, p.start(ctx)
	case "run":
		p.running.Do(func() { go p.controller.Run(ctx) })
		err := p.settle(ctx)
		return p.counter.counts(), err
	case "bootstrap":
		all := p.built.expect(p.setup.Apps, func(_, app *v1alpha1.Application) bool { return settledAt(app, "") })
		p.running.Do(func() { go p.controller.Run(ctx) })
		err := wait(ctx, all)
		return p.counter.counts(), err
	case "looked":
		p.running.Do(func() { go p.controller.Run(ctx) })
		err := wait(ctx, p.counter.everybody(p.setup.Apps))
		return p.counts(), err
	case "follow":
		all := p.built.expect(p.setup.Apps, func(_, app *v1alpha1.Application) bool { return settledAt(app, o.Version) })
		_, err := p.do(ctx, order{Do: "hint", Object: o.Object})
		return p.counts(), errors.Join(err, wait(ctx, all))
	case "expect-none":
		p.gone = p.built.expect(p.setup.Apps, func(old, app *v1alpha1.Application) bool { return old != nil && app == nil })
		return nil, nil
	case "removed":
		return p.counts(), wait(ctx, p.gone)
	case "settle":
		err := p.settle(ctx)
		return p.counts(), err
	case "counts":
		return p.counts(), nil
	case "hint":
		// What a webhook does: look now, and tell whom it concerns.
		_, _, err := p.sources.Resolve(ctx, manifest.Origin{RepoURL: o.Object, Revision: "main"}, 0)
		p.controller.Hint(o.Object)
		return p.counts(), err
	case "span":
		// The caller makes something happen meanwhile.
		time.Sleep(spanTime)
		return p.counter.counts(), nil
	case "seen":
		return nil, p.see(ctx, o)
	case "generate":
		_, err := p.engine.ReconcileSet(ctx, o.Object, engine.SetLook{})
		return p.counts(), err
	case "spread":
		return p.counts(), p.generateSpread(ctx, o)
	case "warm":
		return p.pass(ctx, workers)
	case "pass":
		return p.pass(ctx, 1)
	case "end":
		return nil, p.pairs.Close()
	case "bare":
		return barePass(p.setup.Apps), nil
	}
	return nil, fmt.Errorf("unknown order %q", o.Do)
}

// counts are everything that is counted.
func (p *enginePart) counts() map[string]int64 {
	out := p.counter.counts()
	out["renders"] = p.renders.calls.Load()
	out["lsRemotes"], out["fetches"] = p.sources.Stats()
	return out
}

// renderCounter counts renders.
type renderCounter struct {
	engine.Renderer
	calls atomic.Int64
}

// Render counts and passes on.
func (r *renderCounter) Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	r.calls.Add(1)
	return r.Renderer.Render(ctx, trees, req)
}

// gitOnly are the sources of the worlds: repositories of git.
type gitOnly struct{ *source.Store }

// File is not asked for.
func (gitOnly) File(context.Context, string, string) (fs.FS, error) {
	return nil, errors.New("the worlds have no files elsewhere")
}

// shelfSize is as `towline run` has it.
const shelfSize = 512 << 20

func (p *enginePart) start(ctx context.Context) error {
	defer cluster.Frugal()()
	go p.hub.Run(ctx)
	go func() { _ = p.cluster.Run(ctx) }()
	if !p.hub.WaitReady(ctx) {
		return errors.New("waiting for the hub: interrupted")
	}
	// As `towline run` does: who knows it does not ask for it.
	if _, err := p.hub.Project(ctx, v1alpha1.DefaultProjectName); err != nil {
		if err := p.hub.EnsureDefaultProject(ctx); err != nil {
			return err
		}
	}
	select {
	case <-p.cluster.Ready():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spanTime is how long a profile of what happens by itself is.
const spanTime = 5 * time.Second

// quiet is how long nothing must happen until everything has settled.
const quiet = 1500 * time.Millisecond

// settle waits until every application was looked at, is Synced and idle, and
// the queue has been quiet for a while.
func (p *enginePart) settle(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		still := time.Since(time.Unix(0, p.counter.last.Load())) > quiet
		if still && p.counter.counts()["apps"] >= int64(p.setup.Apps) && p.unsettled(ctx) == "" {
			return nil
		}
	}
}

// unsettled names an application that is not Synced and idle, if there is one.
func (p *enginePart) unsettled(ctx context.Context) string {
	for i := range p.setup.Apps {
		app, err := p.hub.Application(ctx, appName(i))
		if err != nil {
			return appName(i)
		}
		if !idle(app) {
			return appName(i)
		}
	}
	return ""
}

// see waits until the index has come past a version of an application's
// Deployment.
func (p *enginePart) see(ctx context.Context, o order) error {
	var app int
	if _, err := fmt.Sscanf(o.Object, "app-%05d", &app); err != nil {
		return fmt.Errorf("reading the object's name %q: %w", o.Object, err)
	}
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: namespaceOf(app), Name: o.Object}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if f, ok := p.cluster.Fact(k); ok && f.ResourceVersion == o.Version {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// pass reconciles every application once, without the queue.
func (p *enginePart) pass(ctx context.Context, parallel int) (map[string]int64, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range p.setup.Apps {
		g.Go(func() error {
			_, err := p.engine.Reconcile(ctx, appName(i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if name := p.unsettled(ctx); name != "" {
		return nil, fmt.Errorf("application %q is not Synced and idle", name)
	}
	return map[string]int64{"reconciles": int64(p.setup.Apps)}, nil
}

// barePass is the least that anybody must do to know that nothing changed: find
// two digests for each of ten objects of every application and compare them.
func barePass(apps int) map[string]int64 {
	const objects = 10
	type pair struct{ desired, live [32]byte }
	known := make(map[string]map[int]pair, apps)
	for i := range apps {
		known[appName(i)] = make(map[int]pair, objects)
		for j := range objects {
			known[appName(i)][j] = pair{}
		}
	}
	start := time.Now()
	var equal int64
	for i := range apps {
		for _, p := range known[appName(i)] {
			if p.desired == p.live {
				equal++
			}
		}
	}
	return map[string]int64{"equal": equal, "nanoseconds": time.Since(start).Nanoseconds()}
}
