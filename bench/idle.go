package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/internal/leader"
)

var leaseKind = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leasePart holds a lease and does nothing else.
type leasePart struct{ client dynamic.Interface }

func newLeasePart(s setup) (part, error) {
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &leasePart{client: client}, nil
}

// do renews the lease for so many seconds, as often as the product does.
func (p *leasePart) do(ctx context.Context, o order) (map[string]int64, error) {
	tick := time.NewTicker(leader.UsualTimes().Retry)
	defer tick.Stop()
	end := time.After(time.Duration(o.Count) * time.Second)
	leases := p.client.Resource(leaseKind).Namespace(bareNamespace)
	for {
		select {
		case <-end:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case at := <-tick.C:
			body := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "bare"},
				"spec": map[string]any{"holderIdentity": "bare", "renewTime": at.UTC().Format("2006-01-02T15:04:05.000000Z")},
			}}
			if _, err := leases.Apply(ctx, "bare", body, metav1.ApplyOptions{FieldManager: "bare", Force: true}); err != nil {
				return nil, fmt.Errorf("renewing the lease: %w", err)
			}
		}
	}
}

// idling is one run of the scenario.
type idling struct {
	*staged
	lease *worker
}

// runIdle has the product look after many applications of which nothing
// changes, in turn with a bare program that holds a lease. Nobody is told to
// stand still meanwhile: who waits costs the other nothing but its idleness, so
// the product runs all the time and each is measured in its own spans.
func runIdle(ctx context.Context, b *bench) (err error) {
	files, err := shapes()["bootstrap"].repositoryOf(b.scale.apps, b.scale.perApp)
	if err != nil {
		return err
	}
	s, err := b.stage(ctx, files, nil)
	if err != nil {
		return err
	}
	i := &idling{staged: s}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := i.begin(ctx); err != nil {
		return err
	}
	kubeconfig, err := b.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	if i.lease, err = b.hire(ctx, "lease", setup{Kubeconfig: kubeconfig}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.lease.dismiss()) }()
	c, err := b.contend(ctx, contestant{name: bareName, run: i.byLease}, contestant{name: engineName, run: i.byProduct})
	if err != nil {
		return err
	}
	return i.reportIdle(c)
}

func (i *idling) begin(ctx context.Context) error {
	for n := range bootNamespaces {
		if err := i.namespace(ctx, bootOf(n)); err != nil {
			return err
		}
	}
	if err := i.namespace(ctx, bareNamespace); err != nil {
		return err
	}
	if err := each(ctx, i.scale.apps, func(ctx context.Context, n int) error {
		return i.create(ctx, i.app(place{name: appName(n), repo: repository, path: appName(n), namespace: bootOf(n % bootNamespaces)}))
	}); err != nil {
		return err
	}
	start := time.Now()
	if err := i.play(ctx); err != nil {
		return err
	}
	if err := i.allSynced(ctx, i.scale.apps, 30*time.Minute); err != nil {
		return err
	}
	i.logf("%d applications were synced in %s", i.scale.apps, time.Since(start).Round(time.Second))
	return i.still(ctx)
}

// still waits until what comes after a sync is over: nothing was written for a
// while. Events are written when there is time.
func (i *idling) still(ctx context.Context) error {
	for range 60 {
		window, err := openWindow(ctx, i.plane)
		if err != nil {
			return err
		}
		time.Sleep(stillFor)
		t, err := window.close(ctx, engineUser)
		if err != nil {
			return err
		}
		if len(t.written) == 0 {
			return nil
		}
		i.logf("not still yet: %d keys written, such as %s", len(t.written), t.written[0])
	}
	return errors.New("waiting for the product to have nothing to do: it always has")
}

const stillFor = 5 * time.Second

func (i *idling) byLease(ctx context.Context) (out spent, err error) {
	window, err := openWindow(ctx, i.plane)
	if err != nil {
		return out, err
	}
	if out, err = i.lease.spend(order{Do: "hold", Count: i.scale.seconds}); err != nil {
		return out, err
	}
	return out, out.count(ctx, window, bareUser)
}

func (i *idling) byProduct(ctx context.Context) (out spent, err error) {
	window, err := openWindow(ctx, i.plane)
	if err != nil {
		return out, err
	}
	pid := i.product.cmd.Process.Pid
	before, err := treeCPU(pid)
	if err != nil {
		return out, err
	}
	start := time.Now()
	select {
	case <-time.After(time.Duration(i.scale.seconds) * time.Second):
	case <-ctx.Done():
		return out, ctx.Err()
	}
	after, err := treeCPU(pid)
	if err != nil {
		return out, err
	}
	out.Wall, out.CPU = time.Since(start).Seconds(), after-before
	if out.Peak, _, err = resident(pid); err != nil {
		return out, err
	}
	return out, out.count(ctx, window, engineUser)
}

func (i *idling) reportIdle(c contest) error {
	r := i.report
	keys := 0
	var examples []string
	var writes, renewals float64
	for _, run := range c[engineName] {
		keys += len(run.tally.written)
		examples = append(examples, run.tally.written...)
		writes += float64(run.Requests["patch"] + run.Requests["create"] + run.Requests["delete"])
		renewals += float64(run.Requests["update"])
	}
	if keys > 0 {
		i.logf("written: %v", examples[:min(keys, 5)])
	}
	share := func(s spent) float64 { return s.CPU / s.Wall }
	r.atMost("keys_written", float64(keys), 0)
	// A lease is renewed by an update, and by nothing else.
	r.atMost("writes_besides_leases", writes, 0)
	r.atMost("cores", c.of(engineName, share).median(), 0.02)
	r.note("renewals_per_s", renewals/(c.of(engineName, wallOf).median()*float64(len(c[engineName]))))
	r.note("reads", c.of(engineName, func(s spent) float64 { return float64(s.Requests["get"] + s.Requests["list"]) }).median())
	r.note("dry_runs", c.of(engineName, func(s spent) float64 { return float64(s.Requests["dry-run"]) }).median())
	r.note("bare_cores", c.of(bareName, share).median())
	r.note("rss_mib", c.of(engineName, peakOfRun).median())
	r.note("apps", float64(i.scale.apps))
	c.notes(r)
	return nil
}
