package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/sim"
	"github.com/towline-cd/towline/test/workshop"
)

// example loads an example for this test's corner of the cluster, with its repositories served.
func (f *fixture) example(name string) *sim.Example {
	f.Helper()
	e, err := sim.Load(workshop.Root(), name, f.git.URL, f.corner()...)
	f.must(err)
	f.must(f.git.Create(name, e.Files))
	f.must(f.git.Create("towline", e.Towline))
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { e.Play(ctx, f.dynamic) })
	f.Cleanup(func() { cancel(); wg.Wait() })
	return e
}

// wavesSeen are the Applications of a corner: at which version each came and first was well.
type wavesSeen struct {
	mu         sync.Mutex
	came, well map[string]uint64
}

// seeWaves watches the Applications from now on.
func (f *fixture) seeWaves() *wavesSeen {
	f.Helper()
	s := &wavesSeen{came: map[string]uint64{}, well: map[string]uint64{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	w, err := f.hub.WatchApplications(ctx, metav1.ListOptions{})
	f.must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				return
			}
			at, _ := strconv.ParseUint(app.ResourceVersion, 10, 64)
			s.mu.Lock()
			if s.came[app.Name] == 0 {
				s.came[app.Name] = at
			}
			if s.well[app.Name] == 0 && green(app) {
				s.well[app.Name] = at
			}
			s.mu.Unlock()
		}
	}()
	f.Cleanup(func() { cancel(); w.Stop(); <-done })
	return s
}

func green(app *v1alpha1.Application) bool {
	return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Health.Status == v1alpha1.HealthStatusHealthy
}

// inOrder checks that no application came before all of the waves before it were well.
func (s *wavesSeen) inOrder(t *testing.T, waves [][]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var before []string
	for _, wave := range waves {
		for _, app := range wave {
			if s.came[app] == 0 {
				t.Errorf("%s never came", app)
			}
			for _, earlier := range before {
				if s.well[earlier] == 0 || s.well[earlier] > s.came[app] {
					t.Errorf("%s came at %d, before %s was well at %d", app, s.came[app], earlier, s.well[earlier])
				}
			}
		}
		before = append(before, wave...)
	}
}

// TestHomelab boots the example from nothing: the installation is applied, then one manifest, and the rest follows in waves,
// the installation itself among it.
func TestHomelab(t *testing.T) {
	f := setup(t)
	e := f.example("homelab")
	f.installed(f.manifests(), "cluster")
	f.start()
	seen := f.seeWaves()
	began := time.Now()
	if out, err := f.kubectlTry(e.Root, "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	f.await("root", "booted", func(app *v1alpha1.Application) bool {
		return green(app) && app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationSucceeded
	})
	t.Logf("booted in %s", time.Since(began).Round(10*time.Millisecond))
	waves := [][]string{
		{"projects", "towline", "cilium", "1password-connect", "external-secrets"},
		{"longhorn", "snapshot-controller", "volsync"},
		{"pvc-plumber"},
		{"cert-manager", "kyverno", "cloudnative-pg", "gateway"},
		{"prometheus-stack", "loki-stack", "tempo"},
		{"jellyfin", "home-assistant", "paperless"},
	}
	for _, wave := range waves {
		for _, app := range wave {
			f.await(app, "green", green)
		}
	}
	seen.inOrder(t, waves)
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.process.Process.Pid)); err == nil {
		t.Logf("towline's memory: %q", regexp.MustCompile(`Vm(?:RSS|HWM):\s+\d+ kB`).FindAllString(string(status), -1))
	}
}

// TestPlatform boots the other example, and has its provisioner ask for an environment by a commit.
func TestPlatform(t *testing.T) {
	f := setup(t)
	e := f.example("platform")
	f.start()
	seen := f.seeWaves()
	if out, err := f.kubectlTry(e.Root, "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	f.await("platform", "booted", green)
	waves := [][]string{{"crossplane"}, {"providers"}, {"platform-api"}, {"workspaces"}}
	for _, wave := range waves {
		f.await(wave[0], "green", green)
	}
	seen.inOrder(t, waves)

	out, err := exec.CommandContext(t.Context(), filepath.Join(workshop.Root(), "examples", "platform", "provisioner", "provision"),
		f.git.URL("platform"), "agent-x", "gcp", "europe-west1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.refresh("workspaces")
	f.await("workspaces", "at the provisioner's commit", synced(strings.TrimSpace(string(out))))
	f.kubectl("-n", f.dest, "get", "xagentenvironment", "agent-x")
}
