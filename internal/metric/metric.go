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
	// Sets are the ApplicationSets, and Owned how many applications one has.
	Sets  func() []*v1alpha1.ApplicationSet
	Owned func(*v1alpha1.ApplicationSet) int
	// Server is the address of a destination that may have only a name.
	Server func(v1alpha1.ApplicationDestination) string
	// Labels are the labels of applications that argocd_app_labels has,
	// SetLabels those of argocd_appset_labels, and Conditions the types that
	// argocd_app_condition has; none are all.
	Labels     func() []string
	SetLabels  func() []string
	Conditions func() []string
	Clusters   func() []Cluster
	// Audits is how many objects were checked against the server, and how many
	// of them were thought to be in sync and were not.
	Audits func() (asked, wrong int64)
	// LostEvents is how many events were not written, and LostRecords how many
	// lines of the audit log.
	LostEvents  func() (dropped, failed int64)
	LostRecords func() int64
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
	// Lag is how late the watches told of a write of ours, the last time.
	Lag time.Duration
	// Waiting is how many applications wait to be looked at, and Oldest how long
	// the first of them does.
	Waiting int
	Oldest  time.Duration
}

// Metrics counts.
type Metrics struct {
	catalogue
	ready         func() (string, bool)
	server        func(v1alpha1.ApplicationDestination) string
	syncs         *prometheus.CounterVec
	syncSeconds   *prometheus.CounterVec
	reconciles    *prometheus.HistogramVec
	clusterEvents *prometheus.CounterVec
	held          *prometheus.CounterVec
	drifts        *prometheus.CounterVec
	queues        *queues
	work          work
	requests      requests
	fetches       fetches
}

// ofApp are the labels that name an application.
var ofApp = []string{"namespace", "name", "project"}

// New makes the metrics.
func New(o Options) *Metrics {
	m := &Metrics{catalogue: catalogue{registry: prometheus.NewRegistry()}, server: o.Server, ready: o.Ready}
	m.syncs = m.counter("argocd_app_sync_total", "Number of application syncs.", with(ofApp, "dest_server", "phase", "dry_run")...)
	m.syncSeconds = m.counter("argocd_app_sync_duration_seconds_total",
		"Seconds that application syncs took, in total; whole ones, as the status keeps times.",
		with(ofApp, "dest_server")...)
	m.reconciles = m.histogram("argocd_app_reconcile", "Seconds that looks at applications took; one that nothing asks for is not made.",
		[]float64{0.25, .5, 1, 2, 4, 8, 16}, "namespace", "dest_server")
	m.clusterEvents = m.counter("argocd_cluster_events_total",
		"Number of changes of live objects that mattered to somebody.", "server", "group", "kind")
	m.held = m.counter("towline_prune_held_total", "Number of times that a deletion was held back.", ofApp...)
	m.drifts = m.counter("towline_drift_healed_total", "Number of fields that somebody changed and that were set right.", ofApp...)
	m.queues = newQueues(&m.catalogue)
	m.work = newWork(&m.catalogue)
	m.requests = newRequests(&m.catalogue)
	m.fetches = newFetches(&m.catalogue)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newApps(&m.catalogue, o), newSets(&m.catalogue, o), newClusters(&m.catalogue, o))
	m.told(o)
	return m
}

// told are those that others count.
func (m *Metrics) told(o Options) {
	m.count("towline_gate_audits_total", "Number of objects that were checked against the server though nothing had changed.",
		func() int64 { n, _ := o.Audits(); return n })
	m.count("towline_gate_wrong_total", "Number of those that were thought to be in sync and were not. Each is a bug: alert on any.",
		func() int64 { _, n := o.Audits(); return n })
	m.count("towline_events_dropped_total", "Number of Kubernetes Events that were dropped because too many waited.",
		func() int64 { n, _ := o.LostEvents(); return n })
	m.count("towline_events_failed_total", "Number of Kubernetes Events that the server did not take.",
		func() int64 { _, n := o.LostEvents(); return n })
	m.count("towline_audit_lost_total", "Number of records of the audit log that could not be written: alert on any.", o.LostRecords)
	m.count("towline_writes_refused_total", "Number of writes that were not made because this replica does not lead.", o.Refused)
	m.note("towline_leading", "gauge", "1 for the replica that acts.", nil)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "towline_leading", Help: "1 for the replica that acts."},
		func() float64 {
			if o.Leading() {
				return 1
			}
			return 0
		}))
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
	for _, v := range []*prometheus.CounterVec{m.syncs, m.syncSeconds, m.held, m.drifts, m.work.asked} {
		v.DeletePartialMatch(gone)
	}
}

// ForgetSet does so for an ApplicationSet.
func (m *Metrics) ForgetSet(set *v1alpha1.ApplicationSet) {
	m.work.sets.DeletePartialMatch(prometheus.Labels{"namespace": set.Namespace, "name": set.Name})
}
