// Command dev is the whole thing on a laptop: a real control plane, a git
// server with a sample repository, and towline following it. It runs until
// Ctrl-C and leaves nothing behind. It must not be needed by anything else.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

//go:embed sample
var sample embed.FS

// placeholder stands in the sample for the address of its repository.
const placeholder = "REPOSITORY"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "towline-dev-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &dev{dir: dir, out: os.Stdout, example: os.Getenv("EXAMPLE")}
	defer func() { err = errors.Join(err, d.stop()) }()
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"building the web UI", d.buildPages},
		{"building towline", d.buildTowline},
		{"building the control plane (once, then it is cached)", d.buildPlane},
		{"starting Kubernetes", d.startPlane},
		{"starting a git server with a sample repository", d.startGit},
		{"applying config/install/cluster", d.install},
		{"starting towline", d.startTowline},
		{"applying the root application and waiting for all that follows from it", d.applyRoot},
	}
	for _, s := range steps {
		fmt.Fprintf(d.out, "• %s … ", s.title)
		start := time.Now()
		if err := s.do(ctx); err != nil {
			fmt.Fprintln(d.out)
			return fmt.Errorf("%s: %w", s.title, err)
		}
		fmt.Fprintf(d.out, "%.1fs\n", time.Since(start).Seconds())
	}
	d.explain()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out, "\nStopping; nothing is left behind.")
		return nil
	case err := <-d.ended:
		return fmt.Errorf("towline ended: %w; its log was:\n%s", err, d.tail())
	}
}

// dev is what runs.
type dev struct {
	dir     string
	out     io.Writer
	plane   *controlplane.Plane
	git     *gitserver.Server
	towline *exec.Cmd
	ended   chan error
	// page is where the server answers, for browsers and the command line.
	page string
	// example is the folder of examples/ that is played; empty is the sample. plays ends its controllers.
	example string
	plays   func()
}

func (d *dev) path(name ...string) string { return filepath.Join(append([]string{d.dir}, name...)...) }

// buildPages has towline carry the web UI, where Node.js is there to build it. Nothing else needs it.
func (d *dev) buildPages(ctx context.Context) error {
	if why := lacksNode(ctx); why != "" {
		fmt.Fprintf(d.out, "not today: %s, and it needs Node.js %d; all else goes on … ", why, nodeWanted)
		return nil
	}
	if err := d.command(ctx, "make", "--no-print-directory", "ui"); err != nil {
		fmt.Fprintf(d.out, "not today: %v\n", err)
	}
	return ctx.Err()
}

// nodeWanted is the oldest Node.js that builds the web UI. Distributions have older ones.
const nodeWanted = 20

// lacksNode says why the web UI cannot be built; empty if it can.
func lacksNode(ctx context.Context) string {
	if _, err := exec.LookPath("npm"); err != nil {
		return "there is no npm"
	}
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, bad := strconv.Atoi(major); err != nil || bad != nil || n < nodeWanted {
		return strings.TrimSpace("node is " + version)
	}
	return ""
}

func (d *dev) buildTowline(ctx context.Context) error {
	p := controlplane.NewProgress(&nested{out: d.out})
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-o", d.path("bin", "towline"), "./cmd/towline")
	cmd.Stdout, cmd.Stderr = p, p
	return p.Failed(cmd.Run())
}

func (d *dev) buildPlane(ctx context.Context) error {
	_, err := controlplane.Build(ctx, &nested{out: d.out})
	return err
}

// nested is what a step says below its title.
type nested struct {
	out   io.Writer
	began bool
}

func (n *nested) Write(text []byte) (int, error) {
	if !n.began {
		n.began = true
		fmt.Fprintln(n.out)
	}
	return n.out.Write(text)
}

func (d *dev) startPlane(ctx context.Context) (err error) {
	forwards, err := d.choosePage(ctx)
	if err != nil {
		return err
	}
	d.plane, err = controlplane.Start(ctx, controlplane.Options{
		Name: "towline-dev", Dir: d.path("cluster"), Nodes: 2, KwokConfig: []string{forwards},
	})
	if err != nil {
		return err
	}
	return os.Symlink(d.plane.Kubectl(), d.path("bin", "kubectl"))
}

// choosePage chooses where the server answers, and writes down that the port of its pod leads there: nodes run nothing here.
func (d *dev) choosePage(ctx context.Context) (forwards string, err error) {
	// A port that is free now: 8080 is often taken, and nobody but this machine has any business here.
	free, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d.page = free.Addr().String()
	if err := free.Close(); err != nil {
		return "", err
	}
	forwards = d.path("forwards.yaml")
	_, port, err := net.SplitHostPort(d.page)
	if err != nil {
		return "", err
	}
	return forwards, os.WriteFile(forwards, fmt.Appendf(nil, `apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata: {name: api}
spec: {forwards: [{ports: [8080], target: {address: 127.0.0.1, port: %s}}]}
`, port), 0o600)
}

func (d *dev) startGit(context.Context) (err error) {
	if d.git, err = gitserver.Start(d.path("git")); err != nil {
		return err
	}
	if d.example != "" {
		return nil
	}
	files, err := d.sampleFiles()
	if err != nil {
		return err
	}
	return d.git.Create("demo", files)
}

// sampleFiles are the sample with the repository's address in place.
func (d *dev) sampleFiles() (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(sample, "sample", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := sample.ReadFile(path)
		files[strings.TrimPrefix(path, "sample/")] = strings.ReplaceAll(string(data), placeholder, d.git.URL("demo"))
		return err
	})
	return files, err
}

func (d *dev) install(ctx context.Context) error {
	if err := d.kubectl(ctx, nil, "apply", "-k", "config/install/cluster"); err != nil {
		return err
	}
	crds := []string{"crd/applications.argoproj.io", "crd/applicationsets.argoproj.io", "crd/appprojects.argoproj.io"}
	return d.kubectl(ctx, nil, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, crds...)...)
}

func (d *dev) startTowline(context.Context) error {
	log, err := os.Create(d.path("towline.log"))
	if err != nil {
		return err
	}
	// Not bound to the context: it is asked to end, not killed.
	d.towline = exec.CommandContext(context.Background(), d.path("bin", "towline"), "run",
		"--kubeconfig", d.plane.Kubeconfig(), "--data", d.path("data"), "--listen", d.page,
		"--metrics-address", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0")
	d.towline.Stderr = log
	d.towline.SysProcAttr = dieWithParent()
	if err := d.towline.Start(); err != nil {
		return err
	}
	d.ended = make(chan error, 1)
	go func() { d.ended <- d.towline.Wait() }()
	return nil
}

func (d *dev) applyRoot(ctx context.Context) error {
	if d.example != "" {
		return d.playExample(ctx)
	}
	files, err := d.sampleFiles()
	if err != nil {
		return err
	}
	if err := d.kubectl(ctx, strings.NewReader(files["root.yaml"]), "apply", "-f", "-"); err != nil {
		return err
	}
	// root makes the others, so they can be waited for only after it.
	for _, app := range []string{"root", "cache", "web"} {
		err := d.command(ctx, d.path("bin", "towline"), "app", "wait", app, "--timeout", "120", "--kubeconfig", d.plane.Kubeconfig())
		if err != nil {
			return err
		}
	}
	return nil
}

// explain says what to try next.
func (d *dev) explain() {
	if d.example != "" {
		d.explainExample()
		return
	}
	fmt.Fprintf(d.out, `
Towline follows %[1]s. In another terminal:

  export KUBECONFIG=%[2]s PATH=%[3]s:$PATH
  towline app list
  towline app get web

In a browser: https://%[6]s as admin (its certificate is made at each start), with the password of

  towline admin initial-password

Change something in Git, and see it arrive:

  git clone %[1]s %[4]s && cd %[4]s
  sed -i.bak s/blue/green/ workloads/web/settings.yaml && rm workloads/web/*.bak
  git -c user.name=me -c user.email=me@example.com commit -am "Go green" && git push
  towline app get web --refresh      # or wait: Git is looked at every two to three minutes
  kubectl -n web get configmap settings -o jsonpath='{.data.colour}{"\n"}'

Change something in the cluster, and see it healed:

  kubectl -n web scale deployment web --replicas=1
  kubectl -n web delete configmap settings
  towline app get web

Towline's log is %[5]s. Ctrl-C stops everything and leaves nothing behind.
`, d.git.URL("demo"), d.plane.Kubeconfig(), d.path("bin"), d.path("demo"), d.path("towline.log"), d.page)
}

func (d *dev) stop() error {
	var errs []error
	if d.plays != nil {
		d.plays()
	}
	if d.towline != nil && d.towline.Process != nil {
		_ = d.towline.Process.Signal(os.Interrupt)
		select {
		case <-d.ended:
		case <-time.After(10 * time.Second):
			errs = append(errs, d.towline.Process.Kill())
		}
	}
	if d.git != nil {
		errs = append(errs, d.git.Close())
	}
	if d.plane != nil {
		errs = append(errs, d.plane.Stop())
	}
	return errors.Join(errs...)
}

func (d *dev) tail() string {
	data, err := os.ReadFile(d.path("towline.log"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-2000):])
}

func (d *dev) kubectl(ctx context.Context, stdin io.Reader, args ...string) error {
	return d.input(ctx, stdin, d.plane.Kubectl(), append([]string{"--kubeconfig", d.plane.Kubeconfig()}, args...)...)
}

func (d *dev) command(ctx context.Context, name string, args ...string) error {
	return d.input(ctx, nil, name, args...)
}

// input runs a program quietly; what it said is in the error.
func (d *dev) input(ctx context.Context, stdin io.Reader, name string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out.String())
	}
	return nil
}
