package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// heal is one run of the scenario.
type heal struct {
	*bench
	client dynamic.Interface
	// objects and apps are watched to see what became of a drift.
	objects, apps *observer
}

// runHeal changes one field of one object and waits until it is healed: once
// by the engine, once by a bare program that knows what to do and does it, and
// so on. Each drift is of another application, since the engine paces the
// heals of one.
func runHeal(ctx context.Context, b *bench) (err error) {
	if err := b.open(ctx); err != nil {
		return err
	}
	if b.scale.times > b.scale.apps {
		return fmt.Errorf("healing %d times: there are %d applications only", b.scale.times, b.scale.apps)
	}
	engine, err := b.hireEngine(ctx, b.world(), b.plane)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.leave()) }()
	for _, do := range []string{"start", "run"} {
		r, err := engine.tell(order{Do: do})
		if err != nil {
			return err
		}
		b.logf("the engine did %q in %.1fs", do, r.Wall)
	}
	h := &heal{bench: b}
	if err := h.connect(ctx); err != nil {
		return err
	}
	bare, err := h.newBare(ctx)
	if err != nil {
		return err
	}
	return h.measure(ctx, engine, bare)
}

func (h *heal) connect(ctx context.Context) error {
	config, err := h.plane.RESTConfigFor("bench-drift", masters)
	if err != nil {
		return err
	}
	config.QPS = -1
	if h.client, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if h.objects, err = observe(ctx, h.client.Resource(configMapKind)); err != nil {
		return err
	}
	h.apps, err = observe(ctx, h.client.Resource(appKind))
	return err
}

// times of one drift, in milliseconds since it was sent.
type times struct{ healed, settled float64 }

func (h *heal) measure(ctx context.Context, engine *engineWorker, bare *bare) error {
	window, err := openWindow(ctx, h.plane)
	if err != nil {
		return err
	}
	before, err := engine.tell(order{Do: "counts"})
	if err != nil {
		return err
	}
	var ours, theirs []times
	for i := range h.scale.times {
		t, err := h.drift(ctx, target{namespace: namespaceOf(i), name: configMapOf(i), apps: controlNamespace, app: appName(i)})
		if err != nil {
			return err
		}
		ours = append(ours, t)
		if t, err = h.drift(ctx, bare.target(i)); err != nil {
			return err
		}
		theirs = append(theirs, t)
		if err := bare.err(); err != nil {
			return err
		}
	}
	after, err := engine.tell(order{Do: "counts"})
	if err != nil {
		return err
	}
	t, err := window.close(ctx, engineUser)
	if err != nil {
		return err
	}
	h.report.keep(before, after)
	h.reportHeal(ours, theirs, t, after.Counts["reconciles"]-before.Counts["reconciles"])
	// Those who have healed once are paced: the storm is for the others.
	if err := h.storms(ctx, bare); err != nil {
		return err
	}
	return engine.keep()
}

// target is an object that drifts and the Application that it belongs to.
type target struct{ namespace, name, apps, app string }

const (
	good = "info"
	bad  = "drifted"
)

// drift changes the field and waits until it is as it was, and until the
// Application says that the work is over.
func (h *heal) drift(ctx context.Context, t target) (times, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not healed after 30s"))
	defer cancel()
	start := time.Now()
	healed := h.objects.await(t.namespace+"/"+t.name, driftedAndHealed())
	settled := h.apps.await(t.apps+"/"+t.app, idleAgain)
	if err := makeDrift(ctx, inNamespace(h.client, t.namespace), t.name); err != nil {
		return times{}, err
	}
	var out times
	for range 2 {
		select {
		case at := <-healed:
			out.healed = at.Sub(start).Seconds() * 1e3
		case at := <-settled:
			out.settled = at.Sub(start).Seconds() * 1e3
		case <-ctx.Done():
			return out, fmt.Errorf("waiting for %s: %w", t.name, context.Cause(ctx))
		}
	}
	// What follows a heal is not a part of the next.
	time.Sleep(20 * time.Millisecond)
	return out, nil
}

// makeDrift changes the field as somebody with kubectl would.
func makeDrift(ctx context.Context, objects dynamic.ResourceInterface, name string) error {
	patch := []byte(`{"data":{"level":"` + bad + `"}}`)
	if _, err := objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		return fmt.Errorf("making %s drift: %w", name, err)
	}
	return nil
}

// driftedAndHealed is true once the field was seen wrong and then right.
func driftedAndHealed() func(*unstructured.Unstructured) bool {
	drifted := false
	return func(u *unstructured.Unstructured) bool {
		level, _, _ := unstructured.NestedString(u.Object, "data", "level")
		drifted = drifted || level == bad
		return drifted && level == good
	}
}

// idleAgain says that an Application has healed something and is done with it.
func idleAgain(u *unstructured.Unstructured) bool {
	heals, _, _ := unstructured.NestedInt64(u.Object, "status", "operationState", "operation", "sync", "autoHealAttemptsCount")
	phase, _, _ := unstructured.NestedString(u.Object, "status", "operationState", "phase")
	status, _, _ := unstructured.NestedString(u.Object, "status", "sync", "status")
	_, busy := u.Object["operation"]
	return heals > 0 && phase == "Succeeded" && status == "Synced" && !busy
}

func (h *heal) reportHeal(ours, theirs []times, t tally, reconciles int64) {
	r := h.report
	r.columns("program", "what", "p50 ms", "p90 ms", "p99 ms", "worst ms")
	row := func(name, what string, of []times, figure func(times) float64) sample {
		s := make(sample, len(of))
		for i, t := range of {
			s[i] = figure(t)
		}
		r.row(name, what, s.quantile(0.5), s.quantile(0.9), s.quantile(0.99), s.quantile(1))
		return s
	}
	healed := func(t times) float64 { return t.healed }
	settled := func(t times) float64 { return t.settled }
	engineHealed, bareHealed := row("engine", "healed", ours, healed), row("bare", "healed", theirs, healed)
	engineSettled, bareSettled := row("engine", "settled", ours, settled), row("bare", "settled", theirs, settled)
	n := float64(len(ours))
	r.assert(len(ours) >= 50, "%d drifts are too few", len(ours))
	r.atMost("healed_ratio", engineHealed.median()/bareHealed.median(), 2)
	r.atMost("settled_ratio", engineSettled.median()/bareSettled.median(), 2)
	// An absolute goal: where the bare sequence itself misses it, the machine is
	// too busy to meet it, which its own figure in the last line tells.
	r.atMost("healed_p99_ms", engineHealed.quantile(0.99), 200)
	r.note("healed_p50_ms", engineHealed.median())
	r.note("settled_p50_ms", engineSettled.median())
	r.note("bare_healed_p50_ms", bareHealed.median())
	r.note("bare_healed_p99_ms", bareHealed.quantile(0.99))
	for _, verb := range []string{"get", "dry-run", "patch"} {
		r.note(verb+"_per_heal", float64(t.requests[verb])/n)
	}
	r.note("reconciles_per_heal", float64(reconciles)/n)
	h.logf("requests of the engine for %d heals: %s", len(ours), t)
}
