// Command stage starts what the tests of the web UI look at: a real control plane, a git server with a shop in it, and
// towline. It says on one line of JSON where everything is, and ends with its standard input. It must not be needed by
// anything but the browser's tests and screenshots.
package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/test/workshop"
)

//go:embed world
var world embed.FS

// placeholder stands in the world for the address of its repository.
const placeholder = "REPOSITORY"

// control is the namespace of the installation.
const control = "argocd"

// patience is how long anything may take to come up.
const patience = 2 * time.Minute

// place is where everything is, for whoever started the stage.
type place struct {
	URL        string `json:"url"`
	Username   string `json:"username"`
	Password   string `json:"password"`
	Kubectl    string `json:"kubectl"`
	Kubeconfig string `json:"kubeconfig"`
	Repository string `json:"repository"`
	Log        string `json:"log"`
	// Server is the cluster by another name, for those who want to add one.
	Server string `json:"server"`
	// SSO says that people can also sign in by a Dex that runs beside.
	SSO bool `json:"sso"`
}

func main() {
	binary := flag.String("towline", "", "the program; it is built without")
	small := flag.Int("small", 24, "how many small applications there are besides")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := run(ctx, *binary, *small); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1) //nolint:forbidigo // this is a program, whatever its folder
	}
}

func run(ctx context.Context, binary string, small int) (err error) {
	dir, err := os.MkdirTemp("", "towline-ui-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{dir: dir, binary: binary, small: small}
	defer func() { err = errors.Join(err, s.stop()) }()
	for _, step := range []func(context.Context) error{
		s.build, s.startPlane, s.startGit, s.install, s.chooseDex, s.startTowline, s.startDex, s.people, s.furnish,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.place); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return fmt.Errorf("towline ended: %w", err)
	}
}

// stage is what runs.
type stage struct {
	place
	dir, binary string
	small       int
	plane       *controlplane.Plane
	git         *gitserver.Server
	towline     *exec.Cmd
	ended       chan error
	dex         dex
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) build(ctx context.Context) (err error) {
	if s.binary != "" {
		return nil
	}
	s.binary, err = workshop.Towline(ctx, s.dir)
	return err
}

func (s *stage) startPlane(ctx context.Context) (err error) {
	logs, err := s.podLogs()
	if err != nil {
		return err
	}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Name: "towline-ui", Dir: s.path("cluster"), Nodes: 3, KwokConfig: []string{logs},
	})
	if err == nil {
		s.Kubectl, s.Kubeconfig = s.plane.Kubectl(), s.plane.Kubeconfig()
		s.Server = strings.Replace(s.plane.Server(), "127.0.0.1", "localhost", 1)
	}
	return err
}

// podLogs has all pods write the same lines; nothing runs in them.
func (s *stage) podLogs() (config string, err error) {
	var lines strings.Builder
	for i, text := range []string{
		"listening on :8080", "connected to the database", "GET /cart 200 3ms", "GET /cart 200 2ms", "warning: the cache is cold",
		"GET /checkout 200 21ms", "POST /orders 201 34ms", "GET /cart 500 1ms: no session",
	} {
		fmt.Fprintf(&lines, "2026-01-02T15:04:%02d.000000000Z stdout F %s\n", i, text)
	}
	if err := os.WriteFile(s.path("pod.log"), []byte(lines.String()), 0o600); err != nil {
		return "", err
	}
	object := "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterLogs\nmetadata: {name: all}\n" +
		"spec: {logs: [{logsFile: " + s.path("pod.log") + ", follow: true}]}\n"
	return s.path("logs.yaml"), os.WriteFile(s.path("logs.yaml"), []byte(object), 0o600)
}

func (s *stage) startGit(context.Context) (err error) {
	if s.git, err = gitserver.Start(s.path("git")); err != nil {
		return err
	}
	s.Repository = s.git.URL("shop")
	files := map[string]string{}
	err = fs.WalkDir(world, "world/repo", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := world.ReadFile(path)
		files[strings.TrimPrefix(path, "world/repo/")] = strings.ReplaceAll(string(data), placeholder, s.Repository)
		return err
	})
	if err != nil {
		return err
	}
	return s.git.Create("shop", files)
}

func (s *stage) install(ctx context.Context) error {
	if _, err := s.kubectl(ctx, "", "apply", "-k", "config/crd"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=60s", "crd/applications.argoproj.io",
		"crd/applicationsets.argoproj.io", "crd/appprojects.argoproj.io"); err != nil {
		return err
	}
	settings, err := world.ReadFile("world/settings.yaml")
	if err != nil {
		return err
	}
	_, err = s.kubectl(ctx, string(settings), "apply", "-f", "-")
	return err
}

var (
	serving = regexp.MustCompile(`msg="serving the API" address=(\S+)`)
	ready   = regexp.MustCompile(`msg=ready`)
)

func (s *stage) startTowline(ctx context.Context) error {
	s.Log = s.path("towline.log")
	log, err := os.Create(s.Log)
	if err != nil {
		return err
	}
	// Not bound to the context: it is asked to end, not killed.
	s.towline = exec.CommandContext(context.Background(), s.binary, "run", "--kubeconfig", s.Kubeconfig, "--data", s.path("data"),
		"--listen", "127.0.0.1:0", "--insecure", "--metrics-address", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0")
	s.towline.Stderr, s.towline.SysProcAttr = log, workshop.Bound()
	if err := s.towline.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.towline.Wait() }()
	address, err := s.said(ctx, serving)
	if err != nil {
		return err
	}
	s.URL = "http://" + address[1]
	_, err = s.said(ctx, ready)
	return err
}

// said waits until the log says something.
func (s *stage) said(ctx context.Context, what *regexp.Regexp) ([]string, error) {
	for until := time.Now().Add(patience); time.Now().Before(until); {
		data, err := os.ReadFile(s.Log)
		if err != nil {
			return nil, err
		}
		if found := what.FindStringSubmatch(string(data)); found != nil {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-s.ended:
			return nil, fmt.Errorf("towline ended: %w\n%s", err, data)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("towline did not say %s", what)
}

// people finds out how to sign in.
func (s *stage) people(ctx context.Context) (err error) {
	s.Username = "admin"
	s.Password, err = s.kubectl(ctx, "", "-n", control, "get", "secret", "argocd-initial-admin-secret", "-o",
		"go-template={{.data.password | base64decode}}")
	return err
}

// furnish makes the applications and waits until those that sync themselves have.
func (s *stage) furnish(ctx context.Context) error {
	text, err := world.ReadFile("world/apps.yaml")
	if err != nil {
		return err
	}
	all := strings.ReplaceAll(string(text), placeholder, s.Repository) + s.smallOnes()
	if _, err := s.kubectl(ctx, all, "apply", "-f", "-"); err != nil {
		return err
	}
	for _, app := range []string{"storefront", "checkout", "catalog", "mailer"} {
		if _, err := s.kubectl(ctx, "", "-n", control, "wait", "--for=jsonpath={.status.sync.status}=Synced", "--timeout=120s",
			"application/"+app); err != nil {
			return err
		}
	}
	return nil
}

// smallOnes fill the list.
func (s *stage) smallOnes() string {
	teams, regions := []string{"shop", "platform", "data"}, []string{"north", "south", "east"}
	var b strings.Builder
	for i := range s.small {
		team, region := teams[i%len(teams)], regions[i/len(teams)%len(regions)]
		fmt.Fprintf(&b, `
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %[1]s-%[2]s-%02[3]d
  namespace: %[4]s
  labels: {team: %[1]s, region: %[2]s}
spec:
  project: %[1]s
  destination: {server: "https://kubernetes.default.svc", namespace: small-%[2]s}
  source:
    repoURL: %[5]s
    path: small
    targetRevision: main
    kustomize: {nameSuffix: "-%02[3]d"}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
`, team, region, i, control, s.Repository)
	}
	return b.String()
}

func (s *stage) stop() error {
	var errs []error
	if s.towline != nil && s.towline.Process != nil {
		_ = s.towline.Process.Signal(os.Interrupt)
		select {
		case <-s.ended:
		case <-time.After(15 * time.Second):
			errs = append(errs, s.towline.Process.Kill())
		}
	}
	s.dex.stop()
	if s.git != nil {
		errs = append(errs, s.git.Close())
	}
	if s.plane != nil {
		errs = append(errs, s.plane.Stop())
	}
	return errors.Join(errs...)
}

func (s *stage) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	return s.command(ctx, stdin, s.plane.Kubectl(), append([]string{"--kubeconfig", s.plane.Kubeconfig()}, args...)...)
}

// command runs a program quietly; what it said is in the error.
func (s *stage) command(ctx context.Context, stdin, name string, args ...string) (string, error) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String(), nil
}
