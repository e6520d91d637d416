package metric_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/transition"
	"github.com/towline-cd/towline/internal/metric"
)

const server = "https://kubernetes.default.svc"

func shop() *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd", Labels: map[string]string{"example.com/team": "a"}},
		Spec: v1alpha1.ApplicationSpec{
			Project:     "sales",
			Source:      &v1alpha1.ApplicationSource{RepoURL: "https://jane:hush@Git.example.com/Shop.git"},
			Destination: v1alpha1.ApplicationDestination{Server: server, Namespace: "shop"},
			SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}},
		},
		Status: v1alpha1.ApplicationStatus{
			Sync:   v1alpha1.SyncStatus{Status: v1alpha1.SyncStatusCodeSynced},
			Health: v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy},
			Conditions: []v1alpha1.ApplicationCondition{
				{Type: "SyncError"}, {Type: "SharedResourceWarning"},
			},
		},
	}
}

func metrics(apps ...*v1alpha1.Application) *metric.Metrics {
	return metric.New(metric.Options{
		Apps:       func() []*v1alpha1.Application { return apps },
		Server:     func(d v1alpha1.ApplicationDestination) string { return d.Server },
		Labels:     func() []string { return []string{"example.com/team"} },
		Conditions: func() []string { return nil },
		Clusters: func() []metric.Cluster {
			return []metric.Cluster{{Server: server, Name: "in-cluster", Version: "v1.36.0", Connected: true, Kinds: 60, Objects: 700, Age: time.Minute, Lag: 20 * time.Millisecond, Waiting: 3, Oldest: 2 * time.Second}}
		},
		Audits:      func() (int64, int64) { return 7, 1 },
		LostEvents:  func() (int64, int64) { return 3, 2 },
		LostRecords: func() int64 { return 5 },
		Sets: func() []*v1alpha1.ApplicationSet {
			return []*v1alpha1.ApplicationSet{{
				ObjectMeta: metav1.ObjectMeta{Name: "fleet", Namespace: "argocd", Labels: map[string]string{"tier": "gold"}},
				Status: v1alpha1.ApplicationSetStatus{Conditions: []v1alpha1.ApplicationSetCondition{
					{Type: v1alpha1.ApplicationSetConditionResourcesUpToDate, Reason: "ApplicationSetUpToDate"},
				}},
			}}
		},
		Owned:     func(*v1alpha1.ApplicationSet) int { return 2 },
		SetLabels: func() []string { return []string{"tier"} },
		Leading:   func() bool { return true },
		Refused:   func() int64 { return 4 },
		Ready:     func() (string, bool) { return "reading", false },
	})
}

// scrape is what Prometheus would read, without comments and without what is
// about the process.
func scrape(t *testing.T, m *metric.Metrics) []string {
	t.Helper()
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if r.Code != 200 {
		t.Fatalf("%d: %s", r.Code, r.Body)
	}
	var out []string
	for line := range strings.Lines(r.Body.String()) {
		if strings.HasPrefix(line, "argocd_") || strings.HasPrefix(line, "towline_") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestNamesAndLabels(t *testing.T) {
	app := shop()
	m := metrics(app)
	m.Observe(transition.Transition{Kind: transition.Refreshed, App: app, Took: 300 * time.Millisecond})
	m.Observe(transition.Transition{Kind: transition.Started, App: app})
	op := &v1alpha1.OperationState{Phase: v1alpha1.OperationSucceeded, Operation: v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}}}
	m.Observe(transition.Transition{Kind: transition.Completed, App: app, Operation: op, Took: 5 * time.Second})
	m.Observe(transition.Transition{Kind: transition.Healed, App: app, Episodes: make([]plan.Episode, 2)})
	m.Observe(transition.Transition{Kind: transition.PruneHeld, App: app})
	m.ObjectChanged(server, "apps", "Deployment")
	want := strings.Split(`argocd_app_condition{condition="SharedResourceWarning",name="shop",namespace="argocd",project="sales"} 1
argocd_app_condition{condition="SyncError",name="shop",namespace="argocd",project="sales"} 1
argocd_app_info{autosync_enabled="true",dest_namespace="shop",dest_server="https://kubernetes.default.svc",health_status="Healthy",name="shop",namespace="argocd",operation="",project="sales",repo="https://git.example.com/shop",sync_status="Synced"} 1
argocd_app_labels{label_example_com_team="a",name="shop",namespace="argocd",project="sales"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="0.25"} 0
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="0.5"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="1"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="2"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="4"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="8"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="16"} 1
argocd_app_reconcile_bucket{dest_server="https://kubernetes.default.svc",namespace="argocd",le="+Inf"} 1
argocd_app_reconcile_sum{dest_server="https://kubernetes.default.svc",namespace="argocd"} 0.3
argocd_app_reconcile_count{dest_server="https://kubernetes.default.svc",namespace="argocd"} 1
argocd_app_sync_duration_seconds_total{dest_server="https://kubernetes.default.svc",name="shop",namespace="argocd",project="sales"} 5
argocd_app_sync_total{dest_server="https://kubernetes.default.svc",dry_run="false",name="shop",namespace="argocd",phase="Succeeded",project="sales"} 1
argocd_appset_info{name="fleet",namespace="argocd",resource_update_status="ApplicationSetUpToDate"} 1
argocd_appset_labels{label_tier="gold",name="fleet",namespace="argocd"} 1
argocd_appset_owned_applications{name="fleet",namespace="argocd"} 2
argocd_cluster_api_resource_objects{server="https://kubernetes.default.svc"} 700
argocd_cluster_api_resources{server="https://kubernetes.default.svc"} 60
argocd_cluster_cache_age_seconds{server="https://kubernetes.default.svc"} 60
argocd_cluster_connection_status{k8s_version="v1.36.0",server="https://kubernetes.default.svc"} 1
argocd_cluster_events_total{group="apps",kind="Deployment",server="https://kubernetes.default.svc"} 1
argocd_cluster_info{k8s_version="v1.36.0",name="in-cluster",server="https://kubernetes.default.svc"} 1
towline_audit_lost_total 5
towline_cluster_index_lag_seconds{server="https://kubernetes.default.svc"} 0.02
towline_drift_healed_total{name="shop",namespace="argocd",project="sales"} 2
towline_dry_runs_total 0
towline_events_dropped_total 3
towline_events_failed_total 2
towline_gate_audits_total 7
towline_gate_wrong_total 1
towline_leading 1
towline_prune_held_total{name="shop",namespace="argocd",project="sales"} 1
towline_queue_oldest_seconds{server="https://kubernetes.default.svc"} 2
towline_queue_waiting{server="https://kubernetes.default.svc"} 3
towline_writes_refused_total 4`, "\n")
	if d := cmp.Diff(want, scrape(t, m)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestReadiness(t *testing.T) {
	r := httptest.NewRecorder()
	metrics().Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if r.Code != http.StatusServiceUnavailable || r.Body.String() != "reading\n" {
		t.Errorf("%d: %s", r.Code, r.Body)
	}
}

// TestWhatIsGoneIsForgotten: nothing of an application stays when it goes.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	app := shop()
	m := metrics()
	op := &v1alpha1.OperationState{Phase: v1alpha1.OperationFailed}
	m.Observe(transition.Transition{Kind: transition.Completed, App: app, Operation: op})
	m.Observe(transition.Transition{Kind: transition.PruneHeld, App: app})
	m.Observe(transition.Transition{Kind: transition.Healed, App: app, Episodes: make([]plan.Episode, 1)})
	m.Forget(app)
	for _, line := range scrape(t, m) {
		if strings.Contains(line, `"shop"`) {
			t.Error(line)
		}
	}
}

func TestAnAppBeforeItsFirstLook(t *testing.T) {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "argocd", DeletionTimestamp: new(metav1.Now())}}
	for _, line := range scrape(t, metrics(app)) {
		if strings.HasPrefix(line, "argocd_app_info") && (!strings.Contains(line, `sync_status="Unknown"`) ||
			!strings.Contains(line, `health_status="Unknown"`) || !strings.Contains(line, `operation="delete"`) ||
			!strings.Contains(line, `project="default"`)) {
			t.Error(line)
		}
	}
}

func TestQueuesAreCounted(t *testing.T) {
	m := metrics()
	m.Queues().NewDepthMetric("q").Inc()
	m.Queues().NewAddsMetric("q").Inc()
	m.Queues().NewRetriesMetric("q").Inc()
	m.Queues().NewLatencyMetric("q").Observe(1)
	m.Queues().NewWorkDurationMetric("q").Observe(1)
	m.Queues().NewUnfinishedWorkSecondsMetric("q").Set(1)
	m.Queues().NewLongestRunningProcessorSecondsMetric("q").Set(1)
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, name := range []string{
		"workqueue_depth", "workqueue_adds_total", "workqueue_retries_total", "workqueue_queue_duration_seconds_count",
		"workqueue_work_duration_seconds_count", "workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds",
	} {
		if !strings.Contains(r.Body.String(), name+`{name="q"} 1`) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestHealthz(t *testing.T) {
	r := httptest.NewRecorder()
	metrics().Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if r.Code != 200 || r.Body.String() != "ok\n" {
		t.Errorf("%d %q", r.Code, r.Body)
	}
}
