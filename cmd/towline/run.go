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
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/cluster/fleet"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/event"
	"github.com/towline-cd/towline/internal/herald"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/leader"
	"github.com/towline-cd/towline/internal/ledger"
	"github.com/towline-cd/towline/internal/metric"
	"github.com/towline-cd/towline/internal/pairs"
	"github.com/towline-cd/towline/internal/rival"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/shelf"
	"github.com/towline-cd/towline/internal/sso"
	"github.com/towline-cd/towline/internal/trace"
)

// runOptions are the flags of `towline run` and of its halves.
type runOptions struct {
	kubeconfig  string
	context     string
	namespace   string
	data        string
	plugins     string
	workers     int
	audit       time.Duration
	metrics     string
	ledger      ledgerOptions
	logFormat   string
	logLevel    string
	logSet      logSet
	allowExec   bool
	lease       leader.Times
	peerListen  string
	peerAddress string
	listen      string
	insecure    bool
	otlp        string
	// role is which half of it runs.
	role role
}

// role is what a process is for: it acts on applications (when it leads),
// answers people, or both.
type role struct{ controller, server bool }

func runCommand() *cobra.Command {
	cmd := roleCommand(role{controller: true, server: true})
	cmd.Use, cmd.Short = "run", "Run the controller and the server"
	cmd.Long = "Run the controller for the Applications of one namespace, and the server, until it is interrupted.\n" +
		"It can be killed at any time: what it was doing is in the Applications, and the next run goes on.\n" +
		"Of several replicas one acts; the others stand by and take over when it is gone."
	return cmd
}

func controllerCommand() *cobra.Command {
	cmd := roleCommand(role{controller: true})
	cmd.Use, cmd.Short = "controller", "Run the controller alone"
	cmd.Long = "Run the controller half of `towline run`: it acts on Applications and answers `towline server` on --peer-listen."
	return cmd
}

func serverCommand() *cobra.Command {
	cmd := roleCommand(role{server: true})
	cmd.Use, cmd.Short = "server", "Run the server alone"
	cmd.Long = "Run the server half of `towline run`: it answers people, and passes on to the leading `towline controller`\n" +
		"what only that one knows."
	return cmd
}

func roleCommand(r role) *cobra.Command {
	o := runOptions{role: r}
	cmd := &cobra.Command{
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.logSet = logSet{format: cmd.Flags().Changed("log-format"), level: cmd.Flags().Changed("log-level")}
			if err := logging(o.logFormat, o.logLevel); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.common(cmd.Flags())
	o.ledger.flags(cmd.Flags(), r)
	o.times(cmd.Flags())
	if r.controller {
		o.controller(cmd.Flags())
	}
	if r.server {
		o.server(cmd.Flags())
	}
	return cmd
}

// common are the flags of every role.
func (o *runOptions) common(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig (default: $KUBECONFIG, ~/.kube/config, or the pod's service account)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&o.namespace, "namespace", "n", v1alpha1.DefaultNamespace, "namespace of the Applications and the settings")
	f.StringVar(&o.metrics, "metrics-address", ":8082", "where /metrics, /healthz and /readyz are served; empty is nowhere")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json; without it as controller.log.format of argocd-cmd-params-cm says")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; without it as controller.log.level says")
	f.StringVar(&o.otlp, "otlp-address", "",
		"where a collector of OpenTelemetry takes traces over HTTP, as host:port or URL; without it as otlp.address says")
}

// times are the flags of the lease, which say how long it takes until a replica
// that is gone is missed.
func (o *runOptions) times(f *pflag.FlagSet) {
	usual := leader.UsualTimes()
	f.DurationVar(&o.lease.Duration, "lease-duration", usual.Duration,
		"how long the other replicas wait for one that leads and is not heard of, in whole seconds")
	f.DurationVar(&o.lease.Deadline, "lease-renew-deadline", usual.Deadline,
		"how long after its last renewal of the lease a replica writes; shorter than --lease-duration")
	f.DurationVar(&o.lease.Retry, "lease-retry-period", usual.Retry, "how often the lease is renewed")
}

// controller are the flags of whoever acts.
func (o *runOptions) controller(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", "", "folder for fetched repositories; it may be lost at any time (default: the user's cache folder)")
	f.StringVar(&o.plugins, "plugins", "",
		"folder of the sockets of config management plugins, such as /home/argocd/cmp-server/plugins; empty is no plugins")
	f.IntVar(&o.workers, "workers", 10,
		"how many applications are worked on at once; where there are several clusters, half as many of one, and half as many more in all")
	f.DurationVar(&o.audit, "audit", 30*time.Second,
		"how often an object that is thought to be in sync is checked against the server; 0 is never")
	f.BoolVar(&o.allowExec, "allow-exec-credentials", false,
		"let cluster secrets name programs that sign in (execProviderConfig); they run as this process does")
	f.StringVar(&o.peerListen, "peer-listen", ":8083", "where other replicas are answered, over mutual TLS; empty is nowhere")
	f.StringVar(&o.peerAddress, "peer-address", "",
		"where other replicas reach --peer-listen (default: $POD_IP, or the address that the API server is reached from)")
}

// server are the flags of whoever answers people.
func (o *runOptions) server(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", ":8080", "where the API is served; empty is nowhere")
	f.BoolVar(&o.insecure, "insecure", false, "serve the API as plain HTTP, for an installation with a proxy in front that does TLS")
}

// parts is everything that a running process is made of.
type parts struct {
	namespace string
	role      role
	tracker   object.Tracker
	// fleet, sources, pairs, shelf, scripts, renders and oracle are nil where
	// nobody acts.
	fleet    *fleet.Fleet
	hub      *hub.Cache
	settings *settings.Store
	sources  *sources
	pairs    *pairs.Store
	shelf    *shelf.Shelf
	scripts  *scripts
	renders  *renders
	oracle   *oracle
	events   *event.Writer
	ledger   *ledger.Ledger
	tracer   *trace.Tracer
	metrics  *metric.Metrics
	// notices is the configuration of notifications, and notified counts them.
	notices  *herald.Store
	notified *metric.Notices
	server   *server.Server
	// keeper knows who asks, and rights what they may do.
	keeper *identity.Keeper
	// provider is where people sign in elsewhere.
	provider *sso.Provider
	rights   rights
	// lists is what the server knows of applications.
	lists *lists
	// certificates is what the server shows.
	certificates *settings.Certificates
	ignore       atomic.Pointer[ignoreOf]
	served       atomic.Pointer[servedOf]
	// appNamespaces are the patterns of the namespaces, besides the control
	// namespace, that applications are looked for in.
	appNamespaces []string
	// setNamespaces are the same for ApplicationSets.
	setNamespaces []string
	// tenancy is what held for all projects when applications were last woken for it.
	tenancy atomic.Pointer[policy.Tenancy]
	// waveDelay is the pause between waves that the environment asks for.
	waveDelay time.Duration
	// setWorkers is how many ApplicationSets are worked on at once.
	setWorkers int

	ways    ways
	elector *leader.Elector
	// rivals are those who act on the same applications; nil where nobody acts.
	rivals *rival.Watch
	peers  *leader.Peers
	// address is where other replicas reach this one.
	address atomic.Pointer[string]
	// complete says that everything was read for the first time.
	complete atomic.Bool
	// shift is what acts; nil while this process does not lead.
	shift atomic.Pointer[shift]
	// telling keeps what a shift is told of applications in order.
	telling sync.Mutex
}

func (o runOptions) run(ctx context.Context) error {
	w, err := openWays(o)
	if err != nil {
		return err
	}
	p, err := o.build(ctx, w)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.hub.Check(ctx); err != nil {
		return fmt.Errorf("%w; are the CRDs installed?", err)
	}
	return p.run(ctx, o)
}

func (p *parts) close() {
	p.closeLedger()
	p.closeTracer()
	if !p.role.controller {
		return
	}
	p.renders.Close()
	p.scripts.close()
	_ = errors.Join(p.sources.close(), p.pairs.Close())
}

func (p *parts) run(ctx context.Context, o runOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	problems := make(chan error, 1)
	start, started := time.Now(), cluster.Frugal()
	wg.Go(func() { p.serveMetrics(ctx, o.metrics) })
	wg.Go(func() { p.servePeers(ctx, o) })
	wg.Go(func() { p.hub.Run(ctx) })
	wg.Go(func() { problems <- p.settings.Run(ctx) })
	wg.Go(func() { p.elector.Follow(ctx) })
	wg.Go(func() { p.keepNotices(ctx) })
	if p.role.controller {
		wg.Go(func() { p.fleet.Run(ctx) })
		wg.Go(func() { p.rivals.Run(ctx) })
	}
	slog.InfoContext(ctx, "starting", "version", version, "namespace", o.namespace)
	if !p.hub.WaitReady(ctx) || !p.settings.WaitReady(ctx) {
		return interruptedOr(ctx, <-problems)
	}
	wg.Go(func() { p.keepPeople(ctx, o) })
	wg.Go(func() { p.serveAPI(ctx, o) })
	if !p.role.controller {
		started()
		p.complete.Store(true)
		slog.InfoContext(ctx, "ready", "took", time.Since(start).Round(time.Millisecond))
		<-ctx.Done()
		return nil
	}
	// The others are read when an application asks for them.
	select {
	case <-p.fleet.Ready(v1alpha1.InClusterServer):
	case <-ctx.Done():
		return nil
	}
	started()
	p.complete.Store(true)
	p.warm(p.hub.Known()...)
	began := &start
	return p.elector.Run(ctx, func(ctx context.Context) error {
		since := time.Now()
		if began != nil {
			since, began = *began, nil
		}
		return p.lead(ctx, o, since)
	})
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
