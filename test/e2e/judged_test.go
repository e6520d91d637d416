package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// homeless is a pod that no node takes: none has such a label.
const homeless = `nodeSelector: {e2e.example.com/never: "true"}`

// rollout is a Deployment that gives up after a number of seconds.
func rollout(name string, deadline int, where string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  progressDeadlineSeconds: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      %[3]s
      containers:
      - {name: web, image: "example.com/web:1"}
`, name, deadline, where)
}

const (
	lateJob = `apiVersion: batch/v1
kind: Job
metadata: {name: late}
spec:
  activeDeadlineSeconds: 1
  template:
    spec:
      restartPolicy: Never
      ` + homeless + `
      containers:
      - {name: late, image: "example.com/late:1"}
`
	hollowClaim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hollow}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: e2e-has-no-such-class
  resources: {requests: {storage: 1Gi}}
`
	ferry = `apiVersion: ferry.example.com/v1
kind: Ferry
metadata: {name: one}
`
	ferries = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ferries.ferry.example.com}
spec:
  group: ferry.example.com
  names: {kind: Ferry, plural: ferries, singular: ferry, listKind: FerryList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
)

// verdictOn is the health of one object in an application's status.
func verdictOn(app *v1alpha1.Application, kind, name string) (status v1alpha1.HealthStatusCode, message string) {
	for _, r := range app.Status.Resources {
		if r.Kind == kind && r.Name == name && r.Health != nil {
			return r.Health.Status, r.Health.Message
		}
	}
	return "", ""
}

// TestHealth has real controllers bring real objects into each state: what the
// status and the command line say of them is what a user has to go by.
func TestHealth(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{
		"shop/slow.yaml": rollout("slow", 600, homeless), "shop/stuck.yaml": rollout("stuck", 1, homeless),
		"shop/late.yaml": lateJob, "shop/hollow.yaml": hollowClaim,
	}))
	f.start()
	f.application("sick", "shop", "shop", `{automated: {prune: true}}`)
	want := []struct {
		kind, name, message string
		status              v1alpha1.HealthStatusCode
	}{
		{"Deployment", "slow", "0 of 1", v1alpha1.HealthStatusProgressing},
		{"Deployment", "stuck", "exceeded its progress deadline", v1alpha1.HealthStatusDegraded},
		{"Job", "late", "deadline", v1alpha1.HealthStatusDegraded},
		{"PersistentVolumeClaim", "hollow", "Waiting for a volume", v1alpha1.HealthStatusProgressing},
	}
	app := f.await("sick", "judged", func(app *v1alpha1.Application) bool {
		for _, w := range want {
			if status, _ := verdictOn(app, w.kind, w.name); status != w.status {
				return false
			}
		}
		return true
	})
	shown, stderr, code := f.towline("app", "get", "sick", "-o", "wide")
	if code != 0 {
		t.Fatalf("app get -o wide ended with %d: %s", code, stderr)
	}
	for _, w := range want {
		_, message := verdictOn(app, w.kind, w.name)
		if !strings.Contains(message, w.message) {
			t.Errorf("%s %s says %q, want it to say %q", w.kind, w.name, message, w.message)
		}
		if !strings.Contains(shown, w.message) {
			t.Errorf("app get -o wide does not say %q:\n%s", w.message, shown)
		}
	}
	h := app.Status.Health
	if h.Status != v1alpha1.HealthStatusDegraded || !strings.Contains(h.Message, "stuck") || !strings.Contains(h.Message, "late") ||
		strings.Contains(h.Message, "slow") {
		t.Errorf("the application is %s: %s", h.Status, h.Message)
	}

	second, err := f.git.Commit("shop", "main", "a home for the pods, and nothing that cannot work", map[string]*string{
		"shop/slow.yaml": new(rollout("slow", 600, "")), "shop/stuck.yaml": new(rollout("stuck", 1, "")),
		"shop/late.yaml": nil, "shop/hollow.yaml": nil,
	})
	f.must(err)
	f.refresh("sick")
	f.await("sick", "healthy at the new commit", synced(second))
}

// TestHealthByConditions: an object of a kind that nobody described is judged
// by its conditions. That is shown, and counts (by the letter of Argo CD it
// does not).
func TestHealthByConditions(t *testing.T) {
	f := setup(t)
	if out, err := f.kubectlTry(ferries, "apply", "-f", "-"); err != nil {
		t.Fatalf("installing the kind: %v\n%s", err, out)
	}
	f.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/ferries.ferry.example.com")
	f.must(f.git.Create("shop", map[string]string{"shop/ferry.yaml": ferry}))
	f.start()
	f.application("fleet", "shop", "shop", `{automated: {prune: true}}`)
	f.await("fleet", "synced", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced })
	f.kubectl("-n", f.dest, "patch", "ferry", "one", "--type=merge", "--patch",
		`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"LaunchFailed","message":"no water"}]}}`)
	app := f.await("fleet", "judged", func(app *v1alpha1.Application) bool {
		status, message := verdictOn(app, "Ferry", "one")
		return status == v1alpha1.HealthStatusDegraded && message == "no water"
	})
	if app.Status.Health.Status != v1alpha1.HealthStatusDegraded {
		t.Errorf("the application is %s: %s", app.Status.Health.Status, app.Status.Health.Message)
	}
	f.kubectl("-n", f.control, "delete", "application", "fleet", "--timeout=60s")
}
