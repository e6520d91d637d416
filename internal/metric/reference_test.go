package metric_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/metric"
)

var update = flag.Bool("update", false, "write the reference page")

const (
	page   = "../../docs/metrics.md"
	begins = "<!-- generated: go test ./internal/metric -update -->\n"
	ends   = "<!-- end of generated -->\n"
)

// all are the metrics of a process that does everything.
func all() []metric.Entry {
	m := metrics()
	m.Notices()
	return m.Catalogue()
}

// reference is the generated part of the page.
func reference() string {
	var b strings.Builder
	for _, part := range []struct{ title, prefix string }{
		{"Argo CD's", "argocd_"}, {"Of queues, as every controller has them", "workqueue_"}, {"Our own", "towline_"},
	} {
		fmt.Fprintf(&b, "### %s\n\n| Metric | Type | Labels | |\n|---|---|---|---|\n", part.title)
		for _, e := range all() {
			if !strings.HasPrefix(e.Name, part.prefix) {
				continue
			}
			labels := ""
			if len(e.Labels) > 0 {
				labels = "`" + strings.Join(e.Labels, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Name, e.Type, labels, e.Help)
		}
		b.WriteByte('\n')
	}
	b.WriteString("### Argo CD's that are not there\n\n| Metric | Why |\n|---|---|\n")
	for _, a := range metric.Absences() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(a.Names, ", ", "`, `"), a.Why)
	}
	return b.String()
}

// TestTheReferencePage: what the page says is what is registered.
func TestTheReferencePage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begins)
	_, after, also := strings.Cut(rest, ends)
	if !ok || !also {
		t.Fatalf("%s has no generated part", page)
	}
	want := before + begins + reference() + ends + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, string(text)); d != "" && !*update {
		t.Errorf("%s is not current; go test ./internal/metric -update (-want +got):\n%s", page, d)
	}
}

// TestWhatIsCounted: every counter that others call has its labels.
func TestWhatIsCounted(t *testing.T) {
	m, app := metrics(), shop()
	m.Gate(7, 2)
	m.Rendered("content", time.Second)
	m.Waited("health", time.Minute)
	m.Refused("project")
	key := object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	m.Asked(metric.Request{App: app, Server: server, Verb: "patch", Object: key, DryRun: true})
	m.Asked(metric.Request{App: app, Server: server, Verb: "patch", Object: key, Err: fault.Terminalf("Rejected", "no")})
	m.SetLooked("argocd", "fleet", time.Second)
	m.Answered("GET", "/api/v1/applications", 200, time.Millisecond)
	m.Answered("BREW", "none", 404, time.Millisecond)
	m.Answered("POST", "/api/v1/session", 401, time.Millisecond)
	m.GitAsked("https://jane:hush@git.example.com/shop.git", "fetch", time.Second, errors.New("no"))
	m.RegistryAsked("registry.example.com/shop", "resolve", time.Second, nil)
	m.Pending("https://git.example.com/shop")
	text := strings.Join(scrape(t, m), "\n")
	for _, want := range []string{
		`towline_gate_total{result="hit"} 7`, `towline_gate_total{result="miss"} 2`, `towline_render_seconds_count{cause="content"} 1`,
		`towline_sync_wait_seconds_sum{cause="health"} 60`, `towline_prune_refused_total{rule="project"} 1`, `towline_dry_runs_total 1`,
		`argocd_app_k8s_request_total{dry_run="true",name="shop",namespace="argocd",project="sales",resource_kind="ConfigMap",` +
			`resource_namespace="shop",response_code="200",server="` + server + `",verb="patch"} 1`,
		`response_code="422"`, `argocd_appset_reconcile_count{name="fleet",namespace="argocd"} 1`,
		`towline_api_requests_total{code="200",method="GET",route="/api/v1/applications"} 1`, `method="other",route="none"`,
		`argocd_login_request_total{status="failed"} 1`,
		`argocd_git_request_total{repo="https://git.example.com/shop",request_type="fetch"} 1`,
		`argocd_git_fetch_fail_total{repo="https://git.example.com/shop"} 1`,
		`argocd_oci_request_total{failed="false",repo="registry.example.com/shop",request_type="resolve"} 1`,
		`argocd_repo_pending_request_total{repo="https://git.example.com/shop"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "hush") {
		t.Error("a login is told")
	}
	m.Forget(app)
	m.ForgetSet(&v1alpha1.ApplicationSet{ObjectMeta: app.ObjectMeta})
	if strings.Contains(strings.Join(scrape(t, m), "\n"), `argocd_app_k8s_request_total{`) {
		t.Error("requests of an application that is gone are still told")
	}
}

// argos are the metrics of Argo CD that people have dashboards of, with the labels that they ask for. It is written down here, and
// not read from what there is, so that one that is lost is missed.
const argos = `
argocd_app_condition namespace name project condition
argocd_app_info namespace name project dest_server dest_namespace repo sync_status health_status operation autosync_enabled
argocd_app_k8s_request_total namespace name project server response_code verb resource_kind resource_namespace dry_run
argocd_app_labels namespace name project
argocd_app_orphaned_resources_count namespace name project
argocd_app_reconcile namespace dest_server
argocd_app_sync_duration_seconds_total namespace name project dest_server
argocd_app_sync_total namespace name project dest_server phase dry_run
argocd_appset_info namespace name resource_update_status
argocd_appset_labels namespace name
argocd_appset_owned_applications namespace name
argocd_appset_reconcile namespace name
argocd_cluster_api_resource_objects server
argocd_cluster_api_resources server
argocd_cluster_cache_age_seconds server
argocd_cluster_connection_status server k8s_version
argocd_cluster_events_total server group kind
argocd_cluster_info server k8s_version
argocd_commitserver_*
argocd_git_fetch_fail_total repo
argocd_git_lsremote_fail_total repo
argocd_git_request_duration_seconds repo request_type
argocd_git_request_total repo request_type
argocd_github_api_*
argocd_kubectl_exec_pending
argocd_kubectl_exec_total
argocd_kubectl_rate_limiter_duration_seconds host verb
argocd_kubectl_request_duration_seconds host verb
argocd_kubectl_requests_total host method code
argocd_login_request_total status
argocd_notifications_deliveries_total trigger service succeeded
argocd_notifications_trigger_eval_total name triggered
argocd_oci_request_duration_seconds repo request_type
argocd_oci_request_total repo request_type
argocd_proxy_extension_*
argocd_redis_request_duration
argocd_redis_request_total
argocd_repo_pending_request_total repo
grpc_server_*
workqueue_adds_total name
workqueue_depth name
workqueue_longest_running_processor_seconds name
workqueue_queue_duration_seconds name
workqueue_retries_total name
workqueue_unfinished_work_seconds name
workqueue_work_duration_seconds name`

// TestArgoCDsMetrics: each has its labels, or is said to be absent, and not both.
func TestArgoCDsMetrics(t *testing.T) {
	labels := map[string][]string{}
	for _, e := range all() {
		labels[e.Name] = e.Labels
	}
	absent := map[string]bool{}
	for _, a := range metric.Absences() {
		for name := range strings.SplitSeq(a.Names, ", ") {
			absent[name] = true
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(argos), "\n") {
		words := strings.Fields(line)
		name, wanted := words[0], words[1:]
		has, there := labels[name]
		if there == absent[name] {
			t.Errorf("%s is there: %v, and said to be absent: %v", name, there, absent[name])
		}
		for _, label := range wanted {
			if there && !slices.Contains(has, label) {
				t.Errorf("%s has no label %s, only %v", name, label, has)
			}
		}
	}
}

// suffixes are what histograms and summaries add to their names.
var suffixes = regexp.MustCompile(`_(bucket|sum|count)$`)

// TestMonitoringSpeaksOfWhatThereIs: the dashboard and the rules use no metric that is not told.
func TestMonitoringSpeaksOfWhatThereIs(t *testing.T) {
	var known []string
	for _, e := range all() {
		known = append(known, e.Name)
	}
	name := regexp.MustCompile(`\b(argocd|towline|workqueue)_[a-z0-9_]+\b`)
	files, err := filepath.Glob("../../config/monitoring/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("there are %d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllString(string(text), -1)
		if strings.HasSuffix(file, ".json") && len(found) < 20 {
			t.Errorf("%s uses only %d metrics: this test looks for the wrong words", file, len(found))
		}
		for _, word := range found {
			if !slices.Contains(known, word) && !slices.Contains(known, suffixes.ReplaceAllString(word, "")) {
				t.Errorf("%s uses %s, which there is not", filepath.Base(file), word)
			}
		}
	}
}
