package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// awaitEvent watches the events of an Application until one fits.
func (f *fixture) awaitEvent(app, reason, message string) *unstructured.Unstructured {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	selector := metav1.ListOptions{FieldSelector: "involvedObject.kind=Application,involvedObject.name=" + app + ",reason=" + reason}
	client := f.dynamic.Resource(events).Namespace(f.control)
	var seen []string
	for ctx.Err() == nil {
		list, err := client.List(ctx, selector)
		f.must(err)
		seen = nil
		for _, e := range list.Items {
			m, _, _ := unstructured.NestedString(e.Object, "message")
			if seen = append(seen, m); strings.Contains(m, message) {
				return &e
			}
		}
		o := selector
		o.ResourceVersion = list.GetResourceVersion()
		w, err := client.Watch(ctx, o)
		f.must(err)
		select {
		case <-w.ResultChan():
		case <-ctx.Done():
		}
		w.Stop()
	}
	f.Fatalf("no event %s of application %s with %q; there are %q", reason, app, message, seen)
	return nil
}

// TestEvents: a sync and a heal are told as Argo CD tells them, once each, and
// nothing is told while nothing happens.
func TestEvents(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("told", "shop", "shop", automated)
	f.await("told", "synced", synced(revision))
	f.awaitEvent("told", v1alpha1.EventReasonOperationStarted, "Initiated automated sync to '"+revision+"'")
	done := f.awaitEvent("told", v1alpha1.EventReasonOperationCompleted, "Sync operation to "+revision+" succeeded")
	f.awaitEvent("told", v1alpha1.EventReasonResourceUpdated, "Updated sync status: OutOfSync -> Synced")
	f.awaitEvent("told", v1alpha1.EventReasonResourceUpdated, "Updated health status: Missing -> Healthy")
	if kind, _, _ := unstructured.NestedString(done.Object, "type"); kind != "Normal" {
		t.Errorf("a success is of type %s", kind)
	}

	f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
	f.awaitObject(configMaps, "settings", colour("blue"))
	drift := f.awaitEvent("told", v1alpha1.EventReasonDrifted, "data.colour of ConfigMap "+f.dest+"/settings, changed by ")
	if drift.GetAnnotations()[v1alpha1.AnnotationDrift] == "" {
		t.Error("the event does not carry what drifted")
	}
	f.awaitEvent("told", v1alpha1.EventReasonOperationStarted, "Initiated automated partial sync")

	out, errOut, code := f.towline("app", "drift", "told", "-o", "json")
	var episodes []struct{ Kind, Name, Field, Manager string }
	if err := json.Unmarshal([]byte(out), &episodes); code != 0 || err != nil || len(episodes) != 1 {
		t.Fatalf("app drift ended with %d, %v:\n%s%s", code, err, out, errOut)
	}
	if e := episodes[0]; e.Kind != "ConfigMap" || e.Name != "settings" || e.Field != "data.colour" || e.Manager == "" {
		t.Errorf("app drift tells of %+v", e)
	}
	out, _, _ = f.towline("app", "drift", "told")
	t.Log(out)
	t.Log(f.kubectl("-n", f.control, "get", "events", "--sort-by=.metadata.creationTimestamp"))

	// What nothing changes is not told.
	f.await("told", "idle", synced(revision))
	f.refresh("told")
	before := f.countEvents("told")
	f.refresh("told")
	f.refresh("told")
	if after := f.countEvents("told"); after != before {
		t.Errorf("two refreshes without a change made %d events", after-before)
	}
}

func (f *fixture) countEvents(app string) int {
	f.Helper()
	list, err := f.dynamic.Resource(events).Namespace(f.control).List(f.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + app})
	f.must(err)
	return len(list.Items)
}

// scrape reads the metrics.
func (f *fixture) scrape() string {
	f.Helper()
	m := regexp.MustCompile(`msg="serving metrics" address=(\S+)`).FindStringSubmatch(f.log.String())
	if m == nil {
		f.Fatal("towline did not say where it serves metrics")
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		req, err := http.NewRequestWithContext(f.Context(), http.MethodGet, "http://"+m[1]+path, nil)
		f.must(err)
		r, err := http.DefaultClient.Do(req)
		f.must(err)
		b, err := io.ReadAll(r.Body)
		f.must(err)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			f.Fatalf("%s: %s", path, r.Status)
		}
		if path == "/metrics" {
			return string(b)
		}
	}
	return ""
}

// TestMetrics: the names and labels are those that dashboards have.
func TestMetrics(t *testing.T) {
	f := setup(t)
	f.kubectl("-n", f.control, "create", "configmap", v1alpha1.ConfigMapCmdParams,
		"--from-literal="+v1alpha1.KeyParamMetricsLabels+"=example.com/team")
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("counted", "shop", "shop", automated)
	f.kubectl("-n", f.control, "label", "application", "counted", "example.com/team=a")
	f.await("counted", "synced", synced(revision))
	app := `name="counted",namespace="` + f.control + `"`
	wanted := []string{
		`argocd_app_info{autosync_enabled="true",dest_namespace="` + f.dest + `",dest_server="https://kubernetes.default.svc",health_status="Healthy",` +
			app + `,operation="",project="default",repo="` + strings.TrimSuffix(f.git.URL("shop"), ".git") + `",sync_status="Synced"} 1`,
		`argocd_app_labels{label_example_com_team="a",` + app + `,project="default"} 1`,
		`argocd_app_sync_total{dest_server="https://kubernetes.default.svc",dry_run="false",` + app + `,phase="Succeeded",project="default"} 1`,
		`argocd_app_sync_duration_seconds_total{dest_server="https://kubernetes.default.svc",` + app + `,project="default"} `,
		`argocd_app_reconcile_count{dest_server="https://kubernetes.default.svc",namespace="` + f.control + `"} `,
		`argocd_cluster_connection_status{k8s_version="v`,
		`argocd_cluster_api_resources{server="https://kubernetes.default.svc"} `,
		`argocd_cluster_events_total{group="",kind="ConfigMap",server="https://kubernetes.default.svc"} `,
		`workqueue_adds_total{name="app_reconciliation_queue"} `,
		"towline_gate_wrong_total 0", "towline_events_dropped_total 0", "go_goroutines ",
	}
	// A scrape reads the cache, which hears of a write a moment after we do.
	for _, want := range wanted {
		eventually(t, want, func() bool { return strings.Contains(f.scrape(), "\n"+want) })
	}
	f.kubectl("-n", f.control, "delete", "application", "counted", "--timeout=60s")
	eventually(t, "the application to be forgotten", func() bool { return !strings.Contains(f.scrape(), `"counted"`) })
}

// eventually is for what no watch tells of.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}
