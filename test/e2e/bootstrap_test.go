package e2e_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
)

// The boot of a cluster from one root application: its children come in waves,
// and each wave is healthy before the next begins.

var (
	applications = schema.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: v1alpha1.ApplicationResource}
	stores       = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "secretstores"}
)

// bootWaves are the children of the root, by wave.
var bootWaves = map[int][]string{
	0: {"cilium", "external-secrets"},
	1: {"longhorn"},
	2: {"pvc-plumber"},
	4: {"cert-manager", "kyverno"},
	5: {"prometheus"},
	6: {"blog"},
}

// waitForChild is the script that app-of-apps repositories carry.
const waitForChild = `hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`

func (f *fixture) child(name string, wave int, policy string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: %s
  annotations: {argocd.argoproj.io/sync-wave: %q}
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  source: {repoURL: %q, path: %q, targetRevision: main}
  syncPolicy: %s
`, name, f.control, strconv.Itoa(wave), f.dest, f.git.URL("home"), "parts/"+name, policy)
}

func workload(name, extra string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      %[2]s
      containers:
      - {name: main, image: "example.com/%[1]s:1"}
`, name, extra)
}

const unschedulable = `nodeSelector: {nobody: has-this}`

// home is the repository: a root, its children, and what they hold.
func (f *fixture) home() map[string]string {
	files := map[string]string{
		"parts/external-secrets/crd.yaml": storeCRD,
		"parts/longhorn/store.yaml":       "apiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: main}\nspec: {size: 1}\n",
		"parts/kyverno/migrate.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: kyverno-migrate
  annotations: {argocd.argoproj.io/hook: PreSync}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: migrate, image: "example.com/migrate:1"}
`,
	}
	for wave, children := range bootWaves {
		for _, name := range children {
			files["root/"+name+".yaml"] = f.child(name, wave, automated)
			files["parts/"+name+"/workload.yaml"] = workload(name, "")
		}
	}
	return files
}

const storeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: secretstores.external-secrets.io}
spec:
  group: external-secrets.io
  scope: Namespaced
  names: {kind: SecretStore, plural: secretstores, singular: secretstore, listKind: SecretStoreList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// boot is one boot, and what was seen of it.
type boot struct {
	*fixture
	seen *sightings
}

func newBoot(t *testing.T, settings map[string]string) *boot {
	t.Helper()
	// The kind of the store comes with the boot, so it goes before.
	f := alone(t)
	f.settings(settings)
	f.kubectl("delete", "crd", "secretstores.external-secrets.io", "--ignore-not-found", "--timeout=60s")
	b := &boot{fixture: f, seen: &sightings{created: map[string]uint64{}, healthy: map[string]uint64{}}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for gvr, namespace := range map[schema.GroupVersionResource]string{applications: f.control, deployments: f.dest, jobs: f.dest, stores: f.dest} {
		wg.Go(func() { b.watch(ctx, gvr, namespace) })
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
	return b
}

// sightings are the versions at which objects came and became healthy. The
// versions of one etcd are one order of everything.
type sightings struct {
	mu               sync.Mutex
	created, healthy map[string]uint64
}

func (b *boot) watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string) {
	since := ""
	for ctx.Err() == nil {
		w, err := b.dynamic.Resource(gvr).Namespace(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: since})
		if err != nil {
			// The kind is not served yet.
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		for ev := range w.ResultChan() {
			u, ok := ev.Object.(*unstructured.Unstructured)
			if !ok {
				since = ""
				break
			}
			since = u.GetResourceVersion()
			b.saw(ctx, gvr, ev.Type, u)
		}
	}
}

func (b *boot) saw(ctx context.Context, gvr schema.GroupVersionResource, what watch.EventType, u *unstructured.Unstructured) {
	rv, err := strconv.ParseUint(u.GetResourceVersion(), 10, 64)
	if err != nil || what == watch.Deleted {
		return
	}
	name := gvr.Resource + "/" + u.GetName()
	b.seen.mu.Lock()
	_, known := b.seen.created[name]
	if !known {
		b.seen.created[name] = rv
	}
	if _, was := b.seen.healthy[name]; !was && gvr != applications && health.Of(u).Status == health.Healthy {
		b.seen.healthy[name] = rv
	}
	b.seen.mu.Unlock()
	if gvr == stores && !known {
		// The controller of this kind takes its time.
		time.AfterFunc(300*time.Millisecond, func() {
			_, _ = b.dynamic.Resource(stores).Namespace(b.dest).Patch(ctx, u.GetName(), types.MergePatchType, []byte(
				`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Made","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`),
				metav1.PatchOptions{}, "status")
		})
	}
}

// inOrder checks that no child came before all that earlier waves hold was
// healthy.
func (b *boot) inOrder(t *testing.T) {
	t.Helper()
	b.seen.mu.Lock()
	defer b.seen.mu.Unlock()
	var before []string
	for wave := range 7 {
		children := bootWaves[wave]
		for _, child := range children {
			came, ok := b.seen.created["applications/"+child]
			if !ok {
				t.Errorf("%s of wave %d never came", child, wave)
			}
			for _, object := range before {
				if well, ok := b.seen.healthy[object]; !ok || well > came {
					t.Errorf("%s of wave %d came at %d, before %s was healthy at %d", child, wave, came, object, well)
				}
			}
		}
		for _, child := range children {
			before = append(before, "deployments/"+child)
		}
		if wave == 1 {
			before = append(before, "secretstores/main")
		}
	}
}

func (b *boot) booted(revision string) *v1alpha1.Application {
	b.Helper()
	root := b.await("root", "booted", synced(revision))
	for _, children := range bootWaves {
		for _, child := range children {
			b.await(child, "synced", func(app *v1alpha1.Application) bool {
				return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Health.Status == v1alpha1.HealthStatusHealthy
			})
		}
	}
	return root
}

// TestBoot: six waves come up by themselves, in order. A script in the settings
// or the letter of Argo CD does not change that.
func TestBoot(t *testing.T) {
	script := map[string]string{"resource.customizations.health.argoproj.io_Application": waitForChild}
	letter := map[string]string{"towline.profile": "argocd"}
	letter["resource.customizations.health.argoproj.io_Application"] = waitForChild
	for name, settings := range map[string]map[string]string{"own": nil, "script": script, "letter": letter} {
		t.Run(name, func(t *testing.T) {
			b := newBoot(t, settings)
			b.must(b.git.Create("home", b.home()))
			revision, err := b.git.Revision("home", "main")
			b.must(err)
			b.start()
			began := time.Now()
			b.application("root", "home", "root", automated)
			b.booted(revision)
			t.Logf("booted in %s", time.Since(began).Round(10*time.Millisecond))
			b.inOrder(t)
			if b.object(jobs, "kyverno-migrate") == nil {
				t.Error("the hook did not run")
			}
		})
	}
}

// TestBootBroken: with a broken wave nothing later comes, and the root says
// what it waits for. The commit that mends it takes over at once.
func TestBootBroken(t *testing.T) {
	b := newBoot(t, map[string]string{v1alpha1.KeyTimeoutReconciliation: "1s", v1alpha1.KeyTimeoutReconciliationJitter: "0"})
	files := b.home()
	files["parts/longhorn/workload.yaml"] = workload("longhorn", unschedulable)
	b.must(b.git.Create("home", files))
	b.start()
	b.application("root", "home", "root", automated)
	root := b.await("root", "waiting for wave 1", func(app *v1alpha1.Application) bool {
		op := app.Status.OperationState
		return op != nil && strings.Contains(op.Message, "wave 1 waits for") && strings.Contains(op.Message, "Deployment")
	})
	if m := root.Status.OperationState.Message; !strings.Contains(m, "longhorn") || !strings.Contains(m, "health Progressing") {
		t.Errorf("the root says %q", m)
	}
	for wave, children := range bootWaves {
		for _, child := range children {
			u, _ := b.dynamic.Resource(applications).Namespace(b.control).Get(t.Context(), child, metav1.GetOptions{})
			if wave > 1 && u != nil {
				t.Errorf("%s of wave %d exists", child, wave)
			}
		}
	}
	mended := workload("longhorn", "")
	// The root read nothing of this commit, so it stays at the one before.
	revision, err := b.git.Revision("home", "main")
	b.must(err)
	_, err = b.git.Commit("home", "main", "let longhorn run", map[string]*string{"parts/longhorn/workload.yaml": &mended})
	b.must(err)
	b.booted(revision)
	b.inOrder(t)
}

// TestBootAdopts: what runs already is adopted, not restarted.
func TestBootAdopts(t *testing.T) {
	b := newBoot(t, nil)
	if out, err := b.kubectlTry(workload("cilium", ""), "-n", b.dest, "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	b.kubectl("-n", b.dest, "rollout", "status", "deployment/cilium", "--timeout=60s")
	pods := func() string {
		return b.kubectl("-n", b.dest, "get", "pods", "-l", "app=cilium", "--sort-by=.metadata.uid", "-o", "jsonpath={.items[*].metadata.uid}")
	}
	before := pods()
	b.must(b.git.Create("home", b.home()))
	revision, err := b.git.Revision("home", "main")
	b.must(err)
	b.start()
	b.application("root", "home", "root", automated)
	b.booted(revision)
	if after := pods(); after != before || before == "" {
		t.Errorf("the pods were %q and are %q", before, after)
	}
}

// TestBootDoesNotHang: a child that only a person syncs, and one that stays
// OutOfSync and is healthy, hold nothing up.
func TestBootDoesNotHang(t *testing.T) {
	b := newBoot(t, nil)
	files := b.home()
	files["root/cilium.yaml"] = b.child("cilium", 0, "{}")
	files["root/longhorn.yaml"] = b.child("longhorn", 1, "{automated: {}}")
	b.must(b.git.Create("home", files))
	revision, err := b.git.Revision("home", "main")
	b.must(err)
	left := fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: left
  namespace: %[1]s
  annotations:
    argocd.argoproj.io/tracking-id: "longhorn:/ConfigMap:%[1]s/left"
    argocd.argoproj.io/installation-id: %[2]s
`, b.dest, b.control)
	if out, err := b.kubectlTry(left, "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	b.start()
	b.application("root", "home", "root", automated)
	root := b.await("root", "booted", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Sync.Revision == revision &&
			app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationSucceeded
	})
	b.await("blog", "synced", synced(revision))
	b.await("longhorn", "OutOfSync and healthy", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync && app.Status.Health.Status == v1alpha1.HealthStatusHealthy
	})
	warned := false
	for _, c := range root.Status.Conditions {
		warned = warned || strings.Contains(c.Message, "cilium") && strings.Contains(c.Message, "not synced by itself")
	}
	if !warned {
		t.Errorf("nothing says that the manual child was passed over: %v", root.Status.Conditions)
	}
}
