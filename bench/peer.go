package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// peer is another program that does the same job, as plain processes on the
// same control plane: its controller, its repository server and a Redis. Its
// binary is given; nothing of it is in this repository.
type peer struct {
	dir   string
	parts []*exec.Cmd
	// environment is that of all of them.
	environment []string
	// ended gets a word of each that has ended.
	ended chan error
}

// peerParts is how many processes it is.
const peerParts = 3

// peerUser is who the peer is to the API server.
const peerUser = "bench-peer"

// byPeer has the peer do a bootstrap.
func (s *bootstrap) byPeer(ctx context.Context) (out spent, err error) {
	if err := s.peerSettings(ctx); err != nil {
		return out, err
	}
	if err := s.applications(ctx, s.scale.apps, controlNamespace, bootOf); err != nil {
		return out, err
	}
	window, err := openWindow(ctx, s.plane)
	if err != nil {
		return out, err
	}
	start := time.Now()
	p, err := s.startPeer(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	at, err := p.await(ctx, func(ctx context.Context) (time.Time, error) { return awaitSynced(ctx, s.client, s.scale.apps) })
	if err != nil {
		return out, err
	}
	out.Wall = at.Sub(start).Seconds()
	for _, part := range p.parts {
		cpu, err := treeCPU(part.Process.Pid)
		if err != nil {
			return out, err
		}
		_, peak, err := resident(part.Process.Pid)
		if err != nil {
			return out, err
		}
		out.CPU, out.Peak = out.CPU+cpu, out.Peak+peak
	}
	if err := out.count(ctx, window, peerUser); err != nil {
		return out, err
	}
	return out, s.clear(ctx, s.scale.apps, controlNamespace, bootOf)
}

// await waits for something that the peer does, as long as all of it is alive.
func (p *peer) await(ctx context.Context, what func(context.Context) (time.Time, error)) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Hour, errors.New("the peer was not done after an hour"))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case err := <-p.ended:
			stop(err)
		case <-done:
			stop(nil)
		}
	}()
	return what(ctx)
}

var peerMaps = []string{
	"argocd-cm", "argocd-cmd-params-cm", "argocd-rbac-cm", "argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm", "argocd-gpg-keys-cm",
}

// peerSettings are the config maps and secrets that the peer does not start
// without, and the project that it does not make for itself.
func (s *bootstrap) peerSettings(ctx context.Context) error {
	marked := map[string]any{"app.kubernetes.io/part-of": "argocd"}
	for _, name := range peerMaps {
		if err := create(ctx, inNamespace(s.client, controlNamespace), map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "labels": marked},
		}); err != nil {
			return err
		}
	}
	for _, name := range []string{"argocd-secret", "argocd-redis"} {
		if err := create(ctx, s.client.Resource(secretKind).Namespace(controlNamespace), map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "labels": marked},
			"stringData": map[string]any{"server.secretkey": "only for a measurement"},
		}); err != nil {
			return err
		}
	}
	projects := appKind
	projects.Resource = "appprojects"
	_, err := s.client.Resource(projects).Namespace(controlNamespace).Get(ctx, v1alpha1.DefaultProjectName, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	return create(ctx, s.client.Resource(projects).Namespace(controlNamespace), map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": "AppProject",
		"metadata": map[string]any{"name": v1alpha1.DefaultProjectName},
		"spec": map[string]any{
			"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
		},
	})
}

// startPeer starts the three processes.
func (s *bootstrap) startPeer(ctx context.Context) (p *peer, err error) {
	p = &peer{ended: make(chan error, peerParts)}
	if p.dir, err = os.MkdirTemp("", "towline-bench-peer-"); err != nil {
		return nil, fmt.Errorf("making a folder for the peer: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.end())
		}
	}()
	kubeconfig, err := s.plane.KubeconfigFor(peerUser, masters)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 4)
	if err != nil {
		return nil, err
	}
	// Scripts that it calls are looked for beside its binary.
	p.environment = append(os.Environ(),
		"ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+kubeconfig, "HOME="+p.dir, "TMPDIR="+p.dir, "ARGOCD_GNUPGHOME="+p.dir,
		"GNUPGHOME="+p.dir, "ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH="+p.dir, "ARGOCD_SSH_DATA_PATH="+p.dir,
		"ARGOCD_PLUGINSOCKFILEPATH="+p.dir, "PATH="+filepath.Dir(s.argocd)+":"+os.Getenv("PATH"))
	redis := "127.0.0.1:" + ports[0]
	for _, program := range []struct {
		path, name string
		args       []string
	}{
		{"redis-server", "", []string{"--port", ports[0], "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", p.dir}},
		{s.argocd, "argocd-repo-server", []string{
			"--redis", redis, "--address", "127.0.0.1", "--port", ports[1], "--metrics-address", "127.0.0.1", "--metrics-port", ports[2],
		}},
		{s.argocd, "argocd-application-controller", []string{
			"--redis", redis, "--kubeconfig", kubeconfig, "--namespace", controlNamespace, "--repo-server", "127.0.0.1:" + ports[1],
			"--metrics-port", ports[3],
		}},
	} {
		if err := p.start(ctx, program.path, program.name, program.args); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// start starts one of the processes. Which one it is the binary knows by its
// name; its words go to a file.
func (p *peer) start(ctx context.Context, path, name string, args []string) error {
	log, err := os.Create(filepath.Join(p.dir, strconv.Itoa(len(p.parts))+".log"))
	if err != nil {
		return fmt.Errorf("starting a peer: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.Env = append(slices.Clone(p.environment), "ARGOCD_BINARY_NAME="+name)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s %s: %w", path, name, err)
	}
	p.parts = append(p.parts, cmd)
	go func() {
		err := cmd.Wait()
		said, _ := os.ReadFile(log.Name())
		p.ended <- fmt.Errorf("%s %s has ended: %w: %s", path, name, err, said[max(0, len(said)-1000):])
	}()
	return nil
}

// end stops what was started.
func (p *peer) end() error {
	for _, part := range p.parts {
		_ = part.Process.Kill()
	}
	// What they still write goes with the folder.
	time.Sleep(time.Second)
	return os.RemoveAll(p.dir)
}

// freePorts are such as nobody listens on.
func freePorts(ctx context.Context, n int) ([]string, error) {
	var out []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer func() { _ = l.Close() }()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		out = append(out, port)
	}
	return out, nil
}
