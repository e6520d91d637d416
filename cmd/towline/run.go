package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/pairs"
	"github.com/towline-cd/towline/internal/render"
	"github.com/towline-cd/towline/internal/script"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/source"
)

// runOptions are the flags of `towline run`.
type runOptions struct {
	kubeconfig string
	context    string
	namespace  string
	data       string
	workers    int
	logFormat  string
	logLevel   string
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller",
		Long: "Run the controller for the Applications of one namespace, until it is interrupted.\n" +
			"It can be killed at any time: what it was doing is in the Applications, and the next run goes on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logging(o.logFormat, o.logLevel); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig (default: $KUBECONFIG, ~/.kube/config, or the pod's service account)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&o.namespace, "namespace", "n", v1alpha1.DefaultNamespace, "namespace of the Applications and the settings")
	f.StringVar(&o.data, "data", "", "folder for fetched repositories; it may be lost at any time (default: the user's cache folder)")
	f.IntVar(&o.workers, "workers", 10, "how many applications are worked on at once")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// parts is everything that a running controller is made of.
type parts struct {
	cluster    *cluster.Cluster
	hub        *hub.Cache
	settings   *settings.Store
	sources    *source.Store
	pairs      *pairs.Store
	controller *controller.Controller
	ignore     atomic.Pointer[ignoreOf]
}

func (o runOptions) run(ctx context.Context) error {
	config, err := restConfig(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	p, err := o.build(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(p.sources.Close(), p.pairs.Close()) }()
	if err := p.hub.EnsureDefaultProject(ctx); err != nil {
		return fmt.Errorf("%w; are the CRDs installed and does namespace %q exist?", err, o.namespace)
	}
	return p.run(ctx, o)
}

// build makes the parts. The controller comes last and is told by the others,
// so they get it through a variable.
func (o runOptions) build(ctx context.Context, config *rest.Config) (*parts, error) {
	p := &parts{}
	client, err := hub.New(config, o.namespace)
	if err != nil {
		return nil, err
	}
	p.hub, err = hub.NewCache(client, hub.Events{
		Application: func(old, app *v1alpha1.Application) { p.controller.ApplicationChanged(old, app) },
		Project: func(apps []string) {
			for _, app := range apps {
				p.controller.Enqueue(app, controller.User)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the hub's cache: %w", err)
	}
	if p.settings, err = settings.New(config, o.namespace); err != nil {
		return nil, err
	}
	if p.cluster, err = cluster.New(config, func(ch cluster.Change) { p.objectChanged(o.namespace, ch) }); err != nil {
		return nil, err
	}
	dir, err := dataDir(o.data)
	if err != nil {
		return nil, err
	}
	if p.sources, err = source.New(source.Options{Dir: filepath.Join(dir, "git")}); err != nil {
		return nil, err
	}
	if p.pairs, err = pairStore(ctx, config, filepath.Join(dir, "pairs")); err != nil {
		return nil, err
	}
	e := engine.New(engine.Options{
		Namespace: o.namespace,
		Hub:       p.hub,
		Sources:   p.sources,
		Renderer:  render.Directory{},
		Clusters:  single{p.cluster},
		Settings:  p.engineSettings,
		Compiler:  compiler,
		Pairs:     p.pairs,
		Now:       time.Now,
	})
	p.controller = controller.New(controller.Options{
		Reconciler: e,
		Resolver:   p.sources,
		Poll: func() (time.Duration, time.Duration) {
			s := p.settings.Current()
			return s.Reconciliation, s.Jitter
		},
		Workers: o.workers,
	})
	return p, nil
}

// objectChanged wakes the applications that a live object belongs to.
func (p *parts) objectChanged(namespace string, ch cluster.Change) {
	for _, f := range []*object.Fact{ch.Old, ch.New} {
		if f == nil || f.App == "" {
			continue
		}
		if ns, name := object.SplitInstance(namespace, f.App); ns == namespace {
			p.controller.Enqueue(name, controller.Drift)
		}
	}
}

func (p *parts) engineSettings() engine.Settings {
	s := p.settings.Current()
	last := p.ignore.Load()
	if last == nil || last.of != s {
		last = &ignoreOf{of: s, ignore: ignoreRules(s)}
		p.ignore.Store(last)
	}
	return engine.Settings{
		// A look that the poller made is good until its next one.
		MaxAge:  2 * (s.Reconciliation + s.Jitter),
		Backoff: plan.DefaultBackoff,
		Ignore:  last.ignore,
	}
}

// ignoreOf are the rules of the settings that they were made from.
type ignoreOf struct {
	of     *settings.Settings
	ignore *engine.Ignore
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

func (p *parts) run(ctx context.Context, o runOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	problems := make(chan error, 2)
	start := time.Now()
	wg.Go(func() { p.hub.Run(ctx) })
	wg.Go(func() { problems <- p.settings.Run(ctx) })
	wg.Go(func() { problems <- p.cluster.Run(ctx) })
	slog.InfoContext(ctx, "starting", "version", version, "namespace", o.namespace)
	if !p.hub.WaitReady(ctx) || !p.settings.WaitReady(ctx) {
		return interruptedOr(ctx, <-problems)
	}
	select {
	case <-p.cluster.Ready():
	case <-ctx.Done():
		return nil
	}
	slog.InfoContext(ctx, "ready", "took", time.Since(start).Round(time.Millisecond), "workers", o.workers)
	p.controller.Run(ctx)
	return nil
}

// interruptedOr is nil when the process was asked to end.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// dataDir is the folder for what may be lost at any time.
func dataDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for fetched repositories: %w; set --data", err)
	}
	return filepath.Join(cache, "towline", "data"), nil
}

// pairStore opens the log of confirmed pairs. A pair is the word of one
// cluster's API server in one version.
func pairStore(ctx context.Context, config *rest.Config, dir string) (*pairs.Store, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the cluster for its version: %w", err)
	}
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking the cluster who it is: %w", err)
	}
	return pairs.Open(dir, string(ns.UID)+" "+version.GitVersion)
}

// restConfig reads the kubeconfig as kubectl does.
func restConfig(path, name string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w; set --kubeconfig or $KUBECONFIG", err)
	}
	config.UserAgent = "towline/" + version
	return config, nil
}

// single is the one destination of this version: the cluster that the
// controller itself runs in.
type single struct{ cluster engine.Cluster }

// For finds the cluster of a destination.
func (s single) For(d v1alpha1.ApplicationDestination) (engine.Cluster, string, string, error) {
	if d.Server == v1alpha1.InClusterServer || d.Name == v1alpha1.InClusterName {
		return s.cluster, v1alpha1.InClusterServer, v1alpha1.InClusterName, nil
	}
	name := d.Server
	if name == "" {
		name = d.Name
	}
	return nil, "", "", fault.Terminalf("UnknownCluster",
		"cluster %q is not known; this version syncs to %s (%s) only", name, v1alpha1.InClusterName, v1alpha1.InClusterServer)
}
