package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// few is how many applications the small repository has that the large one is
// compared with.
const few = 10

// teams is how many folders the applications of a large repository are in, where
// they are not all beside each other.
const teams = 100

// monorepo is one repository with many applications: most are folders of plain
// manifests, some are overlays of one base, and the last is a chart that looks
// for a values file that is not there.
type monorepo struct {
	*fresh
	git     *gitserver.Server
	objects *observer
	apps    int
	// teams is in how many folders their folders are; 0 is in none.
	teams  int
	engine *engineWorker
	bare   *bareFetch
	// pushed counts the commits, so that each has other content.
	pushed int
}

// shared is how many applications are overlays of the base.
func (m *monorepo) shared() int { return min(100, m.apps/2) }

// chart is the application that is a chart.
func (m *monorepo) chart() int { return m.apps - 1 }

func (m *monorepo) name(i int) string { return appName(i) + "-web" }

// folder is the one of an application.
func (m *monorepo) folder(i int) string {
	if m.teams == 0 {
		return appName(i)
	}
	return fmt.Sprintf("team-%02d/%s", i%m.teams, appName(i))
}

// object is the one object of an application.
func (m *monorepo) object(i int) string { return namespaceOf(i) + "/" + m.name(i) }

// runMonorepo pushes commits that touch one of many applications, and then what
// several share, and counts what that costs. The times are compared with those
// of a small repository, before and after: once with all folders beside each
// other, which is the most that git can be asked for, and once in those of teams.
func runMonorepo(ctx context.Context, b *bench) error {
	b.report.columns("applications", "in folders", "push → applied ms", "p90 ms", "bare fetch ms",
		"renders/push", "fetches/push", "app writes/push", "requests/push")
	var small, large, spread lapses
	for _, w := range []struct {
		apps, teams int
		into        *lapses
	}{{few, 0, &small}, {b.scale.apps, 0, &large}, {b.scale.apps, teams, &spread}, {few, 0, &small}} {
		got, err := b.monorepo(ctx, &monorepo{apps: w.apps, teams: w.teams})
		if err != nil {
			return fmt.Errorf("with %d applications: %w", w.apps, err)
		}
		w.into.times, w.into.fetched = append(w.into.times, got.times...), append(w.into.fetched, got.fetched...)
	}
	r := b.report
	r.note("fetch_ms", large.fetched.median())
	r.note("fetch_ms_in_teams", spread.fetched.median())
	r.note("fetch_ms_of_few", small.fetched.median())
	// What git needs grows with its trees; this is what grows with the applications.
	r.note("ratio_beyond_fetch", large.beyond()/small.beyond())
	r.note("p50_ms", large.times.median())
	r.note("p50_ms_in_teams", spread.times.median())
	r.note("p50_ms_of_few", small.times.median())
	r.atMost("ratio", large.times.median()/small.times.median(), 1.2)
	r.atMost("ratio_in_teams", spread.times.median()/small.times.median(), 1.2)
	b.logf("push to applied: %s ms with %d applications, %s ms with as many in %d folders, %s ms with %d",
		large.times.spread(), b.scale.apps, spread.times.spread(), teams, small.times.spread(), few)
	return nil
}

// lapses are how long pushes took until they were applied, and the bare fetch of
// each commit.
type lapses struct{ times, fetched sample }

func (p lapses) beyond() float64 { return p.times.median() - p.fetched.median() }

func (b *bench) monorepo(ctx context.Context, m *monorepo) (out lapses, err error) {
	files := map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": configMapText("web", "base 0"),
	}
	for i := range m.apps {
		m.files(i, files)
	}
	if m.fresh, err = b.openFresh(ctx, files); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.close(), b.plane.Stop()) }()
	if m.git, err = gitserver.Start(filepath.Join(m.world.dir, "git")); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.git.Close()) }()
	m.world.apps = m.apps
	if err := m.populate(ctx); err != nil {
		return out, err
	}
	if m.engine, err = b.hireEngine(ctx, m.world, b.plane); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.engine.leave()) }()
	for _, do := range []string{"start", "run", "hint", "settle"} {
		r, err := m.engine.tell(order{Do: do, Object: m.world.source()})
		if err != nil {
			return out, err
		}
		b.logf("%d applications: the engine did %q in %.1fs, %.1f CPU-s", m.apps, do, r.Wall, r.CPU)
	}
	// Until the control plane goes.
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if m.objects, err = observe(watching, m.client.Resource(configMapKind)); err != nil {
		return out, err
	}
	tip, err := m.git.Revision(repository, "main")
	if err != nil {
		return out, err
	}
	if m.bare, err = newBareFetch(ctx, m.world.dir, m.world.source(), tip); err != nil {
		return out, err
	}
	if out, err = m.pushes(ctx); err != nil {
		return out, err
	}
	return out, m.others(ctx)
}

// files are those of an application in the repository.
func (m *monorepo) files(i int, into map[string]string) {
	dir := m.folder(i) + "/"
	switch {
	case i == m.chart():
		into[dir+"Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
		into[dir+"values.yaml"] = "level: chart\n"
		template := configMapText("{{ .Release.Name }}-web", "LEVEL")
		into[dir+"templates/web.yaml"] = strings.ReplaceAll(template, `"LEVEL"`, "{{ .Values.level | quote }}")
	case i < m.shared():
		up := strings.Repeat("../", strings.Count(dir, "/"))
		into[dir+"kustomization.yaml"] = fmt.Sprintf("resources: [%sbase]\nnamePrefix: %s-\n", up, appName(i))
	default:
		into[dir+"all.yaml"] = configMapText(m.name(i), "plain 0")
	}
}

func configMapText(name, level string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  level: %q\n  text: %q\n",
		name, level, strings.Repeat("towline ", 60))
}

func (m *monorepo) populate(ctx context.Context) error {
	for i := range min(namespaces, m.apps) {
		if err := m.namespace(ctx, namespaceOf(i)); err != nil {
			return err
		}
	}
	return each(ctx, m.apps, func(ctx context.Context, i int) error {
		app := m.world.application(i)
		spec, _ := app["spec"].(map[string]any)
		source, _ := spec["source"].(map[string]any)
		source["path"] = m.folder(i)
		if i == m.chart() {
			source["helm"] = map[string]any{"valueFiles": []any{"extra.yaml"}, "ignoreMissingValueFiles": true}
		}
		return create(ctx, m.client.Resource(appKind).Namespace(controlNamespace), app)
	})
}

// cost is what something cost the engine.
type cost struct {
	renders, fetches int64
	tally            tally
	// ms is from the push to applied, fetch the bare one of the same commit.
	ms, fetch float64
}

// push commits, hints, waits until the objects say so, and counts. Where no
// object will say anything it waits a while.
func (m *monorepo) push(ctx context.Context, changes map[string]*string, level string, objects ...string) (cost, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not applied after a minute"))
	defer cancel()
	before, err := m.engine.tell(order{Do: "counts"})
	if err != nil {
		return cost{}, err
	}
	window, err := openWindow(ctx, m.plane)
	if err != nil {
		return cost{}, err
	}
	var seen []<-chan time.Time
	for _, object := range objects {
		seen = append(seen, m.objects.await(object, func(u *unstructured.Unstructured) bool {
			is, _, _ := unstructured.NestedString(u.Object, "data", "level")
			return is == level
		}))
	}
	commit, err := m.git.Commit(repository, "main", "change", changes)
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	if _, err := m.engine.tell(order{Do: "hint", Object: m.world.source()}); err != nil {
		return cost{}, err
	}
	last := start
	if len(seen) == 0 {
		if _, err := m.engine.tell(order{Do: "span"}); err != nil {
			return cost{}, err
		}
	}
	for i, c := range seen {
		at, err := await(ctx, c)
		if err != nil {
			return cost{}, fmt.Errorf("waiting for %s: %w", objects[i], err)
		}
		if at.After(last) {
			last = at
		}
	}
	after, err := m.engine.tell(order{Do: "settle"})
	if err != nil {
		return cost{}, err
	}
	out := cost{
		ms:      last.Sub(start).Seconds() * 1e3,
		renders: after.Counts["renders"] - before.Counts["renders"], fetches: after.Counts["fetches"] - before.Counts["fetches"],
	}
	if out.tally, err = window.close(ctx, engineUser); err != nil {
		return cost{}, err
	}
	out.fetch, err = m.bare.fetch(ctx, commit)
	return out, err
}

// pushes touch one application each, always another one.
func (m *monorepo) pushes(ctx context.Context) (out lapses, err error) {
	var sum cost
	writes, requests := 0, 0
	plain := m.apps - 1 - m.shared()
	for n := range m.scale.times {
		m.pushed++
		i := m.shared() + (n*7919)%plain
		level := fmt.Sprintf("plain %d", m.pushed)
		c, err := m.push(ctx, map[string]*string{m.folder(i) + "/all.yaml": new(configMapText(m.name(i), level))}, level, m.object(i))
		if err != nil {
			return out, err
		}
		sum.renders, sum.fetches = sum.renders+c.renders, sum.fetches+c.fetches
		for _, k := range c.tally.written {
			if strings.Contains(k, "/applications/") {
				m.report.assert(strings.HasSuffix(k, "/"+appName(i)), "a push to %s wrote %s", appName(i), k)
			}
		}
		writes, requests = writes+c.tally.onHub["patch"], requests+c.tally.total()
		if n > 0 {
			out.times, out.fetched = append(out.times, c.ms), append(out.fetched, c.fetch)
		}
	}
	r, n := m.report, float64(m.scale.times)
	r.row(m.apps, max(m.teams, 1), out.times.spread(), out.times.quantile(0.9), out.fetched.median(),
		float64(sum.renders)/n, float64(sum.fetches)/n, float64(writes)/n, float64(requests)/n)
	r.assert(sum.renders == int64(m.scale.times), "%d pushes that touch one application each made %d renders", m.scale.times, sum.renders)
	r.assert(sum.fetches == int64(m.scale.times), "%d pushes made %d fetches", m.scale.times, sum.fetches)
	return out, nil
}

// others are the pushes that more is to be said of: to what is shared, a new
// file in a folder, a file that was looked for and was not there, and one that
// concerns nobody.
func (m *monorepo) others(ctx context.Context) error {
	var overlays []string
	for i := range m.shared() {
		overlays = append(overlays, m.object(i))
	}
	plain := m.shared()
	for _, c := range []struct {
		what, file, text, level string
		objects                 []string
	}{
		{"the base", "base/web.yaml", configMapText("web", "base 1"), "base 1", overlays},
		{
			"a new file in a folder", m.folder(plain) + "/more.yaml",
			configMapText(m.name(plain)+"-more", "more"), "more",
			[]string{m.object(plain) + "-more"},
		},
		{"a values file that was not there", m.folder(m.chart()) + "/extra.yaml", "level: extra\n", "extra", []string{m.object(m.chart())}},
		{"nothing that anybody reads", "README.md", "hello\n", "", nil},
	} {
		got, err := m.push(ctx, map[string]*string{c.file: &c.text}, c.level, c.objects...)
		if err != nil {
			return fmt.Errorf("pushing %s: %w", c.what, err)
		}
		m.logf("%d applications: a push of %s: %d renders, %d writes of applications, %.0f ms",
			m.apps, c.what, got.renders, got.tally.onHub["patch"], got.ms)
		m.report.assert(got.renders == int64(len(c.objects)), "a push of %s made %d renders, not %d", c.what, got.renders, len(c.objects))
		if len(c.objects) == 0 {
			m.report.assert(got.tally.onHub["patch"] == 0, "a push of %s wrote %d times", c.what, got.tally.onHub["patch"])
		}
	}
	return nil
}
