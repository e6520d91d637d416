package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// start watches Deployments from now on.
func (p *watchPart) start(ctx context.Context) error {
	client, err := dynamic.NewForConfig(p.config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	list, err := client.Resource(deploymentKind).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("listing Deployments: %w", err)
	}
	w, err := client.Resource(deploymentKind).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return fmt.Errorf("watching Deployments: %w", err)
	}
	go p.watch(w)
	return nil
}

// watch decodes and hashes. The digest goes where the last one of the object
// was, as in any program that wants to know whether it changed.
func (p *watchPart) watch(w watch.Interface) {
	last := map[string][sha256.Size]byte{}
	for e := range w.ResultChan() {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		delete(u.Object, "status")
		data, err := json.Marshal(u.Object)
		if err != nil {
			break
		}
		last[u.GetNamespace()+"/"+u.GetName()] = sha256.Sum256(data)
		p.events.Add(1)
	}
	err := errors.New("the watch ended")
	p.failed.Store(&err)
}

// churn is a load and those who see it.
type churn struct {
	*bench
	client  dynamic.Interface
	engine  *engineWorker
	watch   *worker
	written int
}

// runChurn updates the status of managed Deployments and nothing else, while
// the product and a bare watch see the same events.
func runChurn(ctx context.Context, b *bench) (err error) {
	if err := b.open(ctx); err != nil {
		return err
	}
	c := &churn{bench: b}
	if c.engine, err = b.hireEngine(ctx, b.world(), b.plane); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.engine.leave()) }()
	kubeconfig, err := b.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	if c.watch, err = b.hire(ctx, "watch", setup{Kubeconfig: kubeconfig}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.watch.dismiss()) }()
	config, err := b.plane.RESTConfigFor("bench-load", masters)
	if err != nil {
		return err
	}
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, do := range []string{"start", "run"} {
		r, err := c.engine.tell(order{Do: do})
		if err != nil {
			return err
		}
		b.logf("the engine did %q in %.1fs", do, r.Wall)
	}
	if _, err := c.watch.tell(order{Do: "start"}); err != nil {
		return err
	}
	return c.measure(ctx)
}

// span is one repeat: what each of the two spent, and what happened meanwhile.
type span struct {
	engine, watch, server, wall float64
	updates, reconciles, woken  int64
	requests                    int
}

func (c *churn) measure(ctx context.Context) error {
	// The first updates are for warming up.
	if _, err := c.span(ctx, c.scale.rate); err != nil {
		return err
	}
	if c.profile {
		if err := c.profileSpan(ctx); err != nil {
			return err
		}
	}
	var spans []span
	for range c.scale.repeats {
		s, err := c.span(ctx, c.scale.rate*c.scale.seconds/c.scale.repeats)
		if err != nil {
			return err
		}
		c.logf("%d updates in %.1fs: engine %.2f CPU-s, bare watch %.2f CPU-s, %d reconciles",
			s.updates, s.wall, s.engine, s.watch, s.reconciles)
		spans = append(spans, s)
	}
	c.reportChurn(spans)
	return c.engine.keep()
}

// profileSpan has the engine make a profile under load. It is not measured: a
// profile costs too.
func (c *churn) profileSpan(ctx context.Context) error {
	before, err := c.watch.tell(order{Do: "counts"})
	if err != nil {
		return err
	}
	updates := c.scale.rate * int(spanTime/time.Second)
	g, loadCtx := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, err := c.engine.tell(order{Do: "span"})
		return err
	})
	g.Go(func() error {
		_, err := c.update(loadCtx, updates)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	_, err = c.awaitWatch(ctx, before.Counts["events"]+int64(updates))
	return err
}

// span updates so many times and waits until both have seen the last update.
func (c *churn) span(ctx context.Context, updates int) (s span, err error) {
	window, err := openWindow(ctx, c.plane)
	if err != nil {
		return s, err
	}
	engineBefore, err := c.engine.tell(order{Do: "counts"})
	if err != nil {
		return s, err
	}
	watchBefore, err := c.watch.tell(order{Do: "counts"})
	if err != nil {
		return s, err
	}
	start := time.Now()
	last, err := c.update(ctx, updates)
	if err != nil {
		return s, err
	}
	s.wall = time.Since(start).Seconds()
	for app, version := range last {
		if _, err := c.engine.tell(order{Do: "seen", Object: appName(app), Version: version}); err != nil {
			return s, err
		}
	}
	watchAfter, err := c.awaitWatch(ctx, watchBefore.Counts["events"]+int64(updates))
	if err != nil {
		return s, err
	}
	engineAfter, err := c.engine.tell(order{Do: "counts"})
	if err != nil {
		return s, err
	}
	tally, err := window.close(ctx, engineUser)
	if err != nil {
		return s, err
	}
	c.report.keep(engineAfter, watchAfter)
	s.engine, s.watch = engineAfter.Total-engineBefore.Total, watchAfter.Total-watchBefore.Total
	s.server, s.requests, s.updates = tally.server, tally.total(), int64(updates)
	s.reconciles = engineAfter.Counts["reconciles"] - engineBefore.Counts["reconciles"]
	s.woken = engineAfter.Counts["woken"] - engineBefore.Counts["woken"]
	return s, nil
}

// awaitWatch waits until the bare watch has seen so many events.
func (c *churn) awaitWatch(ctx context.Context, events int64) (reading, error) {
	for {
		r, err := c.watch.tell(order{Do: "counts"})
		if err != nil || r.Counts["events"] >= events {
			c.report.assert(r.Counts["events"] == events, "the bare watch saw %d events and not %d", r.Counts["events"], events)
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// update writes so many statuses at the rate asked for, if the server can, and
// returns the last version of each Deployment.
func (c *churn) update(ctx context.Context, updates int) (map[int]string, error) {
	tokens := make(chan int, c.scale.rate)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(tokens)
		return pace(ctx, c.scale.rate, updates, tokens)
	})
	var mu sync.Mutex
	var written atomic.Int64
	last := map[int]string{}
	// An application belongs to one writer, so that its last version is known.
	lanes := make([]chan int, 8)
	for i := range lanes {
		lanes[i] = make(chan int, c.scale.rate)
		g.Go(func() error {
			for app := range lanes[i] {
				version, err := patchStatus(ctx, c.client, app, fmt.Sprintf("update %d", written.Add(1)+int64(c.written)))
				if err != nil {
					return err
				}
				mu.Lock()
				last[app] = version
				mu.Unlock()
			}
			return nil
		})
	}
	g.Go(func() error {
		for token := range tokens {
			app := token % c.scale.apps
			lanes[app%len(lanes)] <- app
		}
		for _, l := range lanes {
			close(l)
		}
		return nil
	})
	err := g.Wait()
	c.written += updates
	return last, err
}

// pace hands out n tokens at a rate per second.
func pace(ctx context.Context, rate, n int, tokens chan<- int) error {
	start := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; sent < n; {
		due := min(n, int(time.Since(start).Seconds()*float64(rate))+1)
		for ; sent < due; sent++ {
			select {
			case tokens <- sent:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *churn) reportChurn(spans []span) {
	r := c.report
	r.columns("repeat", "updates", "updates/s", "engine cpu s", "bare cpu s", "ratio", "server cpu s", "reconciles", "requests")
	var ratios, engine, watch, rate sample
	var reconciles, woken int64
	requests := 0
	for i, s := range spans {
		r.row(i+1, s.updates, float64(s.updates)/s.wall, s.engine, s.watch, s.engine/s.watch, s.server, s.reconciles, s.requests)
		ratios, rate = append(ratios, s.engine/s.watch), append(rate, float64(s.updates)/s.wall)
		engine = append(engine, s.engine/float64(s.updates)*1e6)
		watch = append(watch, s.watch/float64(s.updates)*1e6)
		reconciles, woken, requests = reconciles+s.reconciles, woken+s.woken, requests+s.requests
	}
	r.assert(rate.median() >= float64(c.scale.rate)/2,
		"the server took %.0f updates a second of the %d that were asked for; choose a --rate that this machine can do now",
		rate.median(), c.scale.rate)
	r.atMost("reconciles", float64(reconciles), 0)
	r.atMost("cpu_ratio", ratios.median(), 1.5)
	r.atMost("requests", float64(requests), 0)
	r.note("woken", float64(woken))
	r.note("us_cpu_per_update", engine.median())
	r.note("us_cpu_per_update_bare", watch.median())
	r.note("updates_per_s", rate.median())
	r.note("asked_per_s", float64(c.scale.rate))
}
