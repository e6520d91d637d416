package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// storm makes objects of many applications drift at a rate, and waits until
// each is healed. None may be lost.
func (h *heal) storm(ctx context.Context, first int) error {
	drifts := min(h.scale.rate*h.scale.seconds, h.scale.apps-first)
	h.logf("a storm of %d drifts, %d a second", drifts, h.scale.rate)
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not healed after two minutes"))
	defer cancel()
	tokens := make(chan int, drifts)
	var mu sync.Mutex
	var healed sample
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(tokens)
		return pace(gctx, h.scale.rate, drifts, tokens)
	})
	start := time.Now()
	for token := range tokens {
		app := first + token
		g.Go(func() error {
			ms, err := h.driftOnce(gctx, app)
			mu.Lock()
			healed = append(healed, ms)
			mu.Unlock()
			return err
		})
	}
	sent := time.Since(start)
	if err := g.Wait(); err != nil {
		return err
	}
	r := h.report
	rate := float64(drifts) / sent.Seconds()
	r.row("engine", fmt.Sprintf("storm of %d/s", h.scale.rate),
		healed.quantile(0.5), healed.quantile(0.9), healed.quantile(0.99), healed.quantile(1))
	r.assert(len(healed) == drifts, "%d of %d drifts were healed", len(healed), drifts)
	r.assert(rate >= float64(h.scale.rate)/2, "only %.0f drifts a second could be made", rate)
	r.atMost("storm_p99_ms", healed.quantile(0.99), 1000)
	r.note("storm_p50_ms", healed.median())
	r.note("storm_drifts", float64(drifts))
	return nil
}

// driftOnce changes the field of one application's object and waits until it
// is as it was.
func (h *heal) driftOnce(ctx context.Context, app int) (float64, error) {
	name := configMapOf(app)
	healed := h.objects.await(namespaceOf(app)+"/"+name, driftedAndHealed())
	start := time.Now()
	if err := makeDrift(ctx, inNamespace(h.client, namespaceOf(app)), name); err != nil {
		return 0, err
	}
	at, err := await(ctx, healed)
	return millis(at.Sub(start)), err
}
