package e2e_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

var statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}

// pretended is an Argo CD as the cluster sees it: workloads by their names. What
// runs in them does nothing.
const pretended = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: argocd-application-controller, labels: {app.kubernetes.io/component: application-controller}}
spec:
  replicas: 2
  serviceName: x
  selector: {matchLabels: {app: c}}
  template:
    metadata: {labels: {app: c}}
    spec: {containers: [{name: c, image: "quay.io/argoproj/argocd:v3.5.6"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-applicationset-controller}
spec:
  replicas: 1
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec: {containers: [{name: c, image: "quay.io/argoproj/argocd:v3.5.6"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-server}
spec:
  replicas: 1
  selector: {matchLabels: {app: u}}
  template:
    metadata: {labels: {app: u}}
    spec: {containers: [{name: c, image: "quay.io/argoproj/argocd:v3.5.6"}]}
`

// wanted is how many replicas a workload should have, and what is remembered.
func (f *fixture) wanted(gvr schema.GroupVersionResource, name string) (replicas int64, remembered string) {
	f.Helper()
	u, err := f.dynamic.Resource(gvr).Namespace(f.control).Get(f.Context(), name, metav1.GetOptions{})
	f.must(err)
	replicas, _, _ = unstructured.NestedInt64(u.Object, "spec", "replicas")
	return replicas, u.GetAnnotations()[v1alpha1.AnnotationReplicasBefore]
}

func (f *fixture) scale(gvr schema.GroupVersionResource, name, replicas string) {
	f.Helper()
	_, err := f.dynamic.Resource(gvr).Namespace(f.control).Patch(f.Context(), name, types.MergePatchType,
		[]byte(`{"spec":{"replicas":`+replicas+`}}`), metav1.PatchOptions{})
	f.must(err)
}

func (f *fixture) contains(text string, parts ...string) {
	f.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			f.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// An Argo CD is taken over from and given back, with a Towline that waits beside
// it: it does nothing while the other one runs.
func TestMigrate(t *testing.T) {
	f := setup(t)
	f.settings(map[string]string{v1alpha1.KeyServerSideDiff: "true"})
	if out, err := f.kubectlTry(pretended, "apply", "-n", f.control, "-f", "-"); err != nil {
		f.Fatalf("%v\n%s", err, out)
	}
	f.must(f.git.Create("shop", map[string]string{"app/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("shop", "shop", "app", `{automated: {}, syncOptions: [ApplyOutOfSyncOnly=true]}`)

	r := f.replica("beside", "msg=passive", f.acting("run")...)
	f.contains(r.log.String(), "StatefulSet argocd-application-controller", "towline migrate takeover")
	state, err := r.read("/readyz")
	f.must(err)
	f.contains(state, "passive: Argo CD acts on the same Applications")

	out, _, code := f.towline("migrate", "check", "--quick")
	f.contains(out, "Argo CD v3.5.6 with 1 application", "resource.server-side-diff", "never applied", "Nothing stands in the way")
	if code != 0 {
		f.Errorf("migrate check: exit code %d\n%s", code, out)
	}
	f.selfManaged()
	f.takeOver(r, revision)

	// Somebody starts Argo CD again: of two that act one has to be passive.
	passive := r.awaits("msg=passive")
	f.scale(statefulSets, "argocd-application-controller", "1")
	passive()
	if out, _, code := f.towline("doctor", "--offline"); code != 1 || !strings.Contains(out, "both Argo CD and Towline run") {
		f.Errorf("doctor: exit code %d\n%s", code, out)
	}
	ready := r.awaits("msg=ready")
	f.scale(statefulSets, "argocd-application-controller", "0")
	ready()
	if out, _, code := f.towline("doctor", "--offline", "-o", "json"); code != 0 || !strings.Contains(out, `"check": "permissions"`) {
		f.Errorf("doctor: exit code %d\n%s", code, out)
	}
	f.handBack(r)
	f.shadowed()
}

// selfManaged is an Application that deploys Argo CD itself, which a takeover
// would not survive.
func (f *fixture) selfManaged() {
	f.Helper()
	f.application("argocd", "shop", "argocd", `{automated: {selfHeal: true}}`)
	f.must(f.patchApp("argocd", `{"status":{"sourceType":"Kustomize","resources":[{"group":"apps","version":"v1","kind":"StatefulSet",`+
		`"namespace":"`+f.control+`","name":"argocd-application-controller"}]}}`))
	out, _, code := f.towline("migrate", "takeover", "--yes")
	if n, _ := f.wanted(statefulSets, "argocd-application-controller"); code != 1 || n != 2 {
		f.Fatalf("a takeover that would not last was begun: exit code %d, replicas %d\n%s", code, n, out)
	}
	out, _, _ = f.towline("migrate", "check", "--quick")
	f.contains(out, "deploys Argo CD itself, and would start it again", "- name: argocd-application-controller\n    count: 0")
	f.must(f.patchApp("argocd", `{"metadata":{"finalizers":null}}`))
	f.kubectl("delete", "applications.argoproj.io", "argocd", "-n", f.control)
}

func (f *fixture) patchApp(name, patch string) error {
	_, err := f.hub.PatchApplication(f.Context(), name, []byte(patch))
	return err
}

func (f *fixture) takeOver(r *replica, revision string) {
	f.Helper()
	ready := r.awaits("msg=ready")
	out, errOut, code := f.towline("migrate", "takeover", "--yes")
	if code != 0 {
		f.Fatalf("takeover: exit code %d\n%s%s", code, out, errOut)
	}
	f.contains(out, "stop   StatefulSet argocd-application-controller: 2 -> 0", "towline.profile: argocd")
	ready()
	if n, before := f.wanted(statefulSets, "argocd-application-controller"); n != 0 || before != "2" {
		f.Errorf("the controller wants %d replicas and remembers %q", n, before)
	}
	if n, _ := f.wanted(deployments, "argocd-server"); n != 1 {
		f.Errorf("what only answers was stopped: %d", n)
	}
	f.await("shop", "synced", synced(revision))
	// Asked again it does nothing, and forgets nothing.
	if out, _, code := f.towline("migrate", "takeover", "--yes"); code != 0 || !strings.Contains(out, "nothing to stop or start") {
		f.Errorf("a second takeover: exit code %d\n%s", code, out)
	}
}

func (f *fixture) handBack(r *replica) {
	f.Helper()
	passive := r.awaits("msg=passive")
	out, errOut, code := f.towline("migrate", "handback", "--yes")
	if code != 0 {
		f.Fatalf("handback: exit code %d\n%s%s", code, out, errOut)
	}
	passive()
	for _, w := range []struct {
		gvr  schema.GroupVersionResource
		name string
		want int64
	}{{statefulSets, "argocd-application-controller", 2}, {deployments, "argocd-applicationset-controller", 1}} {
		if n, before := f.wanted(w.gvr, w.name); n != w.want || before != "" {
			f.Errorf("%s wants %d replicas, not %d, and remembers %q", w.name, n, w.want, before)
		}
	}
	cm, err := f.dynamic.Resource(configMaps).Namespace(f.control).Get(f.Context(), v1alpha1.ConfigMapSettings, metav1.GetOptions{})
	f.must(err)
	if profile, _, _ := unstructured.NestedString(cm.Object, "data", v1alpha1.KeyProfile); profile != "" {
		f.Errorf("the profile %q stayed", profile)
	}
}

// shadowed looks beside, as a user of its own whose every write would be in the
// audit log.
func (f *fixture) shadowed() {
	f.Helper()
	user := f.user + "-shadow"
	kubeconfig, err := f.plane.KubeconfigFor(user, "system:masters")
	f.must(err)
	once := func(command ...string) (string, int) {
		out, errOut, code := f.command(append(command, "--kubeconfig", kubeconfig, "--namespace", f.control)...)
		return out + errOut, code
	}
	if out, code := once("migrate", "shadow", "--once"); code != 0 || !strings.Contains(out, "/shop: agrees") {
		f.Errorf("shadow: exit code %d\n%s", code, out)
	}
	// Argo CD lies.
	f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
	if out, code := once("migrate", "shadow", "--once"); code != 1 || !strings.Contains(out, "Argo CD says Synced, Towline OutOfSync") {
		f.Errorf("shadow: exit code %d\n%s", code, out)
	}
	if out, code := once("migrate", "check"); code != 0 || !strings.Contains(out, "differs: ConfigMap "+f.dest+"/settings sync") {
		f.Errorf("check: exit code %d\n%s", code, out)
	}
	events, err := controlplane.NewTrail(f.plane.AuditLog(), user).Events()
	f.must(err)
	dryRuns := 0
	for _, e := range events {
		switch {
		case e.User != user || e.Verb == "get" || e.Verb == "list" || e.Verb == "watch":
		case e.DryRun:
			dryRuns++
		default:
			f.Errorf("the shadow wrote: %s %s %s/%s", e.Verb, e.Resource, e.Namespace, e.Name)
		}
	}
	if dryRuns == 0 {
		f.Error("the shadow asked the server for nothing: it did not judge")
	}
}
