package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// bootNamespaces is over how many the objects of a bootstrap are spread.
const bootNamespaces = 20

func bootOf(app int) string { return fmt.Sprintf("boot-%02d", app%bootNamespaces) }
func bareOf(app int) string { return fmt.Sprintf("bare-%02d", app%bootNamespaces) }

// bootstrapObject is healthy as soon as it is there: nobody runs workloads.
func bootstrapObject(app, i int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": fmt.Sprintf("%s-c%d", appName(app), i), "labels": map[string]any{"app": appName(app)}},
		"data":     map[string]any{"level": "info", "text": strings.Repeat("towline ", 60)},
	}
}

// bootstrap is one run of the scenario.
type bootstrap struct {
	*fresh
	loop loopSetup
}

// runBootstrap has the engine find several hundred applications that were
// never synced, in turn with a bare program that makes the same applies and
// two patches of each Application. Both are processes of their own that begin
// anew each time, on a cluster where nothing is left of the time before.
func runBootstrap(ctx context.Context, b *bench) (err error) {
	files := map[string]string{}
	for i := range b.scale.apps {
		var docs []string
		for j := range b.scale.perApp {
			text, err := yaml.Marshal(bootstrapObject(i, j))
			if err != nil {
				return fmt.Errorf("encoding a manifest: %w", err)
			}
			docs = append(docs, string(text))
		}
		files[appName(i)+"/all.yaml"] = strings.Join(docs, "---\n")
	}
	f, err := b.openFresh(ctx, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	s := &bootstrap{fresh: f, loop: loopSetup{PerApp: b.scale.perApp}}
	for i := range bootNamespaces {
		if err := errors.Join(s.namespace(ctx, bootOf(i)), s.namespace(ctx, bareOf(i))); err != nil {
			return err
		}
	}
	if err := s.namespace(ctx, bareNamespace); err != nil {
		return err
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	return s.measure(ctx)
}

// learn has the engine sync some applications, which warms the server up, and
// takes one of them as the model of what the bare program writes.
func (s *bootstrap) learn(ctx context.Context) error {
	apps := min(50, s.scale.apps)
	if _, err := s.byEngine(ctx, apps, func(ctx context.Context) error {
		model, err := s.client.Resource(appKind).Namespace(controlNamespace).Get(ctx, appName(0), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the model: %w", err)
		}
		s.loop.Model = model.GetName()
		s.loop.Patches, err = firstSync(model)
		return err
	}); err != nil {
		return err
	}
	_, err := s.byLoop(ctx, apps)
	return err
}

// built is what one bootstrap took.
type built struct {
	reading reading
	tally   tally
	// writes are the patches of Applications by how many an Application got.
	writes map[int]int
	peak   float64
}

func (s *bootstrap) measure(ctx context.Context) error {
	var ours, theirs []built
	s.report.columns("program", "wall s", "cpu s", "server cpu s", "peak MiB", "hub requests", "target requests")
	for range s.scale.repeats {
		bare, err := s.byLoop(ctx, s.scale.apps)
		if err != nil {
			return err
		}
		engine, err := s.byEngine(ctx, s.scale.apps, nil)
		if err != nil {
			return err
		}
		ours, theirs = append(ours, engine), append(theirs, bare)
		for _, row := range []struct {
			name string
			b    built
		}{{"bare", bare}, {"engine", engine}} {
			s.report.row(row.name, row.b.reading.Wall, row.b.reading.CPU, row.b.tally.server, row.b.peak,
				fmt.Sprint(row.b.tally.onHub), row.b.tally.onTarget())
			s.report.keep(row.b.reading)
			s.logf("%s: %.1fs, %.1f CPU-s, requests %s, of these for the hub %v; applications by number of patches: %v",
				row.name, row.b.reading.Wall, row.b.reading.CPU, row.b.tally, row.b.tally.onHub, row.b.writes)
		}
	}
	s.reportBootstrap(ours, theirs)
	return nil
}

func (s *bootstrap) reportBootstrap(ours, theirs []built) {
	r := s.report
	objects := float64(s.scale.apps * s.scale.perApp)
	figure := func(of []built, f func(built) float64) sample {
		out := make(sample, len(of))
		for i, b := range of {
			out[i] = f(b)
		}
		return out
	}
	ratios := make(sample, len(ours))
	for i := range ours {
		ratios[i] = ours[i].reading.Wall / theirs[i].reading.Wall
	}
	wall := func(b built) float64 { return b.reading.Wall }
	cpu := func(b built) float64 { return b.reading.CPU }
	r.assert(len(ours) >= 3 || s.quick, "%d repeats are too few", len(ours))
	r.atMost("ratio", ratios.median(), 1.6)
	r.atMost("requests_per_object", figure(ours, func(b built) float64 { return float64(b.tally.onTarget()) / objects }).median(), 1.15)
	r.atMost("status_writes_per_app", figure(ours, func(b built) float64 {
		return float64(b.tally.onHub["patch"]) / float64(s.scale.apps)
	}).median(), 2)
	r.atMost("peak_rss_mib", figure(ours, func(b built) float64 { return b.peak }).quantile(1), 150)
	r.note("engine_s", figure(ours, wall).median())
	r.note("bare_s", figure(theirs, wall).median())
	r.note("engine_cpu_s", figure(ours, cpu).median())
	r.note("bare_cpu_s", figure(theirs, cpu).median())
	// Of all the CPU time that it takes, which others on the machine do not change.
	both := func(b built) float64 { return b.reading.CPU + b.tally.server }
	r.note("cpu_ratio", figure(ours, both).median()/figure(theirs, both).median())
	s.logf("ratio of the wall times: %s; engine %s s, bare %s s",
		ratios.spread(), figure(ours, wall).spread(), figure(theirs, wall).spread())
}

// byEngine makes the applications, starts an engine and takes the time until
// all of them are Synced, Healthy and idle. What comes after is counted too.
func (s *bootstrap) byEngine(ctx context.Context, apps int, inspect func(context.Context) error) (out built, err error) {
	w := s.world
	w.apps = apps
	err = s.applications(ctx, apps, controlNamespace, bootOf)
	if err != nil {
		return out, err
	}
	window, err := openWindow(ctx, s.plane)
	if err != nil {
		return out, err
	}
	engine, err := s.hireEngine(ctx, w, s.plane)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, engine.leave()) }()
	if _, err := engine.tell(order{Do: "start"}); err != nil {
		return out, err
	}
	if out.reading, err = engine.tell(order{Do: "bootstrap"}); err != nil {
		return out, err
	}
	if _, err := engine.tell(order{Do: "settle"}); err != nil {
		return out, err
	}
	memory, err := engine.tell(order{Do: "rest"})
	if err != nil {
		return out, err
	}
	out.peak = memory.Memory.Peak
	if err := out.count(ctx, window, engineUser); err != nil {
		return out, err
	}
	if inspect != nil {
		if err := inspect(ctx); err != nil {
			return out, err
		}
	}
	if _, err := engine.tell(order{Do: "end"}); err != nil {
		return out, err
	}
	return out, s.clear(ctx, controlNamespace, bootOf)
}

// byLoop does the same with the bare program.
func (s *bootstrap) byLoop(ctx context.Context, apps int) (out built, err error) {
	if err := s.applications(ctx, apps, bareNamespace, bareOf); err != nil {
		return out, err
	}
	window, err := openWindow(ctx, s.plane)
	if err != nil {
		return out, err
	}
	kubeconfig, err := s.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return out, err
	}
	loop, err := s.hire(ctx, "loop", setup{Kubeconfig: kubeconfig, Apps: apps, Loop: s.loop})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, loop.dismiss()) }()
	if out.reading, err = loop.tell(order{Do: "bootstrap"}); err != nil {
		return out, err
	}
	memory, err := loop.tell(order{Do: "rest"})
	if err != nil {
		return out, err
	}
	out.peak = memory.Memory.Peak
	if err := out.count(ctx, window, bareUser); err != nil {
		return out, err
	}
	return out, s.clear(ctx, bareNamespace, bareOf)
}

func (o *built) count(ctx context.Context, w window, user string) (err error) {
	if o.tally, err = w.close(ctx, user); err != nil {
		return err
	}
	events, err := w.events()
	if err != nil {
		return err
	}
	patches := map[string]int{}
	for _, e := range events {
		if isStatusWrite(e, user) {
			patches[e.Name]++
		}
	}
	o.writes = map[int]int{}
	for n := range maps.Values(patches) {
		o.writes[n]++
	}
	return nil
}

func isStatusWrite(e controlplane.Event, user string) bool {
	return e.User == user && e.Verb == "patch" && e.Resource == appKind.Resource
}

func (s *bootstrap) applications(ctx context.Context, apps int, namespace string, to func(int) string) error {
	return each(ctx, apps, func(ctx context.Context, i int) error {
		app := s.world.application(i)
		if meta, ok := app["metadata"].(map[string]any); ok {
			meta["namespace"] = namespace
		}
		if spec, ok := app["spec"].(map[string]any); ok {
			spec["destination"] = map[string]any{"server": "https://kubernetes.default.svc", "namespace": to(i)}
		}
		return create(ctx, s.client.Resource(appKind).Namespace(namespace), app)
	})
}

// clear removes what was made.
func (s *bootstrap) clear(ctx context.Context, apps string, of func(int) string) error {
	from := []dynamic.ResourceInterface{s.client.Resource(appKind).Namespace(apps)}
	for i := range bootNamespaces {
		from = append(from, inNamespace(s.client, of(i)))
	}
	for _, r := range from {
		if err := r.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("clearing away: %w", err)
		}
	}
	return nil
}
