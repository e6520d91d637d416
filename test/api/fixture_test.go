package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/test/workshop"
)

// patience is how long a test waits for anything; everything is awaited, so it costs nothing.
const patience = 90 * time.Second

var installing sync.Mutex

// stage is an installation of its own with a towline process that serves.
type stage struct {
	*testing.T
	plane         *controlplane.Plane
	git           *gitserver.Server
	hub           *hub.Client
	control, dest string
	log           *journal
	base          string
	client        *http.Client
	// token is that of the administrator.
	token string
	// pid is of the process that serves, and stop ends it.
	pid  int
	stop func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := bareStage(t, strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")))
	s.install()
	s.settle()
	return s
}

// bareStage has a place for an installation, and nothing of it yet.
func bareStage(t *testing.T, name string) *stage {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane; run without -short")
	}
	t.Parallel()
	plane := controlplane.Shared(t)
	s := &stage{
		T: t, plane: plane, git: gitserver.New(t), control: name, dest: name + "-dest", log: newJournal(),
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // the certificate is made at each start
		}},
	}
	config, err := plane.RESTConfig()
	s.must(err)
	s.hub, err = hub.New(config, s.control)
	s.must(err)
	return s
}

// install makes the CRDs. The tests stand beside each other, and two who make the same one at once are in each other's way.
func (s *stage) install() {
	s.Helper()
	installing.Lock()
	defer installing.Unlock()
	s.kubectl("", "apply", "-k", filepath.Join(workshop.Root(), "config", "crd"))
	s.established()
}

func (s *stage) established() {
	s.Helper()
	s.kubectl("", "wait", "--for=condition=Established", "--timeout=60s", "crd/applications.argoproj.io", "crd/applicationsets.argoproj.io",
		"crd/appprojects.argoproj.io")
}

// settle makes the namespaces and the settings.
func (s *stage) settle() {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Namespace
metadata: {name: %[2]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: %[1]s}
data:
  installationID: %[1]s
  accounts.dev: login, apiKey
  application.links: |
    - {title: Dashboard, url: "https://grafana.example.com/{{.metadata.name}}", icon.class: fa-chart}
    - {title: Bad, url: "javascript:alert(1)"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm, namespace: %[1]s}
data:
  policy.csv: |
    p, role:web, applications, get, web/*, allow
    p, role:web, logs, get, web/*, allow
    p, role:web, projects, get, web, allow
    g, dev, role:web
`, s.control, s.dest))
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) kubectl(stdin string, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.plane.Kubectl(), append([]string{"--kubeconfig", s.plane.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// apply does so as people do, with a record of it in an annotation.
func (s *stage) apply(manifest string) { s.Helper(); s.kubectl(manifest, "apply", "-f", "-") }

// start runs towline and signs in.
func (s *stage) start(flags ...string) {
	s.Helper()
	s.run(flags...)
	s.token = s.login("admin", s.initialPassword())
}

// run runs towline until the test is over, or until it is stopped.
func (s *stage) run(flags ...string) {
	s.Helper()
	kubeconfig, err := s.plane.KubeconfigFor("towline-"+s.control, "system:masters")
	s.must(err)
	cmd := exec.CommandContext(context.Background(), binary, append([]string{
		"run", "--kubeconfig", kubeconfig, "--namespace", s.control, "--data", s.TempDir(), "--log-level", "debug",
		"--metrics-address", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0",
	}, flags...)...)
	cmd.Stderr = s.log
	cmd.SysProcAttr = workshop.Bound()
	s.must(cmd.Start())
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("towline's log:\n%s", s.log.String())
		}
	})
	s.pid, s.stop = cmd.Process.Pid, sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			s.Errorf("towline ended with %v", err)
		}
	})
	s.Cleanup(s.stop)
	found := s.log.await(s.T, regexp.MustCompile(`msg="serving the API" address=(\S+) tls=(\w+)`))
	scheme := "https://"
	if found[2] == "false" {
		scheme = "http://"
	}
	s.base = scheme + found[1]
	s.log.await(s.T, regexp.MustCompile(`msg=ready`))
}

// initialPassword is that which was made at the first start.
func (s *stage) initialPassword() string {
	s.Helper()
	return s.kubectl("", "-n", s.control, "get", "secret", v1alpha1.SecretInitialAdmin, "-o",
		`go-template={{.data.password | base64decode}}`)
}

func (s *stage) login(name, password string) string {
	s.Helper()
	body, err := json.Marshal(map[string]string{"username": name, "password": password})
	s.must(err)
	code, answer := s.ask(http.MethodPost, "/api/v1/session", "", string(body))
	for until := time.Now().Add(patience); code == http.StatusServiceUnavailable && time.Now().Before(until); {
		// The key that tokens are signed with was only just made.
		time.Sleep(50 * time.Millisecond)
		code, answer = s.ask(http.MethodPost, "/api/v1/session", "", string(body))
	}
	var session struct{ Token string }
	if code != http.StatusOK || json.Unmarshal(answer, &session) != nil || session.Token == "" {
		s.Fatalf("signing in as %s: %d %s", name, code, answer)
	}
	return session.Token
}

// ask sends a request.
func (s *stage) ask(method, path, token, body string) (code int, answer []byte) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	s.must(err)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(r)
	s.must(err)
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	s.must(err)
	return response.StatusCode, answer
}

// get asks as the administrator and expects an answer.
func (s *stage) get(path string) []byte {
	s.Helper()
	code, answer := s.ask(http.MethodGet, path, s.token, "")
	if code != http.StatusOK {
		s.Fatalf("GET %s: %d %s", path, code, answer)
	}
	return answer
}

// await watches an Application until it is synced and healthy.
func (s *stage) await(name string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	var last *v1alpha1.Application
	for ctx.Err() == nil {
		w, err := s.hub.WatchApplications(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
		s.must(err)
		for ev := range w.ResultChan() {
			app, ok := ev.Object.(*v1alpha1.Application)
			if !ok {
				break
			}
			last = app
			if app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Health.Status == v1alpha1.HealthStatusHealthy &&
				app.Status.OperationState != nil && app.Status.OperationState.Phase == v1alpha1.OperationSucceeded {
				w.Stop()
				return
			}
		}
		w.Stop()
	}
	s.Fatalf("application %s did not become synced and healthy: %+v", name, last.Status)
}

// journal is a log that can be awaited.
type journal struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	lines chan struct{}
}

func newJournal() *journal { return &journal{lines: make(chan struct{})} }

// Write keeps what is written and tells whoever waits.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf.Write(p)
	close(j.lines)
	j.lines = make(chan struct{})
	return len(p), nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// await waits for a line.
func (j *journal) await(t *testing.T, line *regexp.Regexp) []string {
	t.Helper()
	late := time.After(patience)
	for {
		j.mu.Lock()
		found, more := line.FindStringSubmatch(j.buf.String()), j.lines
		j.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("towline did not say %s; it said:\n%s", line, j.String())
		}
	}
}
