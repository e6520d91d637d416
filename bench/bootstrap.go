package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// bootNamespaces is over how many the objects of a bootstrap are spread.
const bootNamespaces = 20

func bootOf(app int) string { return fmt.Sprintf("boot-%05d", app) }
func bareOf(app int) string { return fmt.Sprintf("bare-%05d", app) }

// namespace is where the objects of an application go.
func (s shape) namespace(of func(int) string, app int) string {
	if s.own {
		return of(app)
	}
	return of(app % bootNamespaces)
}

// bootstrap is one run of the scenario.
type bootstrap struct {
	*fresh
	shape shape
	loop  loopSetup
	// policy is the syncPolicy of the applications, and finalizers what they
	// have to wait for at their end.
	policy     map[string]any
	finalizers []any
	// status is how many bytes the status of an application has.
	status int
}

// runBootstrap has the engine find applications that were never synced, in turn
// with a bare program that makes the same applies and two patches of each
// Application. Both are processes of their own that begin anew each time, on a
// cluster where nothing is left of the time before.
func runBootstrap(ctx context.Context, b *bench) (err error) {
	s, err := b.openBootstrap(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.learn(ctx); err != nil {
		return err
	}
	programs := []contestant{
		{name: bareName, run: func(ctx context.Context) (spent, error) { return s.byLoop(ctx, b.scale.apps) }},
		{name: engineName, run: func(ctx context.Context) (spent, error) { return s.byEngine(ctx, b.scale.apps, nil) }},
	}
	if b.argocd != "" {
		programs = append(programs, contestant{name: peerName, run: s.byPeer, once: true})
	}
	c, err := b.contend(ctx, programs...)
	if err != nil {
		return err
	}
	return s.reportBootstrap(c)
}

// openBootstrap makes a repository of the scenario's shape, and the namespaces.
func (b *bench) openBootstrap(ctx context.Context) (s *bootstrap, err error) {
	form := shapes()[b.scenario]
	files, err := form.repositoryOf(b.scale.apps, b.scale.perApp)
	if err != nil {
		return nil, err
	}
	f, err := b.openFresh(ctx, files)
	if err != nil {
		return nil, err
	}
	s = &bootstrap{fresh: f, shape: form, loop: loopSetup{Shape: b.scenario, PerApp: b.scale.perApp}}
	s.policy = map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}}
	if form.own {
		s.policy["syncOptions"] = []any{"CreateNamespace=true"}
	}
	names := []string{bareNamespace}
	for i := range bootNamespaces {
		if !form.own {
			names = append(names, bootOf(i), bareOf(i))
		}
	}
	for _, name := range names {
		if err := s.namespace(ctx, name); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return s, nil
}

// learn has the engine sync some applications, which warms the server up, and
// takes one of them as the model of what the bare program writes.
func (s *bootstrap) learn(ctx context.Context) error {
	apps := min(50, s.scale.apps)
	if _, err := s.byEngine(ctx, apps, func(ctx context.Context, _ *engineWorker) error { return s.model(ctx) }); err != nil {
		return err
	}
	_, err := s.byLoop(ctx, apps)
	return err
}

// model takes over what the engine has written into an Application.
func (s *bootstrap) model(ctx context.Context) error {
	model, err := s.client.Resource(appKind).Namespace(controlNamespace).Get(ctx, appName(0), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the model: %w", err)
	}
	status, err := json.Marshal(model.Object["status"])
	if err != nil {
		return fmt.Errorf("encoding a status: %w", err)
	}
	s.status, s.loop.Model = len(status), model.GetName()
	s.loop.Patches, err = firstSync(model)
	return err
}

func (s *bootstrap) reportBootstrap(c contest) error {
	r := s.report
	objects := 0
	for i := range s.scale.apps {
		of, err := s.shape.objects(i, s.scale.perApp)
		if err != nil {
			return err
		}
		objects += len(of)
		if s.shape.own {
			objects++
		}
	}
	r.atMost("ratio", c.ratio(wallOf).median(), s.shape.most)
	r.atMost("requests_per_object", c.of(engineName, func(run spent) float64 {
		return float64(run.tally.onTarget()) / float64(objects)
	}).median(), 1.15)
	r.atMost("status_writes_per_app", c.of(engineName, func(run spent) float64 {
		return float64(run.tally.onHub["patch"]) / float64(s.scale.apps)
	}).median(), 2)
	if s.scenario == "bootstrap" {
		r.atMost("peak_rss_mib", c.of(engineName, peakOfRun).quantile(1), 150)
	} else {
		r.note("peak_rss_mib", c.of(engineName, peakOfRun).quantile(1))
	}
	for _, run := range c[engineName] {
		r.assert(run.Requests["dry-run"] == 0, "a first sync made %d dry-runs", run.Requests["dry-run"])
	}
	c.notes(r)
	r.note("objects", float64(objects))
	r.note("status_bytes", float64(s.status))
	s.logf("ratio of the wall times: %s; engine %s s, bare %s s", c.ratio(wallOf).spread(),
		c.of(engineName, wallOf).spread(), c.of(bareName, wallOf).spread())
	s.reportPeer(c)
	return nil
}

// reportPeer says how the engine compares with a peer, if there is one.
func (s *bootstrap) reportPeer(c contest) {
	if len(c[peerName]) == 0 {
		return
	}
	times := func(figure func(spent) float64) float64 {
		return c.of(peerName, figure).median() / c.of(engineName, figure).median()
	}
	s.report.atLeast("times_faster_than_"+peerName, times(wallOf), 30)
	s.report.atLeast("times_less_cpu_than_"+peerName, times(cpuOfRun), 30)
	s.report.note(peerName+"_peak_rss_mib", c.of(peerName, peakOfRun).median())
}

// afterwards goes on with an engine that has done its work.
type afterwards func(context.Context, *engineWorker) error

// byEngine makes the applications, starts an engine and takes the time until
// all of them are Synced, Healthy and idle. What comes after is counted too,
// and the caller may go on with the engine before everything is cleared away.
func (s *bootstrap) byEngine(ctx context.Context, apps int, then afterwards) (out spent, err error) {
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
	if out, err = engine.spend(order{Do: "bootstrap"}); err != nil {
		return out, err
	}
	if _, err := engine.tell(order{Do: "settle"}); err != nil {
		return out, err
	}
	memory, err := engine.tell(order{Do: "rest"})
	if err != nil {
		return out, err
	}
	out.Peak = memory.Memory.Peak
	if err := out.count(ctx, window, engineUser); err != nil {
		return out, err
	}
	if then != nil {
		if err := then(ctx, engine); err != nil {
			return out, err
		}
	}
	if _, err := engine.tell(order{Do: "end"}); err != nil {
		return out, err
	}
	return out, s.clear(ctx, apps, controlNamespace, bootOf)
}

// hireLoop makes the applications of the bare program and starts it.
func (s *bootstrap) hireLoop(ctx context.Context, apps int) (*worker, error) {
	if err := s.applications(ctx, apps, bareNamespace, bareOf); err != nil {
		return nil, err
	}
	kubeconfig, err := s.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return nil, err
	}
	return s.hire(ctx, "loop", setup{Kubeconfig: kubeconfig, Apps: apps, Loop: s.loop})
}

// byLoop does the same with the bare program.
func (s *bootstrap) byLoop(ctx context.Context, apps int) (out spent, err error) {
	loop, err := s.hireLoop(ctx, apps)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, loop.dismiss()) }()
	window, err := openWindow(ctx, s.plane)
	if err != nil {
		return out, err
	}
	if out, err = loop.spend(order{Do: "bootstrap"}); err != nil {
		return out, err
	}
	memory, err := loop.tell(order{Do: "rest"})
	if err != nil {
		return out, err
	}
	out.Peak = memory.Memory.Peak
	if err := out.count(ctx, window, bareUser); err != nil {
		return out, err
	}
	return out, s.clear(ctx, apps, bareNamespace, bareOf)
}

// count closes the window, and counts how often each Application was written.
func (s *spent) count(ctx context.Context, w window, user string) error {
	t, err := w.close(ctx, user)
	if err != nil {
		return err
	}
	s.take(t)
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
	s.writes = map[int]int{}
	for n := range maps.Values(patches) {
		s.writes[n]++
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
			if s.finalizers != nil {
				meta["finalizers"] = s.finalizers
			}
		}
		if spec, ok := app["spec"].(map[string]any); ok {
			spec["destination"] = map[string]any{"server": v1alpha1.InClusterServer, "namespace": s.shape.namespace(to, i)}
			spec["syncPolicy"] = s.policy
		}
		return create(ctx, s.client.Resource(appKind).Namespace(namespace), app)
	})
}

// clear removes what was made.
func (s *bootstrap) clear(ctx context.Context, apps int, of string, to func(int) string) error {
	all := metav1.ListOptions{}
	// Ten thousand may be more than the server does within a minute, after which it hangs up.
	for tries := 1; ; tries++ {
		err := s.client.Resource(appKind).Namespace(of).DeleteCollection(ctx, metav1.DeleteOptions{}, all)
		if err == nil {
			break
		}
		if tries == 5 {
			return fmt.Errorf("clearing away: %w", err)
		}
	}
	places := bootNamespaces
	if s.shape.own {
		places = apps
	}
	return each(ctx, places, func(ctx context.Context, i int) error {
		for _, r := range bootClients(s.client, to(i)) {
			if err := r.DeleteCollection(ctx, metav1.DeleteOptions{}, all); err != nil {
				return fmt.Errorf("clearing away: %w", err)
			}
		}
		if s.shape.own {
			return s.removeNamespace(ctx, to(i))
		}
		return nil
	})
}

// removeNamespace does what the controller of namespaces would.
func (s *bootstrap) removeNamespace(ctx context.Context, name string) error {
	r := s.client.Resource(namespaceKind)
	if err := r.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("clearing away: %w", err)
	}
	u, err := r.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("clearing away: %w", err)
	}
	if spec, ok := u.Object["spec"].(map[string]any); ok {
		spec["finalizers"] = []any{}
	}
	if _, err := r.Update(ctx, u, metav1.UpdateOptions{}, "finalize"); err != nil {
		return fmt.Errorf("clearing away: %w", err)
	}
	return nil
}
