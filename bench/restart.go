package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// confirmRate is how many objects a second the product asks about again after
// a start that knows nothing.
const confirmRate = 100

// runRestart starts the engine on a world that it has synced before, in turn
// with a bare program that lists the same objects as a stream and decodes them.
// It ends when every application was looked at. Then once more without the log
// of confirmed pairs: everything must be asked about again, at a pace.
func runRestart(ctx context.Context, b *bench) (err error) {
	if err := b.open(ctx); err != nil {
		return err
	}
	data, knew, err := b.world().engineFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	b.report.assert(knew, "the world has no log of confirmed pairs")
	byEngine := func(ctx context.Context) (spent, error) { return b.restartEngine(ctx, data) }
	// The first of each is for warming up, and leaves the folder as a process
	// leaves it that was stopped.
	for _, run := range []func(context.Context) (spent, error){b.streamAll, byEngine} {
		if _, err := run(ctx); err != nil {
			return err
		}
	}
	c, err := b.contend(ctx, contestant{name: bareName, run: b.streamAll}, contestant{name: engineName, run: byEngine})
	if err != nil {
		return err
	}
	r := b.report
	r.atMost("ratio", c.ratio(wallOf).median(), 1.3)
	var dryRuns, writes, keys float64
	for _, run := range c[engineName] {
		dryRuns += float64(run.Requests["dry-run"])
		writes += float64(run.Requests["create"] + run.Requests["patch"] + run.Requests["update"] + run.Requests["delete"])
		keys += float64(len(run.tally.written))
	}
	r.atMost("dry_runs", dryRuns, 0)
	r.atMost("writes", writes, 0)
	r.atMost("keys_written", keys, 0)
	r.note("peak_rss_mib", c.of(engineName, peakOfRun).quantile(1))
	r.note("objects", float64(b.scale.objects))
	c.notes(r)
	// The fetched repository and what was rendered stay.
	if err := os.RemoveAll(filepath.Join(data, pairsFolder)); err != nil {
		return fmt.Errorf("losing the log: %w", err)
	}
	return b.restartForgetful(ctx, data)
}

// streamAll reads every object once, as a stream.
func (b *bench) streamAll(ctx context.Context) (out spent, err error) {
	kubeconfig, err := b.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return out, err
	}
	list, err := b.hire(ctx, "list", setup{Kubeconfig: kubeconfig})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, list.dismiss()) }()
	window, err := openWindow(ctx, b.plane)
	if err != nil {
		return out, err
	}
	if out, err = list.spend(order{Do: "load"}); err != nil {
		return out, err
	}
	if _, out.Peak, err = resident(list.cmd.Process.Pid); err != nil {
		return out, err
	}
	return out, out.count(ctx, window, bareUser)
}

// restartEngine starts an engine in the folder that the last one left.
func (b *bench) restartEngine(ctx context.Context, data string) (out spent, err error) {
	engine, err := b.hireEngineIn(ctx, b.plane, setup{Data: data, Apps: b.scale.apps})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, engine.dismiss()) }()
	window, err := openWindow(ctx, b.plane)
	if err != nil {
		return out, err
	}
	for _, do := range []string{"start", "looked"} {
		s, err := engine.spend(order{Do: do})
		if err != nil {
			return out, err
		}
		b.logf("the engine did %q in %.2fs, %.2f CPU-s", do, s.Wall, s.CPU)
		out.Wall, out.CPU = out.Wall+s.Wall, out.CPU+s.CPU
	}
	if _, out.Peak, err = resident(engine.cmd.Process.Pid); err != nil {
		return out, err
	}
	if err := out.count(ctx, window, engineUser); err != nil {
		return out, err
	}
	if _, err := engine.tell(order{Do: "settle"}); err != nil {
		return out, err
	}
	_, err = engine.tell(order{Do: "end"})
	return out, err
}

// restartForgetful starts an engine that has lost the log. The verdicts that
// stand in the Applications stand on, and are asked about again at a pace: its
// beginning is measured, and how long all would take is what follows from it.
func (b *bench) restartForgetful(ctx context.Context, data string) (err error) {
	engine, err := b.hireEngineIn(ctx, b.plane, setup{Data: data, Apps: b.scale.apps, Rate: confirmRate})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.dismiss()) }()
	window, err := openWindow(ctx, b.plane)
	if err != nil {
		return err
	}
	var took float64
	for _, do := range []string{"start", "looked"} {
		s, err := engine.spend(order{Do: do})
		if err != nil {
			return err
		}
		took += s.Wall
	}
	before, err := window.close(ctx, engineUser)
	if err != nil {
		return err
	}
	span := 0.0
	for span < 10 {
		s, err := engine.spend(order{Do: "span"})
		if err != nil {
			return err
		}
		span += s.Wall
	}
	after, err := window.close(ctx, engineUser)
	if err != nil {
		return err
	}
	managed := float64(b.scale.apps * b.scale.perApp)
	rate := float64(after.requests["dry-run"]-before.requests["dry-run"]) / span
	r := b.report
	r.row("engine, no log", took, "", before.server, before, before.revisions, before.bytes/mebibyte, "")
	r.note("without_log_s", took)
	r.note("confirmed_per_s", rate)
	r.note("confirming_all_s", managed/max(rate, 1e-9))
	r.atMost("without_log_writes", float64(after.requests["patch"]+after.requests["update"]+after.requests["delete"]), 0)
	r.assert(rate <= 2*confirmRate, "%.0f objects a second were asked about, and not about %d", rate, confirmRate)
	return nil
}
