package main

import (
	"context"
	"errors"
)

// runNoop measures a reconcile of every application when nothing has changed.
// The first pass after a start reads everything from disk, and asks the server
// about every object if there is no log of confirmed pairs; the passes after
// that are measured, one application at a time.
func runNoop(ctx context.Context, b *bench) (err error) {
	if err := b.open(ctx); err != nil {
		return err
	}
	engine, err := b.hireEngine(ctx, b.world(), b.plane)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.leave()) }()
	if _, err := engine.tell(order{Do: "start"}); err != nil {
		return err
	}
	b.report.columns("pass", "wall s", "cpu s", "server cpu s", "µs wall/object", "µs cpu/object", "requests", "keys written")
	_, restart, err := b.pass(ctx, engine, "warm")
	if err != nil {
		return err
	}
	var passes, bare []reading
	requests, written := 0, 0
	for range b.scale.repeats {
		r, t, err := b.pass(ctx, engine, "pass")
		if err != nil {
			return err
		}
		passes = append(passes, r)
		requests, written = requests+t.total(), written+len(t.written)
		if r, err = engine.tell(order{Do: "bare"}); err != nil {
			return err
		}
		bare = append(bare, r)
	}
	b.reportNoop(passes, bare, requests, written)
	if engine.knew {
		// The schemas of the kinds are read once for each start and group of kinds,
		// however many objects there are.
		b.report.atMost("restart_requests", float64(restart.total()-restart.schemas), 0)
		b.report.note("restart_schemas", float64(restart.schemas))
	}
	memory, err := engine.tell(order{Do: "rest"})
	if err != nil {
		return err
	}
	b.report.note("rss_mib", memory.Memory.RSS)
	b.report.note("heap_mib", memory.Memory.Heap)
	return engine.keep()
}

// pass has the engine reconcile everything and counts what that asked of the
// server.
func (b *bench) pass(ctx context.Context, engine *engineWorker, do string) (reading, tally, error) {
	window, err := openWindow(ctx, b.plane)
	if err != nil {
		return reading{}, tally{}, err
	}
	r, err := engine.tell(order{Do: do})
	if err != nil {
		return r, tally{}, err
	}
	t, err := window.close(ctx, engineUser)
	if err != nil {
		return r, t, err
	}
	r.Server = t.server
	objects := float64(b.scale.apps * b.scale.perApp)
	b.report.row(do, r.Wall, r.CPU, t.server, r.Wall/objects*1e6, r.CPU/objects*1e6, t, len(t.written))
	b.report.keep(r)
	b.logf("%s: %.2fs, %.2f CPU-s, requests %s, keys written %v", do, r.Wall, r.CPU, t, t.written[:min(len(t.written), 5)])
	return r, t, nil
}

func (b *bench) reportNoop(passes, bare []reading, requests, written int) {
	r := b.report
	objects := float64(b.scale.apps * b.scale.perApp)
	cpu := sampleOf(passes, func(r reading) float64 { return r.CPU / objects * 1e6 })
	wall := sampleOf(passes, func(r reading) float64 { return r.Wall / objects * 1e6 })
	least := sampleOf(bare, func(r reading) float64 { return float64(r.Counts["nanoseconds"]) / objects / 1e3 })
	for _, p := range passes {
		done := p.Counts["reconciles"]
		r.assert(done == int64(b.scale.apps), "a pass reconciled %d of %d applications", done, b.scale.apps)
	}
	r.row("compare digests", "", "", "", least.spread(), "", 0, 0)
	r.atMost("requests", float64(requests), 0)
	r.atMost("keys_written", float64(written), 0)
	r.atMost("us_cpu_per_object", cpu.median(), 20)
	r.note("us_wall_per_object", wall.median())
	r.note("us_digests_per_object", least.median())
	r.note("objects", objects)
	b.logf("µs of CPU per object: %s; of wall: %s", cpu.spread(), wall.spread())
	r.assert(len(passes) >= 3, "%d passes are too few", len(passes))
}
