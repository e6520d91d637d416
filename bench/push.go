package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// pushTest is one run of the scenario.
type pushTest struct {
	*staged
	bare *worker
	// times are those of all pushes, in milliseconds, by program.
	times map[string]sample
	// parts are what the bare program says of its own.
	parts map[string]sample
}

// bareRepository is the one that the bare program follows.
const bareRepository = "bare"

// pushObjects is how many objects the chart of a push has besides the one that
// every push changes.
const pushObjects = 20

// pushFiles are a chart of which one object changes with each push.
func pushFiles(word string) map[string]string {
	out := map[string]string{}
	for name, text := range bootChart(pushObjects) {
		out[pushedFolder+"/"+name] = text
	}
	out[pushedFolder+"/templates/pushed.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pushed}\n" +
		"data:\n  level: {{ .Values.word | quote }}\n"
	maps.Copy(out, pushChange(word))
	return out
}

func pushChange(word string) map[string]string {
	return map[string]string{pushedFolder + "/values.yaml": "level: info\nlabels: {team: retail}\nword: \"" + word + "\"\n"}
}

func changesOf(files map[string]string) map[string]*string {
	out := map[string]*string{}
	for name, text := range files {
		out[name] = new(text)
	}
	return out
}

// runPush pushes to a chart of one application and takes the time from the
// webhook until the object has changed, in turn with a bare program that is told
// of pushes to a repository of its own: it fetches, renders with the library,
// and applies the one object that changed.
func runPush(ctx context.Context, b *bench) (err error) {
	s, err := b.stage(ctx, pushFiles("0"), rarely())
	if err != nil {
		return err
	}
	p := &pushTest{staged: s, times: map[string]sample{}, parts: map[string]sample{}}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := p.begin(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "towline-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := p.hireBare(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.bare.dismiss()) }()
	for _, run := range []func(context.Context) (spent, error){p.byEngine, p.byBare} {
		if _, err := run(ctx); err != nil {
			return err
		}
	}
	p.times, p.parts = map[string]sample{}, map[string]sample{}
	p.git.ResetRequests()
	c, err := b.contend(ctx, contestant{name: bareName, run: p.byBare}, contestant{name: engineName, run: p.byEngine})
	if err != nil {
		return err
	}
	p.reportPush(c)
	return nil
}

// begin makes the application and starts the product.
func (p *pushTest) begin(ctx context.Context) error {
	for _, name := range []string{namespaceOf(0), bareNamespace} {
		if err := p.namespace(ctx, name); err != nil {
			return err
		}
	}
	if err := p.git.Create(bareRepository, pushFiles("0")); err != nil {
		return err
	}
	app := p.app(place{name: pushedName, repo: repository, path: pushedFolder, namespace: namespaceOf(0)})
	if err := p.create(ctx, app); err != nil {
		return err
	}
	if err := p.play(ctx); err != nil {
		return err
	}
	return p.allSynced(ctx, 1, time.Minute)
}

// hireBare starts the bare program with an Application of its own, and what the
// product has written into its own.
func (p *pushTest) hireBare(ctx context.Context, dir string) error {
	model, err := p.client.Resource(appKind).Namespace(controlNamespace).Get(ctx, pushedName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the model: %w", err)
	}
	patches, err := firstSync(model)
	if err != nil {
		return err
	}
	if err := create(ctx, p.client.Resource(appKind).Namespace(bareNamespace), map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.ApplicationKind,
		"metadata": map[string]any{"name": pushedName, "namespace": bareNamespace}, "spec": model.Object["spec"],
	}); err != nil {
		return err
	}
	kubeconfig, err := p.plane.KubeconfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	if p.bare, err = p.hire(ctx, "fetch", setup{Kubeconfig: kubeconfig, Data: dir, Loop: loopSetup{Patches: patches}}); err != nil {
		return err
	}
	_, err = p.bare.tell(order{Do: "start"})
	return err
}

// pusher is who is told of pushes: its name, its user and its process, and what
// is done for one, which says how many milliseconds that took.
type pusher struct {
	name, user string
	pid        int
	once       func(context.Context) (float64, error)
}

// pushes makes so many pushes one after the other and takes what they took: of
// the wall time only what each waited for.
func (p *pushTest) pushes(ctx context.Context, by pusher) (out spent, err error) {
	window, err := openWindow(ctx, p.plane)
	if err != nil {
		return out, err
	}
	before, err := treeCPU(by.pid)
	if err != nil {
		return out, err
	}
	for range p.scale.times {
		// A repository is looked at for webhooks once in a while; the next push
		// comes when that is over.
		time.Sleep(hookWindow + hookWindow/10)
		ms, err := by.once(ctx)
		if err != nil {
			return out, err
		}
		p.times[by.name] = append(p.times[by.name], ms)
		out.Wall += ms / 1e3
	}
	time.Sleep(hookWindow / 2)
	after, err := treeCPU(by.pid)
	if err != nil {
		return out, err
	}
	out.CPU = after - before
	return out, out.count(ctx, window, by.user)
}

func (p *pushTest) byEngine(ctx context.Context) (spent, error) {
	return p.pushes(ctx, pusher{engineName, engineUser, p.product.cmd.Process.Pid, func(ctx context.Context) (float64, error) {
		word := p.word()
		return p.push(ctx, changesOf(pushChange(word)), namespaceOf(0)+"/pushed", word)
	}})
}

func (p *pushTest) byBare(ctx context.Context) (spent, error) {
	return p.pushes(ctx, pusher{bareName, bareUser, p.bare.cmd.Process.Pid, func(ctx context.Context) (float64, error) {
		word := p.word()
		if _, err := p.git.Commit(bareRepository, "main", "push "+word, changesOf(pushChange(word))); err != nil {
			return 0, err
		}
		seen := p.level(bareNamespace+"/pushed", word)
		start := time.Now()
		r, err := p.bare.tell(order{Do: "push", Object: p.git.URL(bareRepository)})
		if err != nil {
			return 0, err
		}
		for name, n := range r.Counts {
			p.parts[name] = append(p.parts[name], float64(n)/1e3)
		}
		at, err := await(ctx, seen)
		return millis(at.Sub(start)), err
	}})
}

func (p *pushTest) reportPush(c contest) {
	r := p.report
	ours, theirs := p.times[engineName], p.times[bareName]
	asked := p.git.Requests()[repository]
	n := float64(len(ours))
	for _, name := range []string{bareName, engineName} {
		t := p.times[name]
		p50, p90, p99 := digits(t.median()), digits(t.quantile(0.9)), digits(t.quantile(0.99))
		r.row(name+", ms of a push", "p50 "+p50, "p90 "+p90, "p99 "+p99, t.spread(), "", "", "")
	}
	r.atMost("ratio", ours.median()/theirs.median(), 1.5)
	r.atMost("p99_ratio", ours.quantile(0.99)/theirs.quantile(0.99), 3)
	r.atMost("fetches_per_push", float64(asked.Fetch)/n, 1)
	r.atMost("looks_per_push", float64(asked.ListRefs)/n, 1)
	perPush := func(of func(spent) int) float64 {
		return c.of(engineName, func(s spent) float64 { return float64(of(s)) / float64(p.scale.times) }).median()
	}
	r.note("dry_runs_per_push", perPush(func(s spent) int { return s.Requests["dry-run"] }))
	r.note("hub_patches_per_push", perPush(func(s spent) int { return s.tally.onHub["patch"] }))
	r.note("p50_ms", ours.median())
	r.note("p99_ms", ours.quantile(0.99))
	r.note("bare_p50_ms", theirs.median())
	for _, part := range []string{"fetch", "render", "patch", "apply"} {
		r.note("bare_"+part+"_ms", p.parts[part].median())
	}
	c.notes(r)
}
