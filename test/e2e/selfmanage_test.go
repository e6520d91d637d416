package e2e_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// The engine is in the first wave of what it deploys: an upgrade of it is a commit, and ends the process that carries it
// out. Nodes here run nothing, so the test does with processes what the cluster does with their pods.

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// household is an installation that manages itself, and the versions of it that are in Git.
type household struct {
	*fixture
	// files are those of the installation, by their paths.
	files    map[string]string
	versions int
}

// own is the installation as its owner keeps it: ours, and what is to be done once it runs.
const own = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../cluster, after.yaml]
`

func (h *household) after(version string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: upgraded, namespace: %[1]s, annotations: {argocd.argoproj.io/sync-wave: "1"}}
data: {version: %[2]s}
---
apiVersion: batch/v1
kind: Job
metadata: {name: smoke, namespace: %[1]s, annotations: {argocd.argoproj.io/hook: PostSync}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: smoke, image: "example.com/smoke:%[2]s"}
`, h.dest, version)
}

var imageTag = regexp.MustCompile(`newTag: \S+`)

// publish tags a version of the installation. Its pod needs a node with the label, if there is one.
func (h *household) publish(version, label string) (revision string) {
	h.Helper()
	const base = "config/install/base/"
	selector := "nodeSelector: {kubernetes.io/os: linux"
	deployment := h.files[base+"deployment.yaml"]
	if label != "" {
		deployment = strings.Replace(deployment, selector, selector+", "+label+": \"yes\"", 1)
	}
	revision, err := h.git.Commit("towline", "main", version, map[string]*string{
		base + "deployment.yaml":                &deployment,
		base + "kustomization.yaml":             new(imageTag.ReplaceAllString(h.files[base+"kustomization.yaml"], "newTag: "+version)),
		"config/install/own/kustomization.yaml": new(own),
		"config/install/own/after.yaml":         new(h.after(version)),
	})
	h.must(err)
	h.must(h.git.SetRef("towline", "refs/tags/"+version, revision))
	h.versions++
	return revision
}

// engine is the application of the engine itself, in wave 0 of the root.
func (h *household) engine(version string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: towline
  namespace: %[1]s
  annotations: {argocd.argoproj.io/sync-wave: "0"}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
  source: {repoURL: %[2]q, path: config/install/own, targetRevision: %[3]s}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [ServerSideApply=true]}
`, h.control, h.git.URL("towline"), version)
}

// upgrade commits what people do: the engine at another version in wave 0, and one more application in wave 1.
func (h *household) upgrade(version, app string) (revision string) {
	h.Helper()
	revision, err := h.git.Commit("home", "main", "towline "+version, map[string]*string{
		"root/towline.yaml":               new(h.engine(version)),
		"root/" + app + ".yaml":           new(h.child(app, 1, automated)),
		"parts/" + app + "/workload.yaml": new(workload(app, "")),
	})
	h.must(err)
	h.kubectl("-n", h.control, "annotate", "application", "root", v1alpha1.AnnotationRefresh+"=normal", "--overwrite")
	return revision
}

// runs starts the process of a pod, and waits until it says a word.
func (h *household) runs(pod, word string) *replica {
	h.Helper()
	return h.replicaAs(h.kubeconfig, pod, word, h.acting("run")...)
}

// terminated ends a process as a kubelet ends a pod.
func (r *replica) terminated() {
	r.f.Helper()
	const grace = 30 * time.Second // as the Deployment has it
	r.signal(syscall.SIGTERM)
	select {
	case <-r.done:
		if code := r.cmd.ProcessState.ExitCode(); code != 0 {
			r.f.Errorf("%s ended with code %d", r.user, code)
		}
	case <-time.After(grace):
		r.f.Fatalf("%s did not end in %s, and would have been killed", r.user, grace)
	}
}

// awaitPods watches the pods of the installation, as the images of those that are to stay.
func (h *household) awaitPods(what string, holds func(tags []string) bool) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	client := h.dynamic.Resource(pods).Namespace(h.control)
	var tags []string
	for ctx.Err() == nil {
		list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=towline"})
		h.must(err)
		tags = nil
		for _, u := range list.Items {
			containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "containers")
			if u.GetDeletionTimestamp() == nil && len(containers) > 0 {
				image, _ := containers[0].(map[string]any)["image"].(string)
				tags = append(tags, image[strings.LastIndexByte(image, ':')+1:])
			}
		}
		if slices.Sort(tags); holds(tags) {
			return
		}
		w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		h.must(err)
		<-w.ResultChan()
		w.Stop()
	}
	h.Fatalf("%s did not come; the pods are of %v", what, tags)
}

// done counts what the account applied in the requests, by object; hooks are counted by how often they were made.
func (h *household) done(requests []controlplane.Event) map[string]int {
	out := map[string]int{}
	for _, e := range requests {
		ours := e.User == h.user && e.Writes() && e.Code < 300 && e.FieldManager == v1alpha1.FieldManagerApply
		if ours && (e.Resource != "jobs" || e.Code == 201) {
			out[e.Resource+"/"+e.Name]++
		}
	}
	return out
}

// onlyOnce checks that an upgrade applied what it changes, each object once, and nothing else.
func (h *household) onlyOnce(since int, app string) {
	h.Helper()
	want := map[string]int{
		"applications/towline": 1, "applications/" + app: 1,
		"deployments/towline": 1, "configmaps/upgraded": 1, "jobs/smoke": 1, "deployments/" + app: 1,
	}
	if d := cmp.Diff(want, h.done(h.trailed()[since:])); d != "" {
		h.Errorf("the upgrade applied other things, or more often (-want +have):\n%s", d)
	}
}

// started are the operations that run, by when they began.
func (h *household) started(apps ...string) map[string]metav1.Time {
	h.Helper()
	out := map[string]metav1.Time{}
	for _, name := range apps {
		app, err := h.hub.Application(h.Context(), name)
		h.must(err)
		op := app.Status.OperationState
		if op == nil || op.Phase != v1alpha1.OperationRunning {
			h.Errorf("the sync of %s does not run: %s", name, describe(app))
			continue
		}
		out[name] = op.StartedAt
	}
	return out
}

// adopt has the installation that stands taken over by the engine, which changes nothing of it.
func (h *household) adopt(version string) {
	h.Helper()
	first := h.publish(version, "")
	h.must(h.git.Create("home", map[string]string{
		"root/towline.yaml": h.engine(version), "root/web.yaml": h.child("web", 1, automated), "parts/web/workload.yaml": workload("web", ""),
	}))
	home, err := h.git.Revision("home", "main")
	h.must(err)
	running := func() string {
		return h.kubectl("-n", h.control, "get", "deployment", "towline", "-o", "jsonpath={.spec}") +
			h.kubectl("-n", h.control, "get", "pods", "-o", "jsonpath={.items[*].metadata.uid}")
	}
	before := running()
	h.application("root", "home", "root", automated)
	h.await("root", "booted", synced(home))
	h.await("towline", "adopted", synced(first))
	h.await("web", "synced", synced(home))
	if d := cmp.Diff(before, running()); d != "" {
		h.Errorf("the adoption changed the Deployment (-before +after):\n%s", d)
	}
}

// filesBelow are those of a folder, by their paths with a prefix.
func (f *fixture) filesBelow(dir, prefix string) map[string]string {
	f.Helper()
	out := map[string]string{}
	folder := os.DirFS(dir)
	f.must(fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		out[prefix+path] = string(text)
		return err
	}))
	return out
}

// TestSelfManagement: the engine upgrades its own installation from Git, in wave 0 of an application of applications. The
// process is replaced while the sync waits for the very Deployment that replaces it: the next one ends that sync, and only
// then come the later waves. Nothing is applied a second time.
func TestSelfManagement(t *testing.T) {
	f := setup(t)
	dir := f.manifests()
	f.installed(dir, "cluster")
	h := &household{fixture: f, files: f.filesBelow(dir, "config/install/")}
	f.must(f.git.Create("towline", h.files))
	one := h.runs("one", "msg=ready")
	first := strings.TrimPrefix(imageTag.FindString(h.files["config/install/base/kustomization.yaml"]), "newTag: ")
	second, third := first+"-second", first+"-third"
	h.adopt(first)

	// The pod of the next version finds no node yet, so that the sync is caught in the middle.
	label := "towline.test/" + f.control
	version, mark := h.publish(second, label), len(f.trailed())
	home := h.upgrade(second, "late")
	waits := func(app *v1alpha1.Application) bool {
		op := app.Status.OperationState
		return op != nil && op.Phase == v1alpha1.OperationRunning && strings.Contains(op.Message, "wave 0 waits for") &&
			strings.Contains(op.Message, "Deployment")
	}
	f.await("towline", "waiting for its own Deployment", waits)
	f.await("root", "waiting for wave 0", waits)
	h.awaitPods("the pod of the next version", func(tags []string) bool { return cmp.Equal(tags, []string{first, second}) })
	began := h.started("towline", "root")

	two := h.runs("two", `msg="standing by"`)
	handed := time.Now()
	one.terminated()
	f.awaitHolder("two")
	t.Logf("handed over in %s", time.Since(handed).Round(time.Millisecond))
	if d := cmp.Diff(began, h.started("towline", "root")); d != "" {
		t.Errorf("the syncs are others after the hand-over (-before +after):\n%s", d)
	}
	if out := f.kubectl("-n", f.control, "get", "application", "late", "--ignore-not-found"); out != "" {
		t.Errorf("wave 1 came before wave 0 was healthy: %s", out)
	}
	f.kubectl("label", "nodes", "--all", label+"=yes")
	h.upgraded(version, home, "late", began)
	h.onlyOnce(mark, "late")

	// Once more, at the cluster's own pace.
	version, mark = h.publish(third, ""), len(f.trailed())
	home = h.upgrade(third, "last")
	h.awaitPods("the pod of the version after", func(tags []string) bool { return slices.Contains(tags, third) })
	h.runs("three", `msg="standing by"`)
	h.awaitPods("the end of the pod before", func(tags []string) bool { return cmp.Equal(tags, []string{third}) })
	two.terminated()
	f.awaitHolder("three")
	h.upgraded(version, home, "last", nil)
	h.onlyOnce(mark, "last")
	f.refused(func(controlplane.Event) bool { return false })
}

// upgraded waits for an upgrade, and checks that it was the sync that had begun, and that the later wave came after it.
func (h *household) upgraded(version, home, app string, began map[string]metav1.Time) {
	h.Helper()
	engine := h.await("towline", "upgraded", synced(version))
	root := h.await("root", "synced", synced(home))
	later := h.await(app, "synced", synced(home))
	for _, a := range []*v1alpha1.Application{engine, root} {
		if start, known := began[a.Name]; known && !a.Status.OperationState.StartedAt.Equal(&start) {
			h.Errorf("another sync of %s was started; the first should have been finished", a.Name)
		}
	}
	if ended := engine.Status.OperationState.FinishedAt; later.CreationTimestamp.Before(ended) {
		h.Errorf("%s came at %s, and the sync of wave 0 ended at %s", app, later.CreationTimestamp, ended)
	}
	if syncs := len(engine.Status.History); syncs != h.versions {
		h.Errorf("there were %d syncs of the engine for %d versions", syncs, h.versions)
	}
	h.wants(h.kubectl("-n", h.dest, "get", "configmap", "upgraded", "-o", "jsonpath={.data.version}"), engine.Spec.Source.TargetRevision)
}
