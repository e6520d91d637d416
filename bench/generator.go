package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

const (
	// setName is the one ApplicationSet, and bareFleet where the bare program
	// puts the same Applications.
	setName   = "fleet"
	bareFleet = "bare-fleet"
)

// generating is one run of the scenario.
type generating struct {
	*fresh
	git    *gitserver.Server
	engine *engineWorker
	bare   dynamic.Interface
}

// runGenerator makes many Applications from the files of a repository with one
// ApplicationSet, and creates the same ones with a bare program. Then nothing
// changes, then one file does, and then one more cluster comes to a set over
// clusters.
func runGenerator(ctx context.Context, b *bench) (err error) {
	files := map[string]string{}
	for i := range b.scale.apps {
		files[configFile(i)] = configText(i, 0)
	}
	f, err := b.openFresh(ctx, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	g := &generating{fresh: f}
	if g.git, err = gitserver.Start(filepath.Join(f.world.dir, "git")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.git.Close()) }()
	if err := g.connect(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.engine.leave()) }()
	return g.measure(ctx)
}

func configFile(i int) string { return fmt.Sprintf("fleet/%s/config.yaml", appName(i)) }

func configText(i, version int) string {
	return fmt.Sprintf("name: %s\nnamespace: %s\nversion: \"%d\"\n", appName(i), namespaceOf(i), version)
}

func (g *generating) connect(ctx context.Context) error {
	if err := g.namespace(ctx, bareFleet); err != nil {
		return err
	}
	config, err := g.plane.RESTConfigFor(bareUser, masters)
	if err != nil {
		return err
	}
	config.QPS = -1
	if g.bare, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if g.engine, err = g.hireEngine(ctx, g.world, g.plane); err != nil {
		return err
	}
	if _, err := g.engine.tell(order{Do: "start"}); err != nil {
		return err
	}
	return create(ctx, g.client.Resource(setKind).Namespace(controlNamespace), g.set())
}

func (g *generating) set() map[string]any {
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": setName, "namespace": controlNamespace},
		"spec": map[string]any{
			"goTemplate": true,
			"generators": []any{map[string]any{"git": map[string]any{
				"repoURL": g.world.source(), "revision": "main", "files": []any{map[string]any{"path": "fleet/*/config.yaml"}},
			}}},
			"template": g.template("{{ .name }}", "{{ .namespace }}", "{{ .version }}"),
		},
	}
}

// template is an Application; the set has parameters in it.
func (g *generating) template(name, namespace, version string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]any{"fleet": setName}},
		"spec": map[string]any{
			"project":     "default",
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace},
			"source": map[string]any{
				"repoURL": g.world.source(), "path": name, "targetRevision": "main",
				"helm": map[string]any{"parameters": []any{map[string]any{"name": "version", "value": version}}},
			},
		},
	}
}

// pass has the set looked at once, and counts.
func (g *generating) pass(ctx context.Context) (reading, tally, error) {
	window, err := openWindow(ctx, g.plane)
	if err != nil {
		return reading{}, tally{}, err
	}
	r, err := g.engine.tell(order{Do: "generate", Object: setName})
	if err != nil {
		return r, tally{}, err
	}
	t, err := window.close(ctx, engineUser)
	return r, t, err
}

// bareLoop creates the same Applications, as many at once as the engine does.
func (g *generating) bareLoop(ctx context.Context) (seconds float64, err error) {
	start := time.Now()
	err = each(ctx, g.scale.apps, func(ctx context.Context, i int) error {
		app := g.template(appName(i), namespaceOf(i), "0")
		app["apiVersion"], app["kind"] = "argoproj.io/v1alpha1", "Application"
		return create(ctx, g.bare.Resource(appKind).Namespace(bareFleet), app)
	})
	return time.Since(start).Seconds(), err
}

func (g *generating) measure(ctx context.Context) error {
	n, r := g.scale.apps, g.report
	r.columns("pass", "seconds", "CPU-s", "Applications created", "patched", "deleted")
	row := func(what string, took reading, t tally) {
		r.keep(took)
		r.row(what, took.Wall, took.CPU, t.onHub["create"], t.onHub["patch"], t.onHub["delete"])
	}
	// Half of the bare loop's time is before ours and half after would need two
	// fleets; the smaller namespace first favours nobody by much.
	bare, err := g.bareLoop(ctx)
	if err != nil {
		return err
	}
	first, t, err := g.pass(ctx)
	if err != nil {
		return err
	}
	row("first", first, t)
	r.assert(t.onHub["create"] == n, "the first pass created %d Applications, not %d", t.onHub["create"], n)
	r.note("bare_seconds", bare)
	r.note("first_seconds", first.Wall)
	r.atMost("ratio", first.Wall/bare, 1.3)

	again, t, err := g.pass(ctx)
	if err != nil {
		return err
	}
	row("nothing changed", again, t)
	r.assert(len(t.onHub) == 0 || t.onHub["create"]+t.onHub["patch"]+t.onHub["delete"] == 0, "a pass without a change made %v", t.onHub)

	change := map[string]*string{configFile(n / 2): new(configText(n/2, 1))}
	if _, err := g.git.Commit(repository, "main", "change one", change); err != nil {
		return err
	}
	if _, err := g.engine.tell(order{Do: "hint", Object: g.world.source()}); err != nil {
		return err
	}
	one, t, err := g.pass(ctx)
	if err != nil {
		return err
	}
	row("one file changed", one, t)
	apps := 0
	for _, k := range t.written {
		if isApplication(k) {
			apps++
		}
	}
	r.assert(apps == 1, "one changed file wrote %d Applications", apps)
	return g.oneMoreCluster(ctx)
}

// isApplication says whether a key of etcd is that of an Application.
func isApplication(key string) bool { return strings.Contains(key, "/argoproj.io/applications/") }
