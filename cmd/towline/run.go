package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/cluster/fleet"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/event"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/metric"
	"github.com/towline-cd/towline/internal/pairs"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/shelf"
)

// runOptions are the flags of `towline run`.
type runOptions struct {
	kubeconfig string
	context    string
	namespace  string
	data       string
	plugins    string
	workers    int
	audit      time.Duration
	metrics    string
	logFormat  string
	logLevel   string
	allowExec  bool
	listen     string
	insecure   bool
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
	f.StringVar(&o.plugins, "plugins", "",
		"folder of the sockets of config management plugins, such as /home/argocd/cmp-server/plugins; empty is no plugins")
	f.IntVar(&o.workers, "workers", 10,
		"how many applications are worked on at once; where there are several clusters, half as many of one, and half as many more in all")
	f.DurationVar(&o.audit, "audit", 30*time.Second,
		"how often an object that is thought to be in sync is checked against the server; 0 is never")
	f.StringVar(&o.metrics, "metrics-address", ":8082", "where /metrics and /healthz are served; empty is nowhere")
	f.StringVar(&o.listen, "listen", ":8080", "where the API is served; empty is nowhere")
	f.BoolVar(&o.insecure, "insecure", false, "serve the API as plain HTTP, for an installation with a proxy in front that does TLS")
	f.BoolVar(&o.allowExec, "allow-exec-credentials", false,
		"let cluster secrets name programs that sign in (execProviderConfig); they run as this process does")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// parts is everything that a running controller is made of.
type parts struct {
	namespace  string
	tracker    object.Tracker
	engine     *engine.Engine
	fleet      *fleet.Fleet
	hub        *hub.Cache
	settings   *settings.Store
	sources    *sources
	pairs      *pairs.Store
	shelf      *shelf.Shelf
	scripts    *scripts
	renders    *renders
	controller *controller.Controller
	events     *event.Writer
	metrics    *metric.Metrics
	server     *server.Server
	// keeper knows who asks, and rights what they may do.
	keeper *identity.Keeper
	rights rights
	// certificates is what the server shows.
	certificates *settings.Certificates
	ignore       atomic.Pointer[ignoreOf]
	// appNamespaces are the patterns of the namespaces, besides the control
	// namespace, that applications are looked for in.
	appNamespaces []string
	// setNamespaces are the same for ApplicationSets.
	setNamespaces []string
	// tenancy is what held for all projects when applications were last woken for it.
	tenancy atomic.Pointer[policy.Tenancy]
	// waveDelay is the pause between waves that the environment asks for.
	waveDelay time.Duration
}

func (o runOptions) run(ctx context.Context) error {
	config, err := restConfig(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	withFaults(config)
	p, err := o.build(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(p.sources.close(), p.pairs.Close()) }()
	defer p.scripts.close()
	defer p.renders.Close()
	if err := p.hub.EnsureDefaultProject(ctx); err != nil {
		return fmt.Errorf("%w; are the CRDs installed and does namespace %q exist?", err, o.namespace)
	}
	return p.run(ctx, o)
}

func (p *parts) run(ctx context.Context, o runOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	problems := make(chan error, 1)
	start, started := time.Now(), cluster.Frugal()
	wg.Go(func() { p.events.Run(ctx) })
	wg.Go(func() { p.serveMetrics(ctx, o.metrics) })
	wg.Go(func() { p.hub.Run(ctx) })
	wg.Go(func() { problems <- p.settings.Run(ctx) })
	wg.Go(func() { p.fleet.Run(ctx) })
	slog.InfoContext(ctx, "starting", "version", version, "namespace", o.namespace)
	if !p.hub.WaitReady(ctx) || !p.settings.WaitReady(ctx) {
		return interruptedOr(ctx, <-problems)
	}
	// The others are read when an application asks for them.
	select {
	case <-p.fleet.Ready(v1alpha1.InClusterServer):
	case <-ctx.Done():
		return nil
	}
	started()
	wg.Go(func() { p.keepPeople(ctx, o) })
	wg.Go(func() { p.serveAPI(ctx, o) })
	slog.InfoContext(ctx, "ready", "took", time.Since(start).Round(time.Millisecond), "workers", o.workers, "sandbox", p.renders.Sandbox())
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
