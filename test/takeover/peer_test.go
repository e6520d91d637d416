package takeover_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/test/workshop"
)

// process is a program that is started and stopped.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
}

// begin starts a program of Argo CD, of Redis or of ours.
func (s *stage) begin(name string, environment []string, argv ...string) *process {
	s.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	p := &process{name: name, log: log, cmd: exec.CommandContext(context.Background(), argv[0], argv[1:]...)}
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, workshop.Bound()
	s.must(p.cmd.Start())
	return p
}

func (p *process) end() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
	_ = p.log.Close()
}

// port is one that is free now.
func (s *stage) port() string {
	s.Helper()
	port, err := workshop.Port(s.Context())
	s.must(err)
	return port
}

// peer is the Argo CD: its processes run while the workloads that stand for them
// have replicas, as pods would.
type peer struct {
	*stage
	binary, kubeconfig string
	redis, repo        string

	mu       sync.Mutex
	running  map[string]*process
	argv     map[string][]string
	answers  []*process
	shutDown bool
}

// environment is what all of Argo CD's programs get.
func (p *peer) environment(name string) []string {
	// Argo CD keeps a script of its own for looking at signatures beside its binary.
	path := filepath.Dir(p.binary) + string(os.PathListSeparator) + os.Getenv("PATH")
	if tools := os.Getenv(envTools); tools != "" {
		path = tools + string(os.PathListSeparator) + path
	}
	return []string{
		"ARGOCD_BINARY_NAME=" + name, "PATH=" + path, "KUBECONFIG=" + p.kubeconfig, "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + filepath.Join(p.dir, "tls"), "ARGOCD_SSH_DATA_PATH=" + filepath.Join(p.dir, "ssh"),
		"ARGOCD_FAKE_IN_CLUSTER=true", "HELM_CACHE_HOME=" + filepath.Join(p.dir, "helm"), "HELM_CONFIG_HOME=" + filepath.Join(p.dir, "helm"),
		"HELM_DATA_HOME=" + filepath.Join(p.dir, "helm"), "GNUPGHOME=" + p.dir,
	}
}

// newPeer starts what answers, and lets the rest follow its workloads.
func newPeer(s *stage) *peer {
	s.Helper()
	p := &peer{stage: s, binary: os.Getenv(envPeer), running: map[string]*process{}, argv: map[string][]string{}}
	var err error
	p.kubeconfig, err = s.plane.KubeconfigFor(userTheirs, "system:masters")
	s.must(err)
	redis, repo := s.port(), s.port()
	p.redis, p.repo = "127.0.0.1:"+redis, "127.0.0.1:"+repo
	p.answers = append(p.answers,
		s.begin("redis", nil, "redis-server", "--port", redis, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir),
		s.begin("repo-server", p.environment("argocd-repo-server"), p.binary,
			"--address", "127.0.0.1", "--port", repo, "--metrics-port", s.port(), "--redis", p.redis, "--disable-tls", "--client-ca-path", "",
			"--loglevel", "warn"))
	common := []string{"--kubeconfig", p.kubeconfig, "--namespace", s.control, "--loglevel", "info"}
	p.argv["argocd-application-controller"] = append([]string{
		p.binary, "--repo-server", p.repo, "--repo-server-plaintext", "--redis", p.redis, "--metrics-port", s.port(),
	}, common...)
	p.argv["argocd-applicationset-controller"] = append([]string{
		p.binary, "--argocd-repo-server", p.repo, "--repo-server-plaintext", "--metrics-addr", "127.0.0.1:" + s.port(),
		"--probe-addr", "127.0.0.1:" + s.port(), "--webhook-addr", "127.0.0.1:" + s.port(),
	}, common...)
	s.Cleanup(p.close)
	p.follow()
	return p
}

// follow starts and stops programs as their workloads say.
func (p *peer) follow() {
	factory := informers.NewSharedInformerFactoryWithOptions(p.kube, 0, informers.WithNamespace(p.control))
	see := func(o any) {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			p.set(o.Name, o.Spec.Replicas)
		case *appsv1.Deployment:
			p.set(o.Name, o.Spec.Replicas)
		}
	}
	for _, i := range []cache.SharedIndexInformer{factory.Apps().V1().StatefulSets().Informer(), factory.Apps().V1().Deployments().Informer()} {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }})
		p.must(err)
		go i.RunWithContext(p.Context())
	}
}

func (p *peer) set(name string, replicas *int32) {
	argv := p.argv[name]
	if argv == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	want := (replicas == nil || *replicas > 0) && !p.shutDown
	switch {
	case want && p.running[name] == nil:
		p.running[name] = p.begin(name, p.environment(name), argv...)
	case !want && p.running[name] != nil:
		p.running[name].end()
		delete(p.running, name)
	}
}

func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shutDown = true
	for _, r := range p.running {
		r.end()
	}
	for _, a := range p.answers {
		a.end()
	}
	if p.Failed() {
		for _, name := range []string{"argocd-application-controller", "repo-server", "argocd-applicationset-controller", "towline"} {
			text, err := os.ReadFile(filepath.Join(p.dir, name+".log"))
			if err == nil {
				p.Logf("the end of the log of %s:\n%s", name, text[max(0, len(text)-4000):])
			}
		}
	}
}

// install puts down what an installation of Argo CD has besides its programs.
func (s *stage) install() {
	s.Helper()
	s.kubectl("", "apply", "-k", filepath.Join(workshop.Root(), "config", "crd"))
	s.kubectl("", "wait", "--for=condition=Established", "--timeout=60s", "crd/applications.argoproj.io", "crd/applicationsets.argoproj.io",
		"crd/appprojects.argoproj.io")
	workload := func(kind, name, more string) string {
		return fmt.Sprintf(`---
apiVersion: apps/v1
kind: %s
metadata: {name: %s, namespace: %s, labels: {app.kubernetes.io/part-of: argocd}}
spec:
  replicas: 1
  %s
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec: {containers: [{name: c, image: "quay.io/argoproj/argocd:v3.5.6"}]}
`, kind, name, s.control, more, name, name)
	}
	s.kubectl(fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
data:
  resource.customizations.health.argoproj.io_Application: |
    hs = {}
    hs.status = "Progressing"
    hs.message = ""
    if obj.status ~= nil and obj.status.health ~= nil then
      hs.status = obj.status.health.status
    end
    return hs
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: a-key-for-a-test-only}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: %[1]s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`, s.control)+workload("StatefulSet", "argocd-application-controller", "serviceName: x")+
		workload("Deployment", "argocd-applicationset-controller", "")+workload("Deployment", "argocd-notifications-controller", ""),
		"apply", "-f", "-")
}

func (s *stage) kubectl(stdin string, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.plane.Kubectl(), append([]string{"--kubeconfig", s.plane.Kubeconfig()}, args...)...)
	cmd.Stdin = bytes.NewReader([]byte(stdin))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// refresh asks whoever acts to look at every application again, and waits until
// it has.
func (s *stage) refresh() {
	s.Helper()
	s.kubectl("", "annotate", "applications.argoproj.io", "--all", "-n", s.control, "argocd.argoproj.io/refresh=normal", "--overwrite")
	s.until("every application was looked at", func() string {
		list, err := s.hub.Applications(s.Context(), metav1.ListOptions{})
		s.must(err)
		left := 0
		for i := range list.Items {
			if list.Items[i].Annotations["argocd.argoproj.io/refresh"] != "" {
				left++
			}
		}
		if left > 0 {
			return fmt.Sprintf("%d are left", left)
		}
		return ""
	})
}
