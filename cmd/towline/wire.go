package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/pairs"
	"github.com/towline-cd/towline/internal/rival"
	"github.com/towline-cd/towline/internal/script"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/shelf"
)

// build makes the parts. What acts is made when this process leads, and told by
// the others from then on.
func (o runOptions) build(ctx context.Context, w ways) (*parts, error) {
	p := &parts{namespace: o.namespace, role: o.role, ways: w}
	if n, err := strconv.Atoi(os.Getenv(v1alpha1.EnvSyncWaveDelay)); err == nil && n > 0 {
		p.waveDelay = time.Duration(n) * time.Second
	}
	first, err := settings.Read(ctx, w.fenced, o.namespace)
	if err != nil {
		return nil, err
	}
	p.tracker, p.setWorkers = first.Tracker, first.Sets.Workers
	if err := o.tell(ctx, p, first); err != nil {
		return nil, err
	}
	if err := p.openHub(ctx, w.fenced, hub.Namespaces{Applications: first.AppNamespaces, Sets: first.Sets.Namespaces}); err != nil {
		return nil, err
	}
	listeners := settings.Listeners{
		Settings: p.settingsChanged, Repositories: p.repositoriesChanged, Clusters: p.clustersChanged,
		Policy: p.rights.policyChanged,
	}
	if p.settings, err = settings.New(w.fenced, o.namespace, listeners); err != nil {
		return nil, err
	}
	dir := ""
	if o.role.controller {
		if dir, err = p.openHands(o, first); err != nil {
			return nil, err
		}
	}
	if p.ledger, err = o.ledger.open(dir); err != nil {
		return nil, err
	}
	if err := p.openLeadership(o, dir); err != nil {
		return nil, err
	}
	if err := p.openReports(w.fenced); err != nil {
		return nil, err
	}
	if err := p.openNotices(w.fenced, first.NotifySelfService); err != nil {
		return nil, err
	}
	return p, p.openAPI()
}

// openHands opens what acting takes, and says which folder is ours alone.
func (p *parts) openHands(o runOptions, first *settings.Settings) (dir string, err error) {
	// It is asked for with the first look, and takes a moment.
	go pairs.Program()
	p.scripts = newScripts()
	p.scripts.set(first)
	p.openFleet(p.ways, o.allowExec, first)
	if p.rivals, err = rival.NewWatch(p.ways.fenced, o.namespace); err != nil {
		return "", err
	}
	if dir, err = p.openData(openOptions{dir: o.data, fetching: first.Fetching}); err != nil {
		return "", err
	}
	if p.renders, err = newRenderHost(o.plugins); err != nil {
		return "", err
	}
	p.oracle, err = newOracle(p.ways.fenced, oracleOptions{namespace: o.namespace, sets: first.Sets, trust: p.settings.Book().Trust})
	return dir, err
}

func (p *parts) openHub(ctx context.Context, config *rest.Config, namespaces hub.Namespaces) error {
	for key, patterns := range map[string][]string{
		v1alpha1.KeyParamApplicationNamespaces: namespaces.Applications, v1alpha1.KeyParamAppSetNamespaces: namespaces.Sets,
	} {
		if _, broken := policy.MatchesNamespace(patterns, p.namespace); len(broken) > 0 {
			slog.WarnContext(ctx, "namespaces that cannot be understood are left out",
				"configMap", v1alpha1.ConfigMapCmdParams, "key", key, "entries", broken)
		}
	}
	p.appNamespaces, p.setNamespaces = namespaces.Applications, namespaces.Sets
	client, err := hub.New(config, p.namespace)
	if err != nil {
		return err
	}
	p.hub, err = hub.NewCache(client, hub.Events{
		Application: p.applicationChanged,
		Set:         p.setChanged,
		Project:     p.projectChanged,
	}, namespaces)
	if err != nil {
		return fmt.Errorf("making the hub's cache: %w", err)
	}
	return nil
}

// openOptions say where things are kept, and how they are fetched.
type openOptions struct {
	dir      string
	fetching settings.Fetching
}

// openData opens what is kept on disk, all of which may be lost at any time, and
// says where that is. Nobody else has the folder open then.
func (p *parts) openData(o openOptions) (string, error) {
	dir := o.dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a folder for fetched repositories: %w; set --data", err)
		}
		dir = filepath.Join(cache, "towline", "data")
	}
	var err error
	looked := func(repoURL string) {
		if t := p.shift.Load(); t != nil {
			t.controller.Hint(repoURL)
		}
	}
	fetch := fetchOptions{book: bookOf(p.settings.Repositories), looked: looked, Fetching: o.fetching}
	p.countFetches(&fetch)
	if p.sources, err = openSources(dir, fetch); err != nil {
		return "", err
	}
	if p.shelf, err = shelf.Open(filepath.Join(dir, "renders"), shelfSize); err != nil {
		return "", err
	}
	p.pairs, err = pairs.Open(filepath.Join(dir, "pairs"))
	return dir, err
}

// shelfSize is how much of what was rendered is kept on disk: some ten thousand
// applications.
const shelfSize = 512 << 20

func (t *shift) wake(apps []string, cause controller.Cause) {
	for _, app := range apps {
		t.controller.Enqueue(app, cause)
	}
}

// objectChanged wakes the applications that a live object belongs to, and
// those that desire it though it does not carry their mark. Who looks at their
// trees is told whoever leads.
func (p *parts) objectChanged(server string, c *cluster.Cluster, ch cluster.Change) {
	t := p.shift.Load()
	if t != nil {
		p.countChange(server, ch)
		t.wake(t.engine.Watching(server, ch.Old, ch.New), controller.Drift)
	}
	for _, f := range []*object.Fact{ch.Old, ch.New} {
		if f == nil {
			continue
		}
		if t != nil {
			t.wake(t.engine.Wanting(server, f.Key), controller.Drift)
		}
		if f.App == "" && f.Owned {
			p.descendantChanged(t, c, f)
		}
		if f.App == "" {
			continue
		}
		if app, ok := p.ours(f.App); ok {
			p.touched(app)
			if t != nil {
				t.controller.Enqueue(app, controller.Drift)
			}
		}
	}
}

// descendantChanged wakes the application that an object came from, while that
// one has something to explain.
func (p *parts) descendantChanged(t *shift, c *cluster.Cluster, f *object.Fact) {
	instance, ok := engine.Root(c, f)
	if !ok {
		return
	}
	app, ok := p.ours(instance)
	if !ok {
		return
	}
	p.touched(app)
	if t != nil && t.engine.Ailing(app) {
		t.controller.Enqueue(app, controller.Drift)
	}
}

// settingsChanged passes on what does not wait for the next look.
func (p *parts) settingsChanged(s *settings.Settings) {
	if p.role.controller {
		moved := p.scripts.set(s)
		p.fleet.Each(func(c *cluster.Cluster) {
			c.SetFilters(filters(s.Exclusions), filters(s.Inclusions))
			c.Rejudge(moved)
		})
	}
	p.tenancyChanged(&s.Tenancy)
	if !slices.Equal(s.AppNamespaces, p.appNamespaces) {
		slog.Warn("the namespaces of applications have changed; they take effect with the next start",
			"configMap", v1alpha1.ConfigMapCmdParams, "key", v1alpha1.KeyParamApplicationNamespaces)
	}
	if !slices.Equal(s.Sets.Namespaces, p.setNamespaces) {
		slog.Warn("the namespaces of ApplicationSets have changed; they take effect with the next start",
			"configMap", v1alpha1.ConfigMapCmdParams, "key", v1alpha1.KeyParamAppSetNamespaces)
	}
	if s.Tracker != p.tracker {
		slog.Warn("the way in which objects are marked has changed; it takes effect with the next start",
			"configMap", v1alpha1.ConfigMapSettings)
	}
}

// repositoriesChanged wakes the applications of the places that something else
// is known of now: what they were refused may be given to them.
func (p *parts) repositoriesChanged(urls []string) {
	p.announce(server.TopicRepositories)
	if t := p.shift.Load(); t != nil {
		t.controller.RepositoriesChanged(func(repoURL string) bool {
			return slices.ContainsFunc(urls, func(changed string) bool { return repository.Covers(changed, repoURL) })
		})
	}
}

func filters(in []settings.Filter) []cluster.Filter {
	if in == nil {
		return nil
	}
	out := make([]cluster.Filter, len(in))
	for i, f := range in {
		out[i] = cluster.Filter(f)
	}
	return out
}

// confirmRate is how many objects a second are asked about again after a start
// without a log of confirmed pairs: a fraction of what a small API server
// answers, so that those who change something do not wait.
const confirmRate = 100

func (p *parts) engineSettings() engine.Settings {
	s := p.settings.Current()
	last := p.ignoring(s)
	return engine.Settings{
		Name: last.name,
		// A look that the poller made is good until its next one.
		MaxAge:  2 * (s.Reconciliation + s.Jitter),
		Backoff: plan.Backoff{First: s.Sync.HealFirst, Factor: s.Sync.HealFactor, Cap: s.Sync.HealCap},
		Ignore:  last.ignore,
		Gate:    plan.Gate{ByLetter: s.Sync.ByLetter},
		Settle:  s.Sync.Settle,
		// The pause is also known by a variable, and an installation may have
		// either.
		WaveDelay:   max(s.Sync.WaveDelay, p.waveDelay),
		SyncTimeout: s.Sync.Timeout,
		Build:       s.Build,
		Tenancy:     &s.Tenancy,
		ConfirmRate: confirmRate,
		Sets: engine.SetSettings{
			Policy: s.Sets.Policy, Override: s.Sets.Override, StrictGlobs: s.Sets.StrictGlobs,
			Progressive: s.Sets.Progressive, Requeue: s.Sets.Requeue, AppNamespaces: p.appNamespaces,
			DryRun: s.Sets.DryRun, Annotations: s.Sets.Annotations, Labels: s.Sets.Labels, MaxListed: s.Sets.MaxListed,
		},
	}
}

// ignoring are the rules of the settings, made once: whoever looks at an
// application takes another pointer for other rules.
func (p *parts) ignoring(s *settings.Settings) *ignoreOf {
	for {
		last := p.ignore.Load()
		if last != nil && last.of == s {
			return last
		}
		if next := (&ignoreOf{of: s, ignore: ignoreRules(s), name: nameOf(s)}); p.ignore.CompareAndSwap(last, next) {
			return next
		}
	}
}

// nameOf names the program and its settings, to the next process.
func nameOf(s *settings.Settings) string {
	program := pairs.Program()
	if program == "" {
		return ""
	}
	return program + s.Name.String()
}

// ignoreOf are the rules of the settings that they were made from, and the name
// of these.
type ignoreOf struct {
	of     *settings.Settings
	ignore *engine.Ignore
	name   string
}

// ignoreRules are the rules of the config map, compiled.
func ignoreRules(s *settings.Settings) *engine.Ignore {
	out := &engine.Ignore{
		Options: diff.Options{Status: diff.StatusField(s.Compare.Status), AggregatedRoles: s.Compare.IgnoreAggregatedRoles},
	}
	for _, r := range s.IgnoreDifferences {
		rule := diff.Rule{Group: r.Group, Kind: r.Kind, Pointers: r.Pointers, Managers: r.Managers, Origin: r.Origin}
		for _, text := range r.Expressions {
			rule.Exprs = append(rule.Exprs, engine.Compile(compiler, text))
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}

// compiler compiles jq under the usual limits.
func compiler(expr string) (diff.Expr, error) { return script.Compile(expr, script.Limits{}) }
