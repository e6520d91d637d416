package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// runIndex measures the live index against two bare programs: informers that
// keep metadata only, for the memory, and a streaming list that keeps nothing,
// for the time.
func runIndex(ctx context.Context, b *bench) error {
	if err := b.open(ctx); err != nil {
		return err
	}
	names := []string{"index", "metadata", "list"}
	found := map[string][]load{}
	// The first list makes the API server fill its caches, whoever asks.
	if _, err := b.load(ctx, "list"); err != nil {
		return err
	}
	for i := range b.scale.repeats {
		for _, name := range names {
			l, err := b.load(ctx, name)
			if err != nil {
				return err
			}
			b.logf("repeat %d: %s %.2fs", i+1, name, l.load.Wall)
			found[name] = append(found[name], l)
		}
		// Everybody goes first once.
		names = append(names[1:], names[0])
	}
	b.reportIndex(found)
	return nil
}

// load is one child's life: empty, loaded, at rest.
type load struct {
	before, load, rest reading
}

func (b *bench) load(ctx context.Context, name string) (l load, err error) {
	kubeconfig, err := b.plane.KubeconfigFor(engineUser, masters)
	if err != nil {
		return l, err
	}
	w, err := b.hire(ctx, name, setup{Kubeconfig: kubeconfig})
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, w.dismiss()) }()
	if l.before, err = w.tell(order{Do: "rest"}); err != nil {
		return l, err
	}
	server, err := serverCPU(b.plane)
	if err != nil {
		return l, err
	}
	if l.load, err = w.tell(order{Do: "load"}); err != nil {
		return l, err
	}
	after, err := serverCPU(b.plane)
	if err != nil {
		return l, err
	}
	l.load.Server = after - server
	// Connections and streams come to rest.
	time.Sleep(300 * time.Millisecond)
	l.rest, err = w.tell(order{Do: "rest"})
	return l, err
}

func (b *bench) reportIndex(found map[string][]load) {
	r := b.report
	objects := found["index"][0].load.Counts["objects"]
	r.columns("program", "objects", "wall s", "cpu s", "server cpu s", "heap MiB", "heap/1,000", "rss MiB", "peak MiB", "peak/rss")
	thousands := float64(objects) / 1000
	for _, name := range []string{"index", "metadata", "list"} {
		of := found[name]
		for _, l := range of {
			r.assert(l.load.Counts["objects"] == objects, "%s read %d objects and the index %d", name, l.load.Counts["objects"], objects)
			r.keep(l.before, l.load, l.rest)
		}
		heap := gather(of, heapOf)
		r.row(name, objects,
			gather(of, func(l load) float64 { return l.load.Wall }).spread(),
			gather(of, func(l load) float64 { return l.load.CPU }).spread(),
			gather(of, func(l load) float64 { return l.load.Server }).spread(),
			heap.spread(), heap.median()/thousands,
			gather(of, func(l load) float64 { return l.rest.Memory.RSS }).spread(),
			gather(of, func(l load) float64 { return l.rest.Memory.Peak }).spread(),
			gather(of, peakOf).spread())
	}
	r.assert(objects >= int64(b.scale.objects), "the index read %d objects, the world has %d", objects, b.scale.objects)
	walls := func(name string) sample {
		return gather(found[name], func(l load) float64 { return l.load.Wall })
	}
	cpu := func(name string) float64 {
		return gather(found[name], func(l load) float64 { return l.load.CPU }).median()
	}
	heap := func(name string) float64 { return gather(found[name], heapOf).median() }
	rss := func(name string) float64 {
		return gather(found[name], func(l load) float64 { return l.rest.Memory.RSS }).median()
	}
	if !b.quick {
		// Of few objects the program itself is the most.
		r.atMost("rss_mib_per_1000", rss("index")/thousands, 3)
		r.atMost("peak_ratio", gather(found["index"], peakOf).median(), 1.5)
	}
	r.atMost("heap_mib_per_1000", heap("index")/thousands, 3)
	r.atMost("heap_ratio", heap("index")/heap("metadata"), 1.3)
	r.atMost("start_ratio", walls("index").median()/walls("list").median(), 1.3)
	// Others on the machine can only add to a time.
	r.note("start_ratio_of_shortest", walls("index").quantile(0)/walls("list").quantile(0))
	r.note("start_cpu_ratio", cpu("index")/cpu("list"))
	r.note("rss_ratio", rss("index")/rss("metadata"))
	r.note("metadata_peak_ratio", gather(found["metadata"], peakOf).median())
	r.note("start_s", walls("index").median())
	r.note("objects", float64(objects))
}

// heapOf is what the objects take: the heap at rest without what was there
// before.
func heapOf(l load) float64 { return l.rest.Memory.Heap - l.before.Memory.Heap }

func peakOf(l load) float64 { return l.rest.Memory.Peak / l.rest.Memory.RSS }

func gather(loads []load, of func(load) float64) sample {
	out := make(sample, 0, len(loads))
	for l := range slices.Values(loads) {
		out = append(out, of(l))
	}
	return out
}
