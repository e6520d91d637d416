package metric

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// requests are the metrics of requests to API servers, under the names that Argo CD has for them.
type requests struct {
	results, retries *prometheus.CounterVec
	took, limited    *prometheus.HistogramVec
	sent, received   *prometheus.HistogramVec
}

func newRequests(c *catalogue) requests {
	sizes := []float64{64, 512, 4096, 65536, 1048576, 16777216}
	times := []float64{0.005, 0.1, 0.5, 2, 8, 30}
	return requests{
		results: c.counter("argocd_kubectl_requests_total", "Number of requests to API servers.", "host", "method", "code"),
		retries: c.counter("argocd_kubectl_request_retries_total",
			"Number of requests to API servers that were made again.", "host", "method", "code"),
		took: c.histogram("argocd_kubectl_request_duration_seconds",
			"Seconds that requests to API servers took.", times, "host", "verb"),
		limited: c.histogram("argocd_kubectl_rate_limiter_duration_seconds",
			"Seconds that requests waited for our own limits.", times, "host", "verb"),
		sent:     c.histogram("argocd_kubectl_request_size_bytes", "Bytes that requests to API servers had.", sizes, "host", "method"),
		received: c.histogram("argocd_kubectl_response_size_bytes", "Bytes that answers of API servers had.", sizes, "host", "method"),
	}
}

// Clients is what client-go tells of its requests. It can be told once in a process.
func (m *Metrics) Clients() metrics.RegisterOpts {
	r := m.requests
	return metrics.RegisterOpts{
		RequestLatency:     latency{r.took},
		RateLimiterLatency: latency{r.limited},
		RequestSize:        size{r.sent},
		ResponseSize:       size{r.received},
		RequestResult:      result{r.results},
		RequestRetry:       result{r.retries},
	}
}

type latency struct{ *prometheus.HistogramVec }

// Observe counts how long a request took.
func (l latency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.WithLabelValues(u.Host, verb).Observe(took.Seconds())
}

type size struct{ *prometheus.HistogramVec }

// Observe counts how large a body was.
func (s size) Observe(_ context.Context, verb, host string, bytes float64) {
	s.WithLabelValues(host, verb).Observe(bytes)
}

type result struct{ *prometheus.CounterVec }

// Increment counts an answer.
func (r result) Increment(_ context.Context, code, method, host string) {
	r.WithLabelValues(host, method, code).Inc()
}

// IncrementRetry counts a request that is made again.
func (r result) IncrementRetry(_ context.Context, code, method, host string) {
	r.WithLabelValues(host, method, code).Inc()
}

// fetches are the metrics of where content comes from.
type fetches struct {
	git, oci         *prometheus.CounterVec
	gitTook, ociTook *prometheus.HistogramVec
	failed, unlisted *prometheus.CounterVec
	pending          *prometheus.GaugeVec
}

func newFetches(c *catalogue) fetches {
	buckets := []float64{0.1, 0.25, .5, 1, 2, 4, 10, 20}
	return fetches{
		git: c.counter("argocd_git_request_total",
			"Number of questions to git servers: ls-remote, one for all who follow a repository, and fetch.", "repo", "request_type"),
		gitTook:  c.histogram("argocd_git_request_duration_seconds", "Seconds that git servers took.", buckets, "repo", "request_type"),
		failed:   c.counter("argocd_git_fetch_fail_total", "Number of fetches that failed.", "repo"),
		unlisted: c.counter("argocd_git_lsremote_fail_total", "Number of times that the refs of a repository could not be listed.", "repo"),
		pending:  c.gauge("argocd_repo_pending_request_total", "Number of looks at a repository that wait for its answer.", "repo"),
		oci:      c.counter("argocd_oci_request_total", "Number of questions to OCI registries.", "repo", "request_type", "failed"),
		ociTook:  c.histogram("argocd_oci_request_duration_seconds", "Seconds that OCI registries took.", buckets, "repo", "request_type"),
	}
}

// GitAsked counts a question to a git server.
func (m *Metrics) GitAsked(repo, what string, took time.Duration, err error) {
	repo = address(repo)
	m.fetches.git.WithLabelValues(repo, what).Inc()
	m.fetches.gitTook.WithLabelValues(repo, what).Observe(took.Seconds())
	switch {
	case err == nil:
	case what == "fetch":
		m.fetches.failed.WithLabelValues(repo).Inc()
	default:
		m.fetches.unlisted.WithLabelValues(repo).Inc()
	}
}

// RegistryAsked counts a question to an OCI registry.
func (m *Metrics) RegistryAsked(repo, what string, took time.Duration, err error) {
	repo = address(repo)
	m.fetches.oci.WithLabelValues(repo, what, strconv.FormatBool(err != nil)).Inc()
	m.fetches.ociTook.WithLabelValues(repo, what).Observe(took.Seconds())
}

// Pending counts looks at a repository that begin and end.
func (m *Metrics) Pending(repo string) (done func()) {
	g := m.fetches.pending.WithLabelValues(address(repo))
	g.Inc()
	return g.Dec
}
