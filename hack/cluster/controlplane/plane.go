package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Options say what cluster to start. The zero value is a small, fast one for tests.
type Options struct {
	// Name is the cluster's name in kubeconfigs and messages; "towline" if empty.
	Name string
	// Dir keeps the data, keys and logs. Empty means a temporary folder that Stop removes (unless TOWLINE_KEEP=1).
	// A folder that an earlier cluster left is started again with its objects.
	Dir string
	// Nodes is the number of fake nodes; 0 means one, a negative number none.
	Nodes int
	// Audit turns the audit log on.
	Audit AuditLevel
	// Fsync makes etcd's writes safe against a crash of the machine. Leave it off for speed, never for fault runs.
	Fsync bool
	// APIServerArgs and EtcdArgs are further arguments, as "key=value".
	APIServerArgs []string
	EtcdArgs      []string
	// KwokConfig are further files for kwok, for example ClusterLogs and ClusterExec for logs and exec.
	KwokConfig []string
	// Restore is a file that Save wrote, to start from.
	Restore string
	// Detach lets the cluster outlive this process; its record is kept so that Attach and Remove find it.
	Detach bool
	// Timeout bounds the start; 90 seconds if zero.
	Timeout time.Duration
	// Log gets progress messages; nil means none.
	Log io.Writer
}

// Plane is a running cluster.
type Plane struct {
	name   string
	dir    string
	prefix string
	server string
	ports  ports
	opts   Options
	bin    Binaries
	pki    *authority
	spawn  *spawner
	// base is the cluster whose etcd this one shares; nil for a cluster of its own.
	base *Plane
	// attached says that another process started the cluster, so Stop leaves it running.
	attached bool
	cleanup  func()

	mu     sync.Mutex
	parts  []*component
	extras []*Plane
	client kubernetes.Interface
}

var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)

// Start starts a cluster and returns when its API server is ready and its nodes are Ready. The context bounds the
// start only. The caller must Stop the cluster; on Linux it also ends with this process, however that ends.
func Start(ctx context.Context, opts Options) (*Plane, error) {
	opts = withDefaults(opts)
	if !nameRule.MatchString(opts.Name) {
		return nil, fmt.Errorf("naming the cluster %q: use lower-case letters, digits and dashes", opts.Name)
	}
	bin, err := Build(ctx, opts.Log)
	if err != nil {
		return nil, err
	}
	p := &Plane{name: opts.Name, dir: opts.Dir, prefix: "/registry", opts: opts, bin: bin, cleanup: func() {}}
	if p.dir == "" {
		if p.dir, p.cleanup, err = temporaryDir(); err != nil {
			return nil, err
		}
	}
	p.spawn = newSpawner()
	if err := p.prepareAndStart(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func withDefaults(opts Options) Options {
	if opts.Name == "" {
		opts.Name = "towline"
	}
	if opts.Nodes == 0 {
		opts.Nodes = 1
	}
	if opts.Timeout == 0 {
		opts.Timeout = 90 * time.Second
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	return opts
}

func (p *Plane) prepareAndStart(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of %q: %w", p.name, err)
	}
	if p.opts.Restore != "" {
		if err := p.restore(p.opts.Restore); err != nil {
			return err
		}
	}
	var err error
	if p.pki, err = openAuthority(filepath.Join(p.dir, "pki")); err != nil {
		return err
	}
	return p.startWithFreePorts(ctx)
}

// startWithFreePorts tries again with other ports when another process took one between the asking and the using.
func (p *Plane) startWithFreePorts(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.Timeout, fmt.Errorf("not ready after %s", p.opts.Timeout))
	defer cancel()
	const attempts = 4
	for attempt := 1; ; attempt++ {
		err := p.startOnce(ctx)
		if err == nil {
			return nil
		}
		err = errors.Join(err, p.killParts())
		if attempt == attempts || !strings.Contains(err.Error(), "address already in use") {
			return fmt.Errorf("starting cluster %q in %s (a temporary folder stays with TOWLINE_KEEP=1): %w", p.name, p.dir, err)
		}
		fmt.Fprintf(p.opts.Log, "a port was taken, trying others (attempt %d)\n", attempt+1)
	}
}

func (p *Plane) startOnce(ctx context.Context) error {
	var err error
	if p.ports, err = freePorts(); err != nil {
		return err
	}
	p.server = fmt.Sprintf("https://127.0.0.1:%d", p.ports.APIServer)
	p.client = nil
	if err := p.writeKeys(); err != nil {
		return err
	}
	if p.base == nil {
		if err := p.run(ctx, Etcd, p.etcdArgs(), p.etcdHealthy()); err != nil {
			return err
		}
	}
	if err := p.run(ctx, APIServer, p.apiServerArgs(), p.apiServerReady); err != nil {
		return err
	}
	if p.opts.Nodes == noControllers {
		return nil
	}
	if err := p.forgetNodeLeases(ctx); err != nil {
		return err
	}
	if err := p.run(ctx, ControllerManager, p.controllerManagerArgs(), nil); err != nil {
		return err
	}
	if p.opts.Nodes > 0 {
		if err := p.run(ctx, Kwok, p.kwokArgs(), nil); err != nil {
			return err
		}
		if err := p.run(ctx, Scheduler, p.schedulerArgs(), nil); err != nil {
			return err
		}
	}
	if err := p.createNodes(ctx); err != nil {
		return err
	}
	return p.await(ctx, p.clusterUsable)
}

// run starts one component and waits until the check passes.
func (p *Plane) run(ctx context.Context, name string, args []string, check func(context.Context) error) error {
	part := newComponent(p.bin, p.dir, name, args)
	if err := part.start(p.spawn, p.dir, p.opts.Detach); err != nil {
		return err
	}
	p.mu.Lock()
	p.parts = append(p.parts, part)
	p.mu.Unlock()
	if err := p.keepRecord(); err != nil {
		return err
	}
	if check == nil {
		return nil
	}
	return p.await(ctx, check)
}

// Stop ends all processes that this process started for the cluster and its extra clusters, and removes a
// temporary folder. A cluster that was found by Attach stays.
func (p *Plane) Stop() error {
	p.mu.Lock()
	extras := slices.Clone(p.extras)
	p.extras = nil
	p.mu.Unlock()
	var errs []error
	for _, extra := range extras {
		errs = append(errs, extra.Stop())
	}
	if p.attached {
		return errors.Join(errs...)
	}
	if p.base != nil {
		p.base.disown(p)
	}
	errs = append(errs, p.killParts())
	if p.base == nil && p.spawn != nil && errors.Join(errs...) == nil {
		p.spawn.close()
		p.spawn = nil
	}
	p.cleanup()
	return errors.Join(errs...)
}

// killParts ends the components at once: nothing of them is kept, and a polite API server would wait for watches.
func (p *Plane) killParts() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.mu.Lock()
	parts := p.parts
	p.parts = nil
	p.mu.Unlock()
	var errs []error
	for _, part := range slices.Backward(parts) {
		errs = append(errs, part.stop(ctx, syscall.SIGKILL))
	}
	return errors.Join(errs...)
}

// Halt ends one component with a signal (SIGKILL for a crash, SIGTERM for a clean end) and waits until it is gone.
func (p *Plane) Halt(ctx context.Context, name string, signal syscall.Signal) error {
	part, err := p.part(name)
	if err != nil {
		return err
	}
	return part.stop(ctx, signal)
}

// Signal sends a signal to one component and returns at once: SIGSTOP makes an API server that takes connections
// and answers nothing, SIGCONT lets it go on.
func (p *Plane) Signal(name string, signal syscall.Signal) error {
	part, err := p.part(name)
	if err != nil {
		return err
	}
	if !part.alive() {
		return fmt.Errorf("signalling %s of %q: it does not run", name, p.name)
	}
	if err := syscall.Kill(part.PID, signal); err != nil {
		return fmt.Errorf("signalling %s of %q: %w", name, p.name, err)
	}
	return nil
}

// Resume starts a halted component again with the same arguments and ports.
func (p *Plane) Resume(ctx context.Context, name string) error {
	part, err := p.part(name)
	if err != nil {
		return err
	}
	if part.alive() {
		return fmt.Errorf("resuming %s of %q: it is running", name, p.name)
	}
	if err := part.start(p.spawn, p.dir, p.opts.Detach); err != nil {
		return err
	}
	if err := p.keepRecord(); err != nil {
		return err
	}
	checks := map[string]func(context.Context) error{Etcd: p.etcdHealthy(), APIServer: p.apiServerReady}
	if check := checks[name]; check != nil {
		return p.await(ctx, check)
	}
	return nil
}

func (p *Plane) part(name string) (*component, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.parts {
		if part.Name == name {
			return part, nil
		}
	}
	return nil, fmt.Errorf("looking for %q in cluster %q: it has no such component", name, p.name)
}

func (p *Plane) root() *Plane {
	if p.base != nil {
		return p.base
	}
	return p
}

func (p *Plane) etcdData() string { return filepath.Join(p.dir, "etcd") }
