package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/render"
	"github.com/towline-cd/towline/internal/source"
)

// commits is how many there are besides the first: more than an answer has names, so that going round them finds it by
// what was read each time, and never by a name.
const commits = 12

// hitBench is an engine with a repository of everything that is rendered. It has no cluster: nobody asks for one.
type hitBench struct {
	*bench
	engine  *engine.Engine
	renders *renderCounter
	git     *gitserver.Server
	store   *source.Store
	url     string
	// shas are the commits that differ in a file that no render reads.
	shas []string
}

// hits measures what it costs the engine to find out that what it rendered before still stands: at the commit that it was
// rendered at, and at others that changed nothing of what the render read.
func (b *bench) hits(ctx context.Context, host *render.Host) (err error) {
	dir, err := os.MkdirTemp("", "towline-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h := &hitBench{bench: b, renders: &renderCounter{Renderer: host}, url: world{dir: dir}.source()}
	if err := h.repository(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.git.Close()) }()
	if h.store, err = source.New(source.Options{Dir: filepath.Join(dir, "store"), AllowFile: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	h.engine = engine.New(engine.Options{
		Namespace: controlNamespace, Sources: gitOnly{h.store}, Renderer: h.renders, Now: time.Now,
		Settings: func() engine.Settings { return engine.Settings{MaxAge: time.Hour} },
	})
	if err := h.fetch(ctx); err != nil {
		return err
	}
	var same, other sample
	for i, c := range renderCases() {
		if c.small {
			continue
		}
		here, there, err := h.measure(ctx, i, c)
		if err != nil {
			return fmt.Errorf("measuring a hit of %s: %w", c.name, err)
		}
		b.logf("%s: a hit takes %s µs at the same commit, %s µs at another", c.name, here.spread(), there.spread())
		same, other = append(same, here...), append(other, there...)
	}
	b.report.atMost("hit_us", same.median(), hitMost)
	b.report.atMost("hit_by_reads_us", other.median(), hitMost)
	return nil
}

// hitMost is how long a hit may take, in microseconds.
const hitMost = 1000

// folderOf is where a case is in the repository.
func folderOf(i int) string { return fmt.Sprintf("apps/case-%d", i) }

// repository makes the repository and its commits.
func (h *hitBench) repository(dir string) (err error) {
	files := map[string]string{}
	for i, c := range renderCases() {
		for name, text := range c.files {
			files[folderOf(i)+"/"+name] = text
		}
	}
	if h.git, err = gitserver.Start(filepath.Join(dir, "git")); err != nil {
		return err
	}
	if err := h.git.Create(repository, files); err != nil {
		return err
	}
	for n := range commits + 1 {
		sha, err := h.git.Commit(repository, "main", "change", map[string]*string{"docs/README.md": new(fmt.Sprintf("%d\n", n))})
		if err != nil {
			return err
		}
		h.shas = append(h.shas, sha)
	}
	return nil
}

// fetch has all commits fetched, so that no hit waits for that.
func (h *hitBench) fetch(ctx context.Context) error {
	for _, sha := range h.shas {
		tree, err := h.store.Tree(ctx, manifest.Origin{RepoURL: h.url}, sha)
		if err != nil {
			return err
		}
		if closer, ok := tree.(interface{ Close() error }); ok {
			if err := closer.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure renders once, and then finds that again, in microseconds for each repeat.
func (h *hitBench) measure(ctx context.Context, i int, c renderCase) (same, other sample, err error) {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: controlNamespace}}
	app.Spec.Source = &v1alpha1.ApplicationSource{RepoURL: h.url, Path: folderOf(i), TargetRevision: "main"}
	app.Spec.Destination.Namespace = c.req.App.Namespace
	ask := func(sha string) (time.Duration, error) {
		began := time.Now()
		_, err := h.engine.Render(ctx, app, engine.Rendering{Revisions: []string{sha}, Kube: c.req.Kube})
		return time.Since(began), err
	}
	if _, err := ask(h.shas[0]); err != nil {
		return nil, nil, err
	}
	rendered := h.renders.calls.Load()
	for range h.scale.repeats {
		var here, there []time.Duration
		for range h.scale.times {
			took, err := ask(h.shas[0])
			if err != nil {
				return nil, nil, err
			}
			here = append(here, took)
		}
		for n := range h.scale.times {
			took, err := ask(h.shas[1+n%commits])
			if err != nil {
				return nil, nil, err
			}
			there = append(there, took)
		}
		// Its name may be forgotten by now.
		if _, err := ask(h.shas[0]); err != nil {
			return nil, nil, err
		}
		same, other = append(same, micros(middle(here))), append(other, micros(middle(there)))
	}
	more := h.renders.calls.Load() - rendered
	h.report.assert(more == 0, "%s was rendered %d times more though nothing had changed", c.name, more)
	return same, other, nil
}
