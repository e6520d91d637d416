package truth_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/test/workshop"
)

const (
	// patience is how long anything is waited for. All waiting is watching, so
	// a long one costs nothing.
	patience = 60 * time.Second
	// promptness is how long news may take that comes by itself; it takes
	// milliseconds on an idle machine.
	promptness = 20 * time.Second
	// control is the namespace of the Applications, user is as whom towline
	// acts: the audit log tells its requests from ours by it.
	control = "truth"
	user    = "towline-truth"
)

// stage is what all situations share: a cluster, a git server, a towline.
type stage struct {
	plane   *controlplane.Plane
	git     *gitserver.Server
	hub     *hub.Client
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	audit   *audit
	log     *readyLog
}

func newStage(t *testing.T) *stage {
	t.Helper()
	plane := controlplane.Shared(t)
	s := &stage{plane: plane, git: gitserver.New(t), log: newReadyLog()}
	config, err := plane.RESTConfig()
	check(t, err)
	s.hub, err = hub.New(config, control)
	check(t, err)
	s.client, err = kubernetes.NewForConfig(config)
	check(t, err)
	s.dynamic, err = dynamic.NewForConfig(config)
	check(t, err)
	facts, err := discovery.NewDiscoveryClientForConfig(config)
	check(t, err)
	s.audit = newAudit(t, plane.AuditLog(), s.client)
	s.furnish(t)
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(facts))
	s.start(t)
	return s
}

// furnish installs what the situations need beside themselves.
func (s *stage) furnish(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(workshop.Root(), "config", "crd")},
		{"apply", "-f", filepath.Join("testdata", "crds.yaml")},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
		{"create", "namespace", control},
		{"apply", "-f", filepath.Join("testdata", "settings.yaml")},
	} {
		if out, err := s.kubectl(t.Context(), "", args...); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	_, err := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations().
		Create(t.Context(), webhooks(t), metav1.CreateOptions{})
	check(t, err)
}

// start runs towline until the test ends.
func (s *stage) start(t *testing.T) {
	t.Helper()
	kubeconfig, err := s.plane.KubeconfigFor(user, "system:masters")
	check(t, err)
	process := exec.CommandContext(context.WithoutCancel(t.Context()), *program, "run",
		"--kubeconfig", kubeconfig, "--namespace", control, "--data", t.TempDir(), "--log-level", "debug", "--metrics-address", "", "--listen", "", "--peer-listen", "")
	process.Stderr = s.log
	process.SysProcAttr = workshop.Bound()
	check(t, process.Start())
	t.Cleanup(func() { s.stop(t, process) })
	select {
	case <-s.log.ready:
	case <-time.After(patience):
		t.Fatalf("towline did not become ready; it says:\n%s", s.log.String())
	}
}

func (s *stage) stop(t *testing.T, process *exec.Cmd) {
	if err := process.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("interrupting towline: %v", err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("towline ended with %v", err)
	}
	if s.log.has("panicked") || s.log.has("DATA RACE") {
		t.Errorf("towline's log tells of a panic or a race:\n%s", s.log.String())
	}
}

func (s *stage) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.plane.Kubectl(), append([]string{
		"--kubeconfig", s.plane.Kubeconfig(),
		// The default is in the home folder, which outlives us.
		"--cache-dir", filepath.Join(s.plane.Dir(), "kubectl-cache"),
	}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// towline runs a command line and returns what it printed and its exit code.
func (s *stage) towline(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, *program, append(args, "--kubeconfig", s.plane.Kubeconfig(), "--namespace", control)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return "", "", 0, fmt.Errorf("running towline %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode(), nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readyLog keeps what towline says and tells when it is ready.
type readyLog struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	once  sync.Once
	ready chan struct{}
}

func newReadyLog() *readyLog { return &readyLog{ready: make(chan struct{})} }

// Write keeps a line.
func (l *readyLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(p, []byte("msg=ready")) {
		l.once.Do(func() { close(l.ready) })
	}
	return l.buf.Write(p)
}

func (l *readyLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *readyLog) has(word string) bool { return strings.Contains(l.String(), word) }

// about are the lines that name something.
func (l *readyLog) about(word string) string {
	var b strings.Builder
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, word) {
			b.WriteString(line)
		}
	}
	return b.String()
}
