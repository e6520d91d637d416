package metric

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Entry is a metric as it is told to people.
type Entry struct {
	Name, Type string
	Labels     []string
	Help       string
}

// catalogue makes metrics, and remembers what it made: the reference page is written from it, so that it cannot lie.
type catalogue struct {
	registry *prometheus.Registry
	entries  []Entry
}

func (c *catalogue) note(name, kind, help string, labels []string) {
	c.entries = append(c.entries, Entry{Name: name, Type: kind, Labels: labels, Help: help})
}

func (c *catalogue) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c.note(name, "counter", help, labels)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	c.registry.MustRegister(v)
	return v
}

func (c *catalogue) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	c.note(name, "gauge", help, labels)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	c.registry.MustRegister(v)
	return v
}

func (c *catalogue) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	c.note(name, "histogram", help, labels)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	c.registry.MustRegister(v)
	return v
}

// count is a counter that somebody else keeps.
func (c *catalogue) count(name, help string, value func() int64) {
	c.note(name, "counter", help, nil)
	c.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(value()) }))
}

// tell is a metric that a collector makes at each scrape.
func (c *catalogue) tell(name, help string, labels ...string) *prometheus.Desc {
	c.note(name, "gauge", help, labels)
	return prometheus.NewDesc(name, help, labels, nil)
}

// Catalogue are all metrics of ours, by name.
func (m *Metrics) Catalogue() []Entry {
	out := slices.Clone(m.entries)
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Absent is a metric of Argo CD that is not there.
type Absent struct{ Names, Why string }

// Absences are the metrics of Argo CD that are not there, each with the reason.
func Absences() []Absent {
	return []Absent{
		{"argocd_redis_request_total, argocd_redis_request_duration", "there is no Redis"},
		{
			"argocd_kubectl_exec_pending, argocd_kubectl_exec_total",
			"no kubectl is run; argocd_kubectl_requests_total counts the requests themselves",
		},
		{"argocd_kubectl_exec_plugin_call_total, argocd_kubectl_transport_cache_entries, argocd_kubectl_transport_create_calls_total, " +
			"argocd_kubectl_dns_resolution_duration_seconds", "not counted; argocd_kubectl_request_duration_seconds has the whole of a " +
			"request"},
		{"argocd_oci_*_fail_total", "argocd_oci_request_total has the label failed instead"},
		{
			"argocd_github_api_*",
			"off by default in Argo CD; answers of forges are shared between ApplicationSets, so that none could be named",
		},
		{"argocd_appset_progressive_sync_*", "the status of the ApplicationSet tells how far its steps are"},
		{"argocd_proxy_extension_*", "this version has no proxy extensions"},
		{"argocd_commitserver_*", "this version has no source hydrator"},
		{"argocd_resource_events_*", "changes of live objects are not batched"},
		{"grpc_server_*", "there is no gRPC; towline_api_requests_total and towline_api_request_duration_seconds tell of the API"},
		{"controller_runtime_*", "not made with controller-runtime; workqueue_* tell of its queues"},
	}
}
