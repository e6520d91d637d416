package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// callsPart makes requests of one sort, so many at once, and takes the time of
// each.
type callsPart struct{ client dynamic.Interface }

func newCallsPart(s setup) (part, error) {
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &callsPart{client: client}, nil
}

// callNamespace is where the objects of a calibration are.
const callNamespace = "calls"

// call is one sort of request: i is the object, word its content.
type call struct {
	name string
	do   func(ctx context.Context, c dynamic.ResourceInterface, i int, word string) error
	// few says that each reads everything, so that less of them will do.
	few bool
	// word is the content that goes in; the same word again changes nothing.
	word string
}

func callObject(i int, word string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("call-%06d", i)},
		"data": map[string]any{"level": word, "text": strings.Repeat("towline ", 240)},
	}}
}

func applyCall(dryRun ...string) func(context.Context, dynamic.ResourceInterface, int, string) error {
	return func(ctx context.Context, c dynamic.ResourceInterface, i int, word string) error {
		body := callObject(i, word)
		_, err := c.Apply(ctx, body.GetName(), body, metav1.ApplyOptions{FieldManager: "bare", Force: true, DryRun: dryRun})
		return err
	}
}

// calls are what is measured, in an order in which each finds what it needs.
func calls() []call {
	return []call{
		{name: "apply, new", word: "one", do: applyCall()},
		{name: "apply, same", word: "one", do: applyCall()},
		{name: "apply, changed", word: "two", do: applyCall()},
		{name: "dry-run, same", word: "two", do: applyCall(metav1.DryRunAll)},
		{name: "get", do: func(ctx context.Context, c dynamic.ResourceInterface, i int, _ string) error {
			_, err := c.Get(ctx, callObject(i, "").GetName(), metav1.GetOptions{})
			return err
		}},
		{name: "list, from the cache", few: true, do: func(ctx context.Context, c dynamic.ResourceInterface, _ int, _ string) error {
			_, err := c.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			return err
		}},
		{name: "streamed list", few: true, do: func(ctx context.Context, c dynamic.ResourceInterface, _ int, _ string) error {
			_, err := stream(ctx, c)
			return err
		}},
		{name: "delete", do: func(ctx context.Context, c dynamic.ResourceInterface, i int, _ string) error {
			return c.Delete(ctx, callObject(i, "").GetName(), metav1.DeleteOptions{})
		}},
		{name: "create", word: "one", do: func(ctx context.Context, c dynamic.ResourceInterface, i int, word string) error {
			_, err := c.Create(ctx, callObject(i, word), metav1.CreateOptions{FieldManager: "bare"})
			return err
		}},
	}
}

func (p *callsPart) do(ctx context.Context, o order) (map[string]int64, error) {
	at := slices.IndexFunc(calls(), func(c call) bool { return c.name == o.Do })
	if at < 0 {
		return nil, fmt.Errorf("unknown order %q", o.Do)
	}
	c := calls()[at]
	var parallel int
	if _, err := fmt.Sscan(o.Version, &parallel); err != nil {
		return nil, fmt.Errorf("reading how many at once: %w", err)
	}
	var mu sync.Mutex
	var took sample
	var next atomic.Int64
	client := inNamespace(p.client, callNamespace)
	g, ctx := errgroup.WithContext(ctx)
	for range parallel {
		g.Go(func() error {
			for i := int(next.Add(1) - 1); i < o.Count; i = int(next.Add(1) - 1) {
				start := time.Now()
				if err := c.do(ctx, client, i, c.word); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				mu.Lock()
				took = append(took, micros(time.Since(start)))
				mu.Unlock()
			}
			return nil
		})
	}
	err := g.Wait()
	return map[string]int64{"p50": int64(took.median()), "p99": int64(took.quantile(0.99)), "calls": int64(len(took))}, err
}

// atOnce are the numbers of requests that are on the way at once.
var atOnce = []int{1, 4, 16, 64}

// runCalibrate measures what the API server can do for one client, request by
// request: what everything else is compared with.
func runCalibrate(ctx context.Context, b *bench) (err error) {
	f, err := b.openFresh(ctx, map[string]string{"README.md": "nothing\n"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.namespace(ctx, callNamespace); err != nil {
		return err
	}
	kubeconfig, err := b.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	caller, err := b.hire(ctx, "calls", setup{Kubeconfig: kubeconfig})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, caller.dismiss()) }()
	m := &calibration{fresh: f, caller: caller}
	for _, figure := range []*map[string]sample{&m.rates, &m.p50, &m.p99, &m.cpu, &m.server} {
		*figure = map[string]sample{}
	}
	for round := range b.scale.repeats + 1 {
		for _, parallel := range atOnce {
			// The first round is for warming up.
			if err := m.round(ctx, parallel, round > 0); err != nil {
				return err
			}
		}
	}
	m.reportCalls()
	return nil
}

// calibration is what was measured, by sort and by how many at once.
type calibration struct {
	*fresh
	caller                       *worker
	rates, p50, p99, cpu, server map[string]sample
}

func callKey(c call, parallel int) string { return fmt.Sprintf("%s %d", c.name, parallel) }

func (m *calibration) round(ctx context.Context, parallel int, counts bool) error {
	for _, c := range calls() {
		n := m.scale.times
		if c.few {
			n = max(parallel, m.scale.times/100)
		}
		window, err := openWindow(ctx, m.plane)
		if err != nil {
			return err
		}
		r, err := m.caller.tell(order{Do: c.name, Count: n, Version: fmt.Sprint(parallel)})
		if err != nil {
			return err
		}
		t, err := window.close(ctx, bareUser)
		if err != nil {
			return err
		}
		m.report.assert(r.Counts["calls"] == int64(n), "%s: %d of %d requests were made", c.name, r.Counts["calls"], n)
		if !counts {
			continue
		}
		k, each := callKey(c, parallel), float64(n)
		m.rates[k] = append(m.rates[k], each/r.Wall)
		m.p50[k], m.p99[k] = append(m.p50[k], float64(r.Counts["p50"])/1e3), append(m.p99[k], float64(r.Counts["p99"])/1e3)
		m.cpu[k], m.server[k] = append(m.cpu[k], r.CPU/each*1e3), append(m.server[k], t.server/each*1e3)
	}
	// What was made goes, so that the next round makes it anew.
	err := inNamespace(m.client, callNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("clearing away: %w", err)
	}
	return nil
}

func (m *calibration) reportCalls() {
	r := m.report
	r.columns("request", "at once", "per second", "p50 ms", "p99 ms", "client CPU-ms", "server CPU-ms")
	for _, c := range calls() {
		best := 0.0
		for _, parallel := range atOnce {
			k := callKey(c, parallel)
			r.row(c.name, parallel, m.rates[k].spread(), m.p50[k].median(), m.p99[k].median(), m.cpu[k].median(), m.server[k].median())
			best = max(best, m.rates[k].median())
		}
		r.note(figure(c.name)+"_per_s", best)
	}
	// Nothing is promised here; a server that cannot do even this is no
	// yardstick.
	r.atLeast("applies_per_s", m.rates[callKey(calls()[0], 16)].median(), 1)
}
