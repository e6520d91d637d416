package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fairness is one run of the scenario.
type fairness struct {
	*staged
	// next is the application that drifts next: each does so once, since the
	// heals of one are paced.
	next int
}

// runFairness heals drifts and follows pushes of healthy applications, first
// alone, and then beside applications that fail and try again, one of very many
// objects that is synced again and again, a cluster that does not answer, and
// an admission webhook that takes five seconds. The same requests are made by a
// bare program each time, which tells what of it is the API server's.
func runFairness(ctx context.Context, b *bench) (err error) {
	files := map[string]string{}
	for i := range b.scale.apps {
		files[appName(i)+"/all.yaml"] = configMapText(appName(i), good)
	}
	maps.Copy(files, pushFiles("0"))
	s, err := b.stage(ctx, files, rarely())
	if err != nil {
		return err
	}
	f := &fairness{staged: s}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := f.begin(ctx); err != nil {
		return err
	}
	// Some for warming up.
	if _, err := f.phase(ctx, max(b.scale.times/5, 3)); err != nil {
		return err
	}
	alone, err := f.phase(ctx, b.scale.times)
	if err != nil {
		return err
	}
	d, err := f.disturb(ctx)
	if err != nil {
		return err
	}
	beside, err := f.phase(ctx, b.scale.times)
	if err := errors.Join(err, d.end()); err != nil {
		return err
	}
	f.reportFairness(alone, beside, d)
	return nil
}

func (f *fairness) begin(ctx context.Context) error {
	for i := range bootNamespaces {
		if err := f.namespace(ctx, bootOf(i)); err != nil {
			return err
		}
	}
	for _, name := range []string{namespaceOf(0), bareNamespace} {
		if err := f.namespace(ctx, name); err != nil {
			return err
		}
	}
	if err := each(ctx, f.scale.apps, func(ctx context.Context, i int) error {
		to := bootOf(i % bootNamespaces)
		return f.create(ctx, f.app(place{name: appName(i), repo: repository, path: appName(i), namespace: to}))
	}); err != nil {
		return err
	}
	if err := f.create(ctx, f.app(place{name: pushedName, repo: repository, path: pushedFolder, namespace: namespaceOf(0)})); err != nil {
		return err
	}
	if err := f.play(ctx); err != nil {
		return err
	}
	return f.allSynced(ctx, f.scale.apps+1, 10*time.Minute)
}

// phased is what was measured in one phase, in milliseconds.
type phased struct {
	heals, pushes, bare sample
	spent               spent
}

// phase makes drifts, pushes and bare requests in turn.
func (f *fairness) phase(ctx context.Context, times int) (out phased, err error) {
	window, err := openWindow(ctx, f.plane)
	if err != nil {
		return out, err
	}
	pid := f.product.cmd.Process.Pid
	before, err := treeCPU(pid)
	if err != nil {
		return out, err
	}
	start := time.Now()
	for n := range times {
		ms, err := f.heal(ctx)
		if err != nil {
			return out, err
		}
		out.heals = append(out.heals, ms)
		if ms, err = f.bareHeal(ctx); err != nil {
			return out, err
		}
		out.bare = append(out.bare, ms)
		if n%pushesPer != 0 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		word := f.word()
		time.Sleep(hookWindow + hookWindow/10)
		if ms, err = f.push(ctx, changesOf(pushChange(word)), namespaceOf(0)+"/pushed", word); err != nil {
			return out, err
		}
		out.pushes = append(out.pushes, ms)
	}
	after, err := treeCPU(pid)
	if err != nil {
		return out, err
	}
	out.spent.Wall, out.spent.CPU = time.Since(start).Seconds(), after-before
	return out, out.spent.count(ctx, window, engineUser)
}

// pushesPer is how many drifts there are to a push.
const pushesPer = 4

// heal makes the next application drift and waits until it is healed.
func (f *fairness) heal(ctx context.Context) (float64, error) {
	if f.next >= f.scale.apps {
		return 0, fmt.Errorf("healing application %d: there are %d", f.next, f.scale.apps)
	}
	i := f.next
	f.next++
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s was not healed within a minute", appName(i)))
	defer cancel()
	namespace := bootOf(i % bootNamespaces)
	healed := f.objects.await(namespace+"/"+appName(i), driftedAndHealed())
	start := time.Now()
	if err := makeDrift(ctx, inNamespace(f.client, namespace), appName(i)); err != nil {
		return 0, err
	}
	at, err := await(ctx, healed)
	return millis(at.Sub(start)), err
}

// bareHeal makes the requests of a heal and nothing else: what they take is the
// API server's.
func (f *fairness) bareHeal(ctx context.Context) (float64, error) {
	objects, body := inNamespace(f.client, bareNamespace), callObject(0, f.word())
	start := time.Now()
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		_, err := objects.Apply(ctx, body.GetName(), body, metav1.ApplyOptions{FieldManager: "bare", Force: true, DryRun: dryRun})
		if err != nil {
			return 0, fmt.Errorf("applying %q: %w", body.GetName(), err)
		}
	}
	return millis(time.Since(start)), nil
}

func (f *fairness) reportFairness(alone, beside phased, d *disturbance) {
	r := f.report
	r.columns("what", "phase", "p50 ms", "p90 ms", "p99 ms", "worst ms")
	row := func(what, phase string, s sample) {
		r.row(what, phase, s.median(), s.quantile(0.9), s.quantile(0.99), s.quantile(1))
	}
	for _, p := range []struct {
		name string
		of   phased
	}{{"alone", alone}, {"disturbed", beside}} {
		row("heal", p.name, p.of.heals)
		row("push", p.name, p.of.pushes)
		row("bare requests", p.name, p.of.bare)
		p.of.spent.Program = p.name
		r.Runs = append(r.Runs, p.of.spent)
		f.logf("%s: %.1fs, %.1f CPU-s, server %.1f CPU-s, requests %s", p.name,
			p.of.spent.Wall, p.of.spent.CPU, p.of.spent.Server, p.of.spent.tally)
	}
	r.assert(d.rounds() > 0, "the application of many objects was never synced")
	r.assert(d.held() > 0, "nobody spoke with the cluster that does not answer")
	r.assert(d.slowed() > 0, "nobody asked the slow webhook")
	p99 := func(s sample) float64 { return s.quantile(0.99) }
	r.atMost("heal_p99_ratio", p99(beside.heals)/p99(alone.heals), 1.5)
	r.atMost("push_p99_ratio", p99(beside.pushes)/p99(alone.pushes), 1.5)
	// What the same requests suffer that no engine is between is the server's:
	// the rest is what the engine adds.
	bare := p99(beside.bare) / p99(alone.bare)
	r.atMost("heal_p99_ratio_to_bare", p99(beside.heals)/p99(alone.heals)/bare, 1.5)
	r.note("bare_p99_ratio", bare)
	r.note("heal_p50_ratio", beside.heals.median()/alone.heals.median())
	r.note("push_p50_ratio", beside.pushes.median()/alone.pushes.median())
	r.note("bare_p50_ratio", beside.bare.median()/alone.bare.median())
	r.note("big_syncs", float64(d.rounds()))
	r.note("slow_answers", float64(d.slowed()))
}

// disturb makes all that disturbs and keeps it going.
func (f *fairness) disturb(ctx context.Context) (d *disturbance, err error) {
	ctx, stop := context.WithCancel(ctx)
	d = &disturbance{fairness: f, stop: stop}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.end())
		}
	}()
	for _, begin := range []func(context.Context) error{d.failing, d.silence, d.slowness, d.big} {
		if err := begin(ctx); err != nil {
			return nil, err
		}
	}
	d.group = &errgroup.Group{}
	d.group.Go(func() error { return d.pushBig(ctx) })
	d.group.Go(func() error { return d.pushSlow(ctx) })
	// Until all of it is under way.
	time.Sleep(2 * time.Second)
	return d, nil
}
