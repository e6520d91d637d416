package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// drifts are how many a storm has.
func (h *heal) drifts() int {
	return max(0, min(h.scale.rate*h.scale.seconds, h.scale.apps-h.scale.times))
}

// storms makes objects of many applications drift at a rate, and waits until
// each is healed, by the engine and by the bare program. None may be lost.
func (h *heal) storms(ctx context.Context, bare *bare) error {
	r, first := h.report, h.scale.times
	engine, err := h.storm(ctx, engineName, func(i int) target {
		return target{namespace: namespaceOf(first + i), name: configMapOf(first + i)}
	})
	if err != nil {
		return err
	}
	other, err := h.storm(ctx, bareName, func(i int) target { return bare.target(first + i) })
	if err := errors.Join(err, bare.err()); err != nil {
		return err
	}
	r.atMost("storm_p99_ms", engine.quantile(0.99), 1000)
	// As many requests, of which the server answers so many in a second.
	r.note("storm_p50_ms", engine.median())
	r.note("bare_storm_p50_ms", other.median())
	r.note("bare_storm_p99_ms", other.quantile(0.99))
	r.note("storm_p99_ratio", engine.quantile(0.99)/other.quantile(0.99))
	r.note("storm_drifts", float64(h.drifts()))
	return nil
}

// storm is one of them.
func (h *heal) storm(ctx context.Context, program string, of func(int) target) (sample, error) {
	drifts := h.drifts()
	h.logf("%s: a storm of %d drifts, %d a second", program, drifts, h.scale.rate)
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
		g.Go(func() error {
			ms, err := h.driftOnce(gctx, of(token))
			mu.Lock()
			healed = append(healed, ms)
			mu.Unlock()
			return err
		})
	}
	sent := time.Since(start)
	if err := g.Wait(); err != nil {
		return nil, err
	}
	r, rate := h.report, float64(drifts)/sent.Seconds()
	r.row(program, fmt.Sprintf("storm of %d/s", h.scale.rate),
		healed.quantile(0.5), healed.quantile(0.9), healed.quantile(0.99), healed.quantile(1))
	r.assert(len(healed) == drifts, "%s healed %d of %d drifts", program, len(healed), drifts)
	r.assert(rate >= float64(h.scale.rate)/2, "only %.0f drifts a second could be made", rate)
	return healed, nil
}

// driftOnce changes the field of an object and waits until it is as it was.
func (h *heal) driftOnce(ctx context.Context, t target) (float64, error) {
	healed := h.objects.await(t.namespace+"/"+t.name, driftedAndHealed())
	start := time.Now()
	if err := makeDrift(ctx, inNamespace(h.client, t.namespace), t.name); err != nil {
		return 0, err
	}
	at, err := await(ctx, healed)
	return millis(at.Sub(start)), err
}
