package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// pruning is one run of the scenario.
type pruning struct {
	*bootstrap
	git *gitserver.Server
	// full and cut are the commits with all objects and with those that stay.
	full, cut string
	// ends are what the second halves of the rounds took, the removals.
	ends contest
}

// pruned is how many objects of an application go with a commit: under half.
func (p *pruning) pruned() int { return p.scale.perApp * 2 / 5 }

// runPrune takes two fifths of the objects of each application out of the
// repository, and then deletes the applications with all that is left, in turn
// with a bare program that deletes the same objects and patches the same
// Applications.
func runPrune(ctx context.Context, b *bench) (err error) {
	s, err := b.openBootstrap(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	// Without controllers nobody would end a deletion in the foreground.
	s.finalizers = []any{v1alpha1.FinalizerResourcesBackground}
	s.policy["syncOptions"] = []any{"PrunePropagationPolicy=background"}
	p := &pruning{bootstrap: s, ends: contest{}}
	if p.git, err = gitserver.Start(filepath.Join(s.world.dir, "git")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.git.Close()) }()
	if err := p.commits(); err != nil {
		return err
	}
	// The first of each is for warming up, and for learning what is written.
	for _, run := range []func(context.Context) (spent, error){p.byEngine, p.byLoop} {
		if _, err := run(ctx); err != nil {
			return err
		}
	}
	p.ends = contest{}
	c, err := b.contend(ctx, contestant{name: bareName, run: p.byLoop}, contestant{name: engineName, run: p.byEngine})
	if err != nil {
		return err
	}
	return p.reportPrune(c)
}

// commits makes the commit in which less is desired.
func (p *pruning) commits() (err error) {
	if p.full, err = p.git.Revision(repository, "main"); err != nil {
		return err
	}
	changes := map[string]*string{}
	for i := range p.scale.apps {
		var docs []string
		for j := p.pruned(); j < p.scale.perApp; j++ {
			text, err := yaml.Marshal(bootstrapObject(i, j))
			if err != nil {
				return fmt.Errorf("encoding a manifest: %w", err)
			}
			docs = append(docs, string(text))
		}
		changes[appName(i)+"/all.yaml"] = new(strings.Join(docs, "---\n"))
	}
	p.cut, err = p.git.Commit(repository, "main", "less", changes)
	return err
}

// at moves the branch.
func (p *pruning) at(commit string) error { return p.git.SetRef(repository, "refs/heads/main", commit) }

func (p *pruning) byEngine(ctx context.Context) (out spent, err error) {
	if err := p.at(p.full); err != nil {
		return out, err
	}
	_, err = p.bootstrap.byEngine(ctx, p.scale.apps, func(ctx context.Context, engine *engineWorker) error {
		if err := p.at(p.cut); err != nil {
			return err
		}
		window, err := openWindow(ctx, p.plane)
		if err != nil {
			return err
		}
		if out, err = engine.spend(order{Do: "follow", Object: p.world.source(), Version: p.cut}); err != nil {
			return err
		}
		if _, err := engine.tell(order{Do: "settle"}); err != nil {
			return err
		}
		if err := out.count(ctx, window, engineUser); err != nil {
			return err
		}
		if err := p.model(ctx); err != nil {
			return err
		}
		return p.removeByEngine(ctx, engine)
	})
	return out, err
}

// removeByEngine deletes the applications and waits until the engine has let
// them go.
func (p *pruning) removeByEngine(ctx context.Context, engine *engineWorker) error {
	window, err := openWindow(ctx, p.plane)
	if err != nil {
		return err
	}
	if _, err := engine.tell(order{Do: "expect-none"}); err != nil {
		return err
	}
	deleted := make(chan error, 1)
	go func() {
		deleted <- each(ctx, p.scale.apps, func(ctx context.Context, i int) error {
			return p.client.Resource(appKind).Namespace(controlNamespace).Delete(ctx, appName(i), metav1.DeleteOptions{})
		})
	}()
	out, err := engine.spend(order{Do: "removed"})
	if err := errors.Join(err, <-deleted); err != nil {
		return err
	}
	if err := out.count(ctx, window, engineUser); err != nil {
		return err
	}
	p.ends[engineName] = append(p.ends[engineName], out)
	p.logf("engine, removal: %.2fs, %.2f CPU-s, requests %s", out.Wall, out.CPU, out.tally)
	return nil
}

func (p *pruning) byLoop(ctx context.Context) (out spent, err error) {
	loop, err := p.hireLoop(ctx, p.scale.apps)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, loop.dismiss()) }()
	if _, err := loop.tell(order{Do: "bootstrap"}); err != nil {
		return out, err
	}
	var ends spent
	for _, half := range []struct {
		order order
		into  *spent
	}{{order{Do: "prune", Count: p.pruned()}, &out}, {order{Do: "remove"}, &ends}} {
		window, err := openWindow(ctx, p.plane)
		if err != nil {
			return out, err
		}
		if *half.into, err = loop.spend(half.order); err != nil {
			return out, err
		}
		if err := half.into.count(ctx, window, bareUser); err != nil {
			return out, err
		}
	}
	p.ends[bareName] = append(p.ends[bareName], ends)
	return out, nil
}

func (p *pruning) reportPrune(c contest) error {
	r := p.report
	gone, rest := float64(p.scale.apps*p.pruned()), float64(p.scale.apps*(p.scale.perApp-p.pruned()))
	for _, name := range []string{bareName, engineName} {
		r.row(name+", removal", p.ends.of(name, wallOf).spread(), p.ends.of(name, cpuOfRun).spread(), p.ends.of(name, serverOf).spread(),
			p.ends[name][0].tally, p.ends[name][0].Revisions, p.ends[name][0].Bytes/mebibyte, "")
	}
	perObject := func(objects float64) func(spent) float64 {
		// How kinds are made is read now and then, however many objects there are.
		return func(s spent) float64 { return float64(s.tally.onTarget()-s.tally.schemas) / objects }
	}
	for _, run := range c[engineName] {
		r.assert(run.Requests["delete"] == int(gone), "a prune of %v objects made %d deletions", gone, run.Requests["delete"])
	}
	for _, run := range p.ends[engineName] {
		r.assert(run.Requests["delete"] == int(rest), "a removal of %v objects made %d deletions", rest, run.Requests["delete"])
	}
	r.atMost("prune_ratio", c.ratio(wallOf).median(), 1.25)
	r.atMost("remove_ratio", p.ends.ratio(wallOf).median(), 1.25)
	r.atMost("prune_requests_per_object", c.of(engineName, perObject(gone)).median(), 1)
	r.atMost("remove_requests_per_object", p.ends.of(engineName, perObject(rest)).median(), 1)
	r.note("pruned", gone)
	r.note("removed", rest)
	c.notes(r)
	r.note("remove_engine_s", p.ends.of(engineName, wallOf).median())
	r.note("remove_bare_s", p.ends.of(bareName, wallOf).median())
	r.note("remove_cpu_ratio", p.ends.ratio(bothCPU).median())
	return nil
}
