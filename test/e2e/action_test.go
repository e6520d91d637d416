package e2e_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const report = `apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    metadata: {labels: {app: report}}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: report, image: "example.com/report:1"}]}
`

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// TestActions: what people do with objects by hand, built in and of their own
// making, within what the project allows; and none of it looks like drift.
func TestActions(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"settings.yaml": settingsV1, "web.yaml": web, "report.yaml": report}))
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.settings(map[string]string{"resource.customizations.actions.ConfigMap": `
discovery.lua: |
  local actions = {}
  actions["note"] = {["disabled"] = false, ["params"] = {{name = "text"}}}
  actions["spread"] = {}
  return actions
definitions:
- name: note
  action.lua: |
    if obj.metadata.annotations == nil then obj.metadata.annotations = {} end
    obj.metadata.annotations["note"] = actionParams["text"]
    return obj
- name: spread
  action.lua: |
    local copy = {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "copy", namespace = obj.metadata.namespace}, data = obj.data}
    return {{operation = "create", resource = copy}}
`})
	f.start()
	f.application("acted", "shop", ".", automated)
	app := f.await("acted", "synced", synced(first))

	run := func(t *testing.T, code int, args ...string) string {
		t.Helper()
		out, errOut, got := f.towline(append([]string{"app", "actions"}, args...)...)
		if got != code {
			t.Fatalf("exit code %d, want %d\n%s%s", got, code, out, errOut)
		}
		return out + errOut
	}

	t.Run("list", func(t *testing.T) {
		out := run(t, 0, "list", "acted")
		for _, want := range []string{"restart", "scale", "create-job", "note", "spread"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s is not among\n%s", want, out)
			}
		}
	})

	t.Run("restart a Deployment", func(t *testing.T) {
		run(t, 0, "run", "acted", "restart", "--kind", "Deployment", "--resource-name", "web")
		f.awaitObject(deployments, "web", func(u *unstructured.Unstructured) bool {
			at, _, _ := unstructured.NestedString(u.Object, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
			observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
			return at != "" && observed == u.GetGeneration() && u.GetGeneration() > 1
		})
	})

	t.Run("run a CronJob now", func(t *testing.T) {
		out := run(t, 0, "run", "acted", "create-job", "--kind", "CronJob", "--resource-name", "report")
		name := strings.TrimPrefix(strings.TrimSpace(out), "created Job.batch "+f.dest+"/")
		job := f.object(jobs, name)
		if job == nil {
			t.Fatalf("there is no job %q", name)
		}
		if o := metav1.GetControllerOf(job); o == nil || o.Name != "report" || job.GetLabels()["app"] != "report" {
			t.Errorf("the job is %v", job.Object)
		}
	})

	t.Run("a user's own", func(t *testing.T) {
		run(t, 0, "run", "acted", "note", "--kind", "ConfigMap", "--resource-name", "settings", "--param", "text=hello")
		u := f.object(configMaps, "settings")
		if u.GetAnnotations()["note"] != "hello" || !colour("blue")(u) {
			t.Errorf("settings is %v", u.Object)
		}
		run(t, 0, "run", "acted", "spread", "--kind", "ConfigMap", "--resource-name", "settings")
		if !colour("blue")(f.object(configMaps, "copy")) {
			t.Error("there is no copy")
		}
	})

	t.Run("what is not the application's", func(t *testing.T) {
		f.kubectl("-n", f.dest, "create", "configmap", "foreign")
		out := run(t, 20, "run", "acted", "note", "--kind", "ConfigMap", "--resource-name", "foreign", "--param", "text=x")
		if !strings.Contains(out, `not an object of application "acted"`) {
			t.Errorf("got %s", out)
		}
	})

	t.Run("what the project does not allow", func(t *testing.T) {
		f.kubectl("-n", f.control, "patch", "appproject", "default", "--type=merge", "-p",
			`{"spec":{"namespaceResourceBlacklist":[{"group":"batch","kind":"Job"}]}}`)
		out := run(t, 20, "run", "acted", "create-job", "--kind", "CronJob", "--resource-name", "report")
		if !strings.Contains(out, "namespaceResourceBlacklist") {
			t.Errorf("got %s", out)
		}
	})

	t.Run("none of it was drift", func(t *testing.T) {
		f.refresh("acted")
		now := f.await("acted", "refreshed", func(a *v1alpha1.Application) bool { return a.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced })
		if len(now.Status.History) != len(app.Status.History) {
			t.Errorf("it was synced again: %+v", now.Status.History)
		}
		if f.object(configMaps, "settings").GetAnnotations()["note"] != "hello" {
			t.Error("the note is gone")
		}
	})
}
