package metric

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// work are the metrics of what the engine and the server do.
type work struct {
	gate    *prometheus.CounterVec
	dryRuns prometheus.Counter
	renders *prometheus.HistogramVec
	asked   *prometheus.CounterVec
	waits   *prometheus.HistogramVec
	refused *prometheus.CounterVec
	sets    *prometheus.HistogramVec
	api     *prometheus.CounterVec
	apiTook *prometheus.HistogramVec
	logins  *prometheus.CounterVec
}

func newWork(c *catalogue) work {
	return work{
		gate: c.counter("towline_gate_total", "Number of objects that looks were about: a hit was vouched for by what is known of it, "+
			"for a miss the server was asked.", "result"),
		dryRuns: c.counter("towline_dry_runs_total", "Number of dry-runs that clusters were asked for.").WithLabelValues(),
		renders: c.histogram("towline_render_seconds",
			"Seconds that renders took, by why what is known would not do: new_question (the first time, "+
				"or other parameters), content, revision_or_apis, hard_refresh.",
			[]float64{.01, .05, .1, .25, .5, 1, 2, 4, 8, 16}, "cause"),
		asked: c.counter("argocd_app_k8s_request_total", "Number of requests to clusters for an application.",
			with(ofApp, "server", "response_code", "verb", "resource_kind", "resource_namespace", "dry_run")...),
		waits: c.histogram("towline_sync_wait_seconds",
			"Seconds that syncs waited, by cause: health (of a wave), hook, prune (a person, or a second look), window.",
			[]float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600}, "cause"),
		refused: c.counter("towline_prune_refused_total",
			"Number of objects that were not deleted though Git does not have them, by rule: confirmation and "+
				"second_look (for now), being_deleted, option, incomplete_render, discovery, project, not_asked_for.", "rule"),
		sets: c.histogram("argocd_appset_reconcile",
			"Seconds that looks at ApplicationSets took.", prometheus.DefBuckets, "namespace", "name"),
		api: c.counter("towline_api_requests_total", "Number of requests to the API.", "method", "route", "code"),
		apiTook: c.histogram("towline_api_request_duration_seconds",
			"Seconds that requests to the API took; those of streams until they end.",
			[]float64{.005, .025, .1, .25, 1, 5, 30}, "method"),
		logins: c.counter("argocd_login_request_total", "Number of attempts to sign in with a password.", "status"),
	}
}

// Gate counts objects of a look.
func (m *Metrics) Gate(passed, asked int) {
	m.work.gate.WithLabelValues("hit").Add(float64(passed))
	m.work.gate.WithLabelValues("miss").Add(float64(asked))
}

// Rendered counts a render.
func (m *Metrics) Rendered(cause string, took time.Duration) {
	m.work.renders.WithLabelValues(cause).Observe(took.Seconds())
}

// Waited counts how long a sync waited.
func (m *Metrics) Waited(cause string, took time.Duration) {
	m.work.waits.WithLabelValues(cause).Observe(took.Seconds())
}

// Refused counts an object that was not deleted.
func (m *Metrics) Refused(rule string) { m.work.refused.WithLabelValues(rule).Inc() }

// Request is a request to a cluster.
type Request struct {
	App          *v1alpha1.Application
	Server, Verb string
	Object       object.Key
	DryRun       bool
	Err          error
}

// Asked counts a request to a cluster.
func (m *Metrics) Asked(r Request) {
	if r.DryRun {
		m.work.dryRuns.Inc()
	}
	m.work.asked.WithLabelValues(r.App.Namespace, r.App.Name, r.App.ProjectName(), r.Server, strconv.Itoa(code(r.Err)), r.Verb,
		r.Object.Kind, r.Object.Namespace, strconv.FormatBool(r.DryRun)).Inc()
}

// code is the status that an error came of, as far as it tells.
func code(err error) int {
	if err == nil {
		return http.StatusOK
	}
	switch fault.ReasonOf(err) {
	case "NotFound":
		return http.StatusNotFound
	case "Conflict":
		return http.StatusConflict
	case "Rejected":
		return http.StatusUnprocessableEntity
	case "Forbidden", "Webhook":
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// SetLooked counts a look at an ApplicationSet.
func (m *Metrics) SetLooked(namespace, name string, took time.Duration) {
	m.work.sets.WithLabelValues(namespace, name).Observe(took.Seconds())
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Answered counts an answer of the API. The route is its pattern, never a path that somebody typed.
func (m *Metrics) Answered(method, route string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other" // whoever asks may write anything there
	}
	m.work.api.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.work.apiTook.WithLabelValues(method).Observe(took.Seconds())
	if method == http.MethodPost && route == "/api/v1/session" {
		word := "success"
		if status >= http.StatusMultipleChoices {
			word = "failed"
		}
		m.work.logins.WithLabelValues(word).Inc()
	}
}
