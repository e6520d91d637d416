// Package metric counts transitions and describes the cached Applications for
// Prometheus, under Argo CD's names, so that the dashboards and alerts that
// people have go on working. It must not ask anybody for anything when it is
// scraped but what is in memory, and it decides nothing.
package metric

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/transition"
)

// Options are what the metrics are made of. All functions are called at each
// scrape and must be quick.
type Options struct {
	// Apps are the applications as they are cached. They are shared.
	Apps func() []*v1alpha1.Application
	// Server is the address of a destination that may have only a name.
	Server func(v1alpha1.ApplicationDestination) string
	// Labels are the labels of applications that argocd_app_labels has, and
	// Conditions the types that argocd_app_condition has; none are all.
	Labels     func() []string
	Conditions func() []string
	Clusters   func() []Cluster
	// Audits is how many objects were checked against the server, and how many
	// of them were thought to be in sync and were not.
	Audits func() (asked, wrong int64)
	// LostEvents is how many events were not written.
	LostEvents func() (dropped, failed int64)
	// Leading says that this process is the replica that acts, and Refused how many
	// writes were not made because it was not.
	Leading func() bool
	Refused func() int64
	// Ready says how it is with this process, and what it waits for.
	Ready func() (state string, ok bool)
}

// Cluster is what is known of a destination.
type Cluster struct {
	Server, Name, Version string
	Connected             bool
	// Kinds and Objects are how many are watched and known.
	Kinds, Objects int
	// Age is how old the oldest part of what is known is.
	Age time.Duration
}

// Metrics counts.
type Metrics struct {
	registry      *prometheus.Registry
	ready         func() (string, bool)
	server        func(v1alpha1.ApplicationDestination) string
	syncs         *prometheus.CounterVec
	syncSeconds   *prometheus.CounterVec
	reconciles    *prometheus.HistogramVec
	clusterEvents *prometheus.CounterVec
	held          *prometheus.CounterVec
	drifts        *prometheus.CounterVec
	queues        *queues
}

// ofApp are the labels that name an application.
var ofApp = []string{"namespace", "name", "project"}

// New makes the metrics.
func New(o Options) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(), server: o.Server, ready: o.Ready,
		syncs: counter("argocd_app_sync_total", "Number of application syncs.",
			with(ofApp, "dest_server", "phase", "dry_run")...),
		syncSeconds: counter("argocd_app_sync_duration_seconds_total", "Seconds that application syncs took, in total.",
			with(ofApp, "dest_server")...),
		reconciles: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argocd_app_reconcile", Help: "Seconds that looks at applications took.",
			Buckets: []float64{0.25, .5, 1, 2, 4, 8, 16},
		}, []string{"namespace", "dest_server"}),
		clusterEvents: counter("argocd_cluster_events_total", "Number of changes of live objects that mattered to somebody.",
			"server", "group", "kind"),
		held:   counter("towline_prune_held_total", "Number of times that a deletion was held back.", ofApp...),
		drifts: counter("towline_drift_healed_total", "Number of fields that somebody changed and that were set right.", ofApp...),
	}
	m.queues = newQueues(m.registry)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.syncs, m.syncSeconds, m.reconciles, m.clusterEvents, m.held, m.drifts,
		&apps{Options: o}, &clusters{clusters: o.Clusters},
	)
	m.registry.MustRegister(
		count("towline_gate_audits_total", "Number of objects that were checked against the server though nothing had changed.",
			func() int64 { n, _ := o.Audits(); return n }),
		count("towline_gate_wrong_total", "Number of those that were thought to be in sync and were not. Each is a bug.",
			func() int64 { _, n := o.Audits(); return n }),
		count("towline_events_dropped_total", "Number of Kubernetes Events that were dropped because too many waited.",
			func() int64 { n, _ := o.LostEvents(); return n }),
		count("towline_events_failed_total", "Number of Kubernetes Events that the server did not take.",
			func() int64 { _, n := o.LostEvents(); return n }),
		count("towline_writes_refused_total", "Number of writes that were not made because this replica does not lead.", o.Refused),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "towline_leading", Help: "1 if this is the replica that acts."},
			func() float64 {
				if o.Leading() {
					return 1
				}
				return 0
			}),
	)
	return m
}

func count(name, help string, value func() int64) prometheus.CounterFunc {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

func with(labels []string, more ...string) []string {
	return append(append([]string(nil), labels...), more...)
}

// Observe counts a transition.
func (m *Metrics) Observe(t transition.Transition) {
	app := t.App
	name := []string{app.Namespace, app.Name, app.ProjectName()}
	switch t.Kind {
	case transition.Refreshed:
		m.reconciles.WithLabelValues(app.Namespace, m.server(app.Spec.Destination)).Observe(t.Took.Seconds())
	case transition.Completed:
		dest := m.server(app.Spec.Destination)
		dryRun := t.Operation.Operation.Sync != nil && t.Operation.Operation.Sync.DryRun
		m.syncs.WithLabelValues(with(name, dest, string(t.Operation.Phase), strconv.FormatBool(dryRun))...).Inc()
		m.syncSeconds.WithLabelValues(with(name, dest)...).Add(t.Took.Seconds())
	case transition.Healed:
		m.drifts.WithLabelValues(name...).Add(float64(len(t.Episodes)))
	case transition.PruneHeld:
		m.held.WithLabelValues(name...).Inc()
	case transition.Started, transition.SyncChanged, transition.HealthChanged, transition.Complained, transition.Deleted:
	}
}

// ObjectChanged counts a change of a live object.
func (m *Metrics) ObjectChanged(server, group, kind string) {
	m.clusterEvents.WithLabelValues(server, group, kind).Inc()
}

// Forget drops what was counted for an application that is gone, or the
// memory would grow with every application that ever was.
func (m *Metrics) Forget(app *v1alpha1.Application) {
	gone := prometheus.Labels{"namespace": app.Namespace, "name": app.Name}
	for _, v := range []*prometheus.CounterVec{m.syncs, m.syncSeconds, m.held, m.drifts} {
		v.DeletePartialMatch(gone)
	}
}
