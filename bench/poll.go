package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// polling is one run of the scenario.
type polling struct {
	*staged
	bare *worker
}

// pollEvery is the interval of the polls.
const pollEvery = 10 * time.Second

func pollRepository(i int) string { return fmt.Sprintf("repo-%03d", i) }

// runPoll has the product find pushes by itself in many repositories, of which
// nobody tells it, in turn with a bare program that asks every repository where
// its branch is once in the same time.
func runPoll(ctx context.Context, b *bench) (err error) {
	s, err := b.stage(ctx, map[string]string{"README.md": "nothing\n"}, map[string]any{
		v1alpha1.KeyTimeoutReconciliation: pollEvery.String(), v1alpha1.KeyTimeoutReconciliationJitter: "0s",
	})
	if err != nil {
		return err
	}
	p := &polling{staged: s}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := p.begin(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "towline-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if p.bare, err = b.hire(ctx, "fetch", setup{Data: dir}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.bare.dismiss()) }()
	if _, err := p.bare.tell(order{Do: "start"}); err != nil {
		return err
	}
	return p.measure(ctx)
}

func (p *polling) begin(ctx context.Context) error {
	if err := p.namespace(ctx, namespaceOf(0)); err != nil {
		return err
	}
	for i := range p.scale.apps {
		if err := p.git.Create(pollRepository(i), map[string]string{"web/all.yaml": configMapText(appName(i), "0")}); err != nil {
			return err
		}
		app := p.app(place{name: appName(i), repo: pollRepository(i), path: "web", namespace: namespaceOf(0)})
		if err := p.create(ctx, app); err != nil {
			return err
		}
	}
	if err := p.play(ctx); err != nil {
		return err
	}
	return p.allSynced(ctx, p.scale.apps, 5*time.Minute)
}

func (p *polling) measure(ctx context.Context) error {
	var waits sample
	var looks, most, fetches, pushes int
	c, err := p.contend(ctx,
		contestant{name: bareName, run: p.lookAround},
		contestant{name: engineName, run: func(ctx context.Context) (spent, error) {
			p.git.ResetRequests()
			out, times, err := p.lookOn(ctx)
			waits, pushes = append(waits, times...), pushes+len(times)
			for i := range p.scale.apps {
				counts := p.git.Requests()[pollRepository(i)]
				looks, fetches, most = looks+counts.ListRefs, fetches+counts.Fetch, max(most, counts.ListRefs)
			}
			return out, err
		}},
	)
	if err != nil {
		return err
	}
	r, rounds := p.report, float64(len(c[engineName]))
	took := 0.0
	for _, run := range c[engineName] {
		took += run.Wall / pollEvery.Seconds()
	}
	// A span of so many intervals can hold the beginning of one more of a few.
	r.atMost("looks_per_repository_and_interval", float64(looks)/float64(p.scale.apps)/took, 1.05)
	r.atMost("looks_of_the_busiest_repository", float64(most), math.Ceil(took/rounds)+1)
	r.atMost("fetches_per_push", float64(fetches)/float64(pushes), 1)
	r.atMost("worst_wait_s", waits.quantile(1)/1e3, pollEvery.Seconds()*1.5)
	r.note("wait_p50_s", waits.median()/1e3)
	r.note("git_requests_per_minute", float64(looks)/took/pollEvery.Minutes())
	r.note("repositories", float64(p.scale.apps))
	c.notes(r)
	return nil
}

// intervals is for how many intervals the product is looked at in each round.
const intervals = 2

// lookAround asks every repository as often as the product does, without the
// waiting in between.
func (p *polling) lookAround(ctx context.Context) (spent, error) {
	window, err := openWindow(ctx, p.plane)
	if err != nil {
		return spent{}, err
	}
	var out spent
	for range intervals {
		s, err := p.bare.spend(order{Do: "look", Object: p.git.URL("repo-%03d"), Count: p.scale.apps})
		if err != nil {
			return out, err
		}
		out.Wall, out.CPU = out.Wall+s.Wall, out.CPU+s.CPU
	}
	return out, out.count(ctx, window, bareUser)
}

// lookOn pushes to some repositories and waits until all that was found and
// some intervals are over.
func (p *polling) lookOn(ctx context.Context) (out spent, times sample, err error) {
	window, err := openWindow(ctx, p.plane)
	if err != nil {
		return out, nil, err
	}
	pid := p.product.cmd.Process.Pid
	before, err := treeCPU(pid)
	if err != nil {
		return out, nil, err
	}
	start := time.Now()
	word := p.word()
	var seen []<-chan time.Time
	// Not all at once: where in its interval a repository is differs.
	for i := 0; i < p.scale.apps; i += 5 {
		seen = append(seen, p.level(namespaceOf(0)+"/"+appName(i), word))
		change := map[string]*string{"web/all.yaml": new(configMapText(appName(i), word))}
		if _, err := p.git.Commit(pollRepository(i), "main", "push", change); err != nil {
			return out, nil, err
		}
	}
	pushed := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, 6*pollEvery, errors.New("a push was not found"))
	defer cancel()
	for _, c := range seen {
		at, err := await(ctx, c)
		if err != nil {
			return out, nil, err
		}
		times = append(times, millis(at.Sub(pushed)))
	}
	time.Sleep(time.Until(start.Add(intervals * pollEvery)))
	after, err := treeCPU(pid)
	if err != nil {
		return out, nil, err
	}
	out.Wall, out.CPU = time.Since(start).Seconds(), after-before
	return out, times, out.count(ctx, window, engineUser)
}
