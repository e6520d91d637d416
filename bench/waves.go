package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	waves   = 10
	perWave = 5
	// engineWaves and bareWaves are where the objects of the two go.
	engineWaves, bareWaves = "engine-waves", "bare-waves"
)

// waving is one run of the scenario.
type waving struct {
	*fresh
	bare          dynamic.Interface
	apps, objects *observer
	// patches are what the engine writes into the Application when it begins and
	// when it ends, for the bare program to write too.
	patches [2]string
}

// runWaves syncs applications of ten waves whose objects are healthy at once,
// in turn with a bare program that applies the same objects wave by wave, goes
// on as soon as its watch has seen all of a wave, and says in an Application that
// it begins and what came of it.
func runWaves(ctx context.Context, b *bench) (err error) {
	files := map[string]string{}
	for i := range b.scale.times {
		files[appName(i)+"/all.yaml"] = waveManifests(i)
	}
	f, err := b.openFresh(ctx, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	w := &waving{fresh: f}
	if err := w.connect(ctx); err != nil {
		return err
	}
	engine, err := b.hireEngine(ctx, f.world, b.plane)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.leave()) }()
	for _, do := range []string{"start", "run"} {
		if _, err := engine.tell(order{Do: do}); err != nil {
			return err
		}
	}
	return w.measure(ctx, engine)
}

func waveObject(app, wave, i int) string { return fmt.Sprintf("%s-w%d-%d", appName(app), wave, i) }

func waveManifests(app int) string {
	var docs []string
	for wave := range waves {
		for i := range perWave {
			docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n"+
				"  annotations: {argocd.argoproj.io/sync-wave: %q}\ndata:\n  level: info\n  text: %q\n",
				waveObject(app, wave, i), fmt.Sprint(wave), strings.Repeat("towline ", 60)))
		}
	}
	return strings.Join(docs, "---\n")
}

func (w *waving) connect(ctx context.Context) error {
	for _, namespace := range []string{engineWaves, bareWaves, bareNamespace} {
		if err := w.namespace(ctx, namespace); err != nil {
			return err
		}
	}
	config, err := w.plane.RESTConfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	config.QPS = -1
	if w.bare, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if w.objects, err = observe(ctx, inNamespace(w.bare, bareWaves)); err != nil {
		return err
	}
	w.apps, err = observe(ctx, w.client.Resource(appKind))
	return err
}

func inNamespace(client dynamic.Interface, namespace string) dynamic.ResourceInterface {
	return client.Resource(configMapKind).Namespace(namespace)
}

func (w *waving) measure(ctx context.Context, engine *engineWorker) error {
	window, err := openWindow(ctx, w.plane)
	if err != nil {
		return err
	}
	var ours, theirs, applies sample
	for i := range w.scale.times {
		took, err := w.byEngine(ctx, i)
		if err != nil {
			return err
		}
		// The first of each is for warming up, and for a model.
		if i == 0 {
			err = w.model(ctx)
		} else {
			ours = append(ours, took)
		}
		if err != nil {
			return err
		}
		took, applied, err := w.byBare(ctx, i)
		if err != nil {
			return err
		}
		if i > 0 {
			theirs, applies = append(theirs, took), append(applies, applied)
		}
	}
	counts, err := engine.tell(order{Do: "settle"})
	if err != nil {
		return err
	}
	t, err := window.close(ctx, engineUser)
	if err != nil {
		return err
	}
	w.report.keep(counts)
	w.report.note("applies_ms", applies.median())
	w.report.note("ratio_to_applies", ours.median()/applies.median())
	w.reportWaves(ours, theirs, t, counts.Counts["reconciles"])
	_, err = engine.tell(order{Do: "end"})
	return err
}

// byEngine makes an application, waits until it has been looked at, asks for a
// sync and takes the time until the status says that it succeeded.
func (w *waving) byEngine(ctx context.Context, i int) (milliseconds float64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not done after a minute"))
	defer cancel()
	key := controlNamespace + "/" + appName(i)
	compared := w.apps.await(key, func(u *unstructured.Unstructured) bool { return syncOf(u) == "OutOfSync" })
	app := w.world.application(i)
	spec, _ := app["spec"].(map[string]any)
	delete(spec, "syncPolicy")
	spec["destination"] = map[string]any{"server": "https://kubernetes.default.svc", "namespace": engineWaves}
	if err := create(ctx, w.client.Resource(appKind).Namespace(controlNamespace), app); err != nil {
		return 0, err
	}
	if _, err := await(ctx, compared); err != nil {
		return 0, fmt.Errorf("waiting for application %q to be looked at: %w", appName(i), err)
	}
	over := w.apps.await(key, func(u *unstructured.Unstructured) bool { return phaseOf(u) == "Succeeded" && syncOf(u) == "Synced" })
	start := time.Now()
	_, err = w.client.Resource(appKind).Namespace(controlNamespace).
		Patch(ctx, appName(i), types.MergePatchType, []byte(`{"operation":{"sync":{}}}`), metav1.PatchOptions{FieldManager: "bench"})
	if err != nil {
		return 0, fmt.Errorf("asking for a sync of %q: %w", appName(i), err)
	}
	at, err := await(ctx, over)
	if err != nil {
		return 0, fmt.Errorf("waiting for the sync of %q: %w", appName(i), err)
	}
	return at.Sub(start).Seconds() * 1e3, nil
}

// model takes over what the engine has written into an Application.
func (w *waving) model(ctx context.Context) error {
	model, err := w.client.Resource(appKind).Namespace(controlNamespace).Get(ctx, appName(0), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the model: %w", err)
	}
	w.patches, err = firstSync(model)
	return err
}

// byBare applies the same objects in the same order, between two patches of an
// Application. It says what all took, and what the applies took.
func (w *waving) byBare(ctx context.Context, i int) (all, applies float64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not done after a minute"))
	defer cancel()
	app := w.world.application(i)
	if meta, ok := app["metadata"].(map[string]any); ok {
		meta["namespace"] = bareNamespace
	}
	apps := w.bare.Resource(appKind).Namespace(bareNamespace)
	if err := create(ctx, apps, app); err != nil {
		return 0, 0, err
	}
	patch := func(text string) error {
		text = strings.ReplaceAll(text, appName(0), appName(i))
		_, err := apps.Patch(ctx, appName(i), types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "bare-status"})
		if err != nil {
			return fmt.Errorf("patching Application %q: %w", appName(i), err)
		}
		return nil
	}
	start := time.Now()
	if err := patch(w.patches[0]); err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := w.applyWaves(ctx, i); err != nil {
		return 0, 0, err
	}
	applies = millis(time.Since(begun))
	if err := patch(w.patches[1]); err != nil {
		return 0, 0, err
	}
	return millis(time.Since(start)), applies, nil
}

func (w *waving) applyWaves(ctx context.Context, i int) error {
	for wave := range waves {
		g, gctx := errgroup.WithContext(ctx)
		var seen []<-chan time.Time
		for j := range perWave {
			name := waveObject(i, wave, j)
			seen = append(seen, w.objects.await(bareWaves+"/"+name, func(*unstructured.Unstructured) bool { return true }))
			g.Go(func() error { return w.apply(gctx, name, wave) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, c := range seen {
			if _, err := await(ctx, c); err != nil {
				return fmt.Errorf("waiting for wave %d: %w", wave, err)
			}
		}
	}
	return nil
}

func (w *waving) apply(ctx context.Context, name string, wave int) error {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": bareWaves, "annotations": map[string]any{
				"argocd.argoproj.io/sync-wave": fmt.Sprint(wave),
				// As long as the mark of the engine, which must not take these for its own.
				"bench.towline.dev/tracking-id": "bare:/ConfigMap:" + bareWaves + "/" + name,
			},
		},
		"data": map[string]any{"level": "info", "text": strings.Repeat("towline ", 60)},
	}}
	_, err := inNamespace(w.bare, bareWaves).Apply(ctx, name, body, metav1.ApplyOptions{FieldManager: "bare", Force: true})
	if err != nil {
		return fmt.Errorf("applying %q: %w", name, err)
	}
	return nil
}

func await(ctx context.Context, c <-chan time.Time) (time.Time, error) {
	select {
	case at := <-c:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

func syncOf(u *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(u.Object, "status", "sync", "status")
	return s
}

func phaseOf(u *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(u.Object, "status", "operationState", "phase")
	return s
}

func (w *waving) reportWaves(ours, theirs sample, t tally, reconciles int64) {
	r := w.report
	r.columns("program", "p50 ms", "p90 ms", "worst ms", "spread")
	for _, row := range []struct {
		name string
		of   sample
	}{{"engine", ours}, {"bare", theirs}} {
		r.row(row.name, row.of.median(), row.of.quantile(0.9), row.of.quantile(1), row.of.spread())
	}
	n := float64(w.scale.times)
	r.assert(len(ours) >= 5, "%d syncs are too few", len(ours))
	r.atMost("ratio", ours.median()/theirs.median(), 1.5)
	r.atMost("requests_per_object", float64(t.onTarget())/(n*waves*perWave), 1.15)
	r.note("engine_ms", ours.median())
	r.note("bare_ms", theirs.median())
	r.note("status_writes_per_sync", float64(t.onHub["patch"])/n)
	r.note("reconciles_per_sync", float64(reconciles)/n)
	w.logf("requests of the engine for %d syncs: %s", w.scale.times, t)
}
