package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/test/workshop"
)

// patience is how long a test waits for anything. It is long because machines
// are noisy; everything is awaited by a watch, so it costs nothing.
const patience = 90 * time.Second

// fixture is one test's corner of the shared cluster: a control namespace, a
// destination namespace, a git server and a towline process.
type fixture struct {
	*testing.T
	plane   *controlplane.Plane
	git     *gitserver.Server
	hub     *hub.Client
	dynamic dynamic.Interface
	// control is the control namespace, dest the destination's. user is as
	// whom towline acts: the audit log tells its requests from ours by it.
	control, dest, user string
	kubeconfig          string
	data                string

	// trail is the part of the audit log that is towline's.
	trail *controlplane.Trail

	// flags are further ones of towline.
	flags   []string
	process *exec.Cmd
	log     *lockedBuffer
}

// setup makes the corner, beside those of other tests, and does not start
// towline.
func setup(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone does so for a test that changes the cluster for all, or that compares
// times.
func alone(t *testing.T) *fixture {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane; run without -short")
	}
	plane := controlplane.Shared(t)
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	f := &fixture{
		T: t, plane: plane, git: gitserver.New(t),
		control: name, dest: name + "-dest", user: "towline-" + name,
		data: t.TempDir(), log: &lockedBuffer{},
	}
	f.trail = controlplane.NewTrail(plane.AuditLog(), f.user)
	config, err := plane.RESTConfig()
	f.must(err)
	f.dynamic, err = dynamic.NewForConfig(config)
	f.must(err)
	f.hub, err = hub.New(config, f.control)
	f.must(err)
	f.kubeconfig, err = plane.KubeconfigFor(f.user, "system:masters")
	f.must(err)
	f.must(install(plane))
	for _, namespace := range []string{f.control, f.dest} {
		_, err := f.dynamic.Resource(namespaces).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
		}}, metav1.CreateOptions{})
		f.must(err)
	}
	f.settings(nil)
	t.Cleanup(func() {
		f.stop()
		if t.Failed() {
			t.Logf("towline's log:\n%s", f.log.String())
		}
	})
	return f
}

var (
	installed  sync.Once
	installing error
)

// install puts the CRDs on the cluster, once, by client-side apply, as people do.
func install(plane *controlplane.Plane) error {
	installed.Do(func() {
		for _, args := range [][]string{
			{"apply", "-k", filepath.Join(workshop.Root(), "config", "crd")},
			{"wait", "--for=condition=Established", "--timeout=60s", "crd/applications.argoproj.io", "crd/applicationsets.argoproj.io", "crd/appprojects.argoproj.io"},
		} {
			out, err := installWith(plane, args)
			// kubectl does not wait for conditions that are not there yet.
			for tries := 0; err != nil && strings.Contains(out, "accessor error") && tries < 100; tries++ {
				time.Sleep(100 * time.Millisecond)
				out, err = installWith(plane, args)
			}
			if err != nil {
				installing = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
				return
			}
		}
	})
	return installing
}

func installWith(plane *controlplane.Plane, args []string) (string, error) {
	cmd := exec.CommandContext(context.Background(), plane.Kubectl(), append([]string{"--kubeconfig", plane.Kubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// settings replaces the data of argocd-cm. Installations share the cluster and
// have applications of the same names: each must know its own.
func (f *fixture) settings(data map[string]string) {
	f.Helper()
	all := map[string]any{v1alpha1.KeyInstallationID: f.control}
	for k, v := range data {
		all[k] = v
	}
	_, err := f.dynamic.Resource(configMaps).Namespace(f.control).Apply(f.Context(), v1alpha1.ConfigMapSettings, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": v1alpha1.ConfigMapSettings, "namespace": f.control}, "data": all,
	}}, metav1.ApplyOptions{FieldManager: "administrator", Force: true})
	f.must(err)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// start runs towline, with further flags, and waits until it says that it is
// ready.
func (f *fixture) start(flags ...string) {
	f.Helper()
	f.flags = flags
	f.launch(program(f.T))
}

// launch does so with another build of it, or with more in its environment.
func (f *fixture) launch(path string, environment ...string) {
	f.Helper()
	ready := make(chan struct{})
	f.log.notify("msg=ready", ready)
	f.process = exec.CommandContext(context.Background(), path, append([]string{
		"run",
		"--kubeconfig", f.kubeconfig, "--namespace", f.control, "--data", f.data, "--log-level", "debug", "--metrics-address", "127.0.0.1:0", "--listen", "", "--peer-listen", "",
	}, f.flags...)...)
	f.process.Env = append(os.Environ(), environment...)
	f.process.Stderr = f.log
	f.process.SysProcAttr = workshop.Bound()
	f.must(f.process.Start())
	select {
	case <-ready:
	case <-time.After(patience):
		f.Fatal("towline did not become ready")
	}
}

// kill ends towline as a power cut would.
func (f *fixture) kill() {
	f.Helper()
	f.must(f.process.Process.Kill())
	_ = f.process.Wait()
	f.process = nil
}

// stop asks towline to end and checks that it does so well.
func (f *fixture) stop() {
	f.Helper()
	if f.process == nil {
		return
	}
	p := f.process
	f.process = nil
	if err := p.Process.Signal(os.Interrupt); err != nil {
		f.Errorf("interrupting towline: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			f.Errorf("towline ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		_ = p.Process.Kill()
		f.Error("towline did not end 20 s after an interrupt")
	}
}

func (f *fixture) kubectl(args ...string) string {
	f.Helper()
	out, err := f.kubectlTry("", args...)
	if err != nil {
		f.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fixture) kubectlTry(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(f.Context(), f.plane.Kubectl(), append([]string{"--kubeconfig", f.plane.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// towline runs a command line and returns its output and exit code.
func (f *fixture) towline(args ...string) (stdout, stderr string, code int) {
	f.Helper()
	return f.command(append(args, "--kubeconfig", f.plane.Kubeconfig(), "--namespace", f.control)...)
}

// command runs a command line that knows of no cluster.
func (f *fixture) command(args ...string) (stdout, stderr string, code int) {
	f.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(f.Context(), plain, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// application creates an Application for a path of a repository.
func (f *fixture) application(name, repo, path, policy string) {
	f.Helper()
	manifest := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: %s
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  source: {repoURL: %q, path: %q, targetRevision: main, directory: {recurse: true}}
  syncPolicy: %s
`, name, f.control, f.dest, f.git.URL(repo), path, policy)
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating application %s: %v\n%s", name, err, out)
	}
}

const automated = `{automated: {prune: true, selfHeal: true}}`

// await watches an Application until the condition holds.
func (f *fixture) await(name, what string, holds func(*v1alpha1.Application) bool) *v1alpha1.Application {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	var last *v1alpha1.Application
	for ctx.Err() == nil {
		w, err := f.hub.WatchApplications(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
		})
		if err != nil {
			break
		}
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				break
			}
			if last = app; holds(app) {
				w.Stop()
				return app
			}
		}
		w.Stop()
	}
	f.Fatalf("application %s did not become %s; it is:\n%s", name, what, describe(last))
	return nil
}

func describe(app *v1alpha1.Application) string {
	if app == nil {
		return "not there"
	}
	s := fmt.Sprintf("sync %s at %s, health %s", app.Status.Sync.Status, app.Status.Sync.Revision, app.Status.Health.Status)
	if op := app.Status.OperationState; op != nil {
		s += fmt.Sprintf(", operation %s: %s", op.Phase, op.Message)
	}
	for _, c := range app.Status.Conditions {
		s += fmt.Sprintf("\n  %s: %s", c.Type, c.Message)
	}
	for _, r := range app.Status.Resources {
		s += fmt.Sprintf("\n  %s %s/%s %s %+v", r.Kind, r.Namespace, r.Name, r.Status, r.Health)
	}
	return s
}

// synced is Synced, Healthy, and idle at a revision.
func synced(revision string) func(*v1alpha1.Application) bool {
	return func(app *v1alpha1.Application) bool {
		op := app.Status.OperationState
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Sync.Revision == revision &&
			app.Status.Health.Status == v1alpha1.HealthStatusHealthy && app.Operation == nil &&
			op != nil && op.Phase == v1alpha1.OperationSucceeded
	}
}

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// object reads a live object of the destination; nil if it is not there.
func (f *fixture) object(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	f.Helper()
	u, err := f.dynamic.Resource(gvr).Namespace(f.dest).Get(f.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return u
}

// awaitObject watches a live object of the destination until the condition
// holds; it gets nil while the object is not there.
func (f *fixture) awaitObject(gvr schema.GroupVersionResource, name string, holds func(*unstructured.Unstructured) bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	client := f.dynamic.Resource(gvr).Namespace(f.dest)
	for ctx.Err() == nil {
		list, err := client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		f.must(err)
		var now *unstructured.Unstructured
		if len(list.Items) > 0 {
			now = &list.Items[0]
		}
		if holds(now) {
			return
		}
		w, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion()})
		f.must(err)
		<-w.ResultChan()
		w.Stop()
	}
	f.Fatalf("%s %s/%s did not become as expected", gvr.Resource, f.dest, name)
}

// edit changes a live object as a person with kubectl would.
func (f *fixture) edit(gvr schema.GroupVersionResource, name, patch string) {
	f.Helper()
	_, err := f.dynamic.Resource(gvr).Namespace(f.dest).Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	f.must(err)
}

// requests are those that towline's user has made so far, without reads of its
// own settings, watches, events, which are written when there is time, and what
// it does to be the one that acts.
func (f *fixture) requests() []controlplane.Event {
	f.Helper()
	all, err := f.trail.Events()
	f.must(err)
	var out []controlplane.Event
	for _, e := range all {
		if e.User == f.user && e.Verb != "watch" && e.Verb != "list" && e.Resource != "" && e.Resource != "events" &&
			e.Resource != "leases" && e.Name != v1alpha1.SecretPeers {
			out = append(out, e)
		}
	}
	return out
}

// folder makes a folder on this machine.
func (f *fixture) folder(files map[string]string) string {
	f.Helper()
	dir := f.TempDir()
	for name, content := range files {
		f.must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// refresh asks for a refresh and waits until it was done.
func (f *fixture) refresh(name string) {
	f.Helper()
	f.kubectl("-n", f.control, "annotate", "application", name, v1alpha1.AnnotationRefresh+"=normal", "--overwrite")
	f.await(name, "refreshed", func(app *v1alpha1.Application) bool { return app.Annotations[v1alpha1.AnnotationRefresh] == "" })
}

// lockedBuffer is a log that can be awaited.
type lockedBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	word string
	seen chan struct{}
}

func (b *lockedBuffer) notify(word string, seen chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.word, b.seen = word, seen
}

// Write keeps a line and tells whoever waits for it.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen != nil && strings.Contains(string(p), b.word) {
		close(b.seen)
		b.seen = nil
	}
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
