package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// worldVersion changes with what is in a world.
const worldVersion = 1

// alone as the number of nodes is the control plane's word for an API server
// without controllers.
const alone = -1 << 20

// The users, by whom the audit log tells who asked.
const (
	engineUser = "bench-engine"
	bareUser   = "bench-bare"
	masters    = "system:masters"
)

// repository is the name of the git repository of a world.
const repository = "fleet"

// world is a cluster to measure in: see the package comment.
type world struct {
	apps, perApp, objects int
	dir                   string
}

func (b *bench) world() world {
	w := world{apps: b.scale.apps, perApp: b.scale.perApp, objects: b.scale.objects}
	w.dir = filepath.Join(b.cache, fmt.Sprintf("world-v%d-%dx%d-of-%d", worldVersion, w.apps, w.perApp, w.objects))
	return w
}

func (w world) snapshot() string { return filepath.Join(w.dir, "snapshot.tgz") }

// source is the address of the repository: a path, so that it is the same in
// every run.
func (w world) source() string {
	return "file://" + filepath.Join(w.dir, "git", "repos", repository+".git")
}

// open starts a control plane with the world in it, and makes the world first
// if the cache does not have it.
func (b *bench) open(ctx context.Context) error {
	w := b.world()
	if b.fresh {
		if err := os.RemoveAll(w.dir); err != nil {
			return fmt.Errorf("removing the old world: %w", err)
		}
	}
	if _, err := os.Stat(w.snapshot()); err != nil {
		if err := b.build(ctx, w); err != nil {
			return fmt.Errorf("making the world: %w", err)
		}
	}
	b.logf("restoring %s", w.dir)
	o := planeOptions()
	o.Restore, o.Audit = w.snapshot(), controlplane.AuditMetadata
	plane, err := controlplane.Start(ctx, o)
	if err != nil {
		return err
	}
	b.plane = plane
	return nil
}

func planeOptions() controlplane.Options {
	return controlplane.Options{
		Name: "bench", Nodes: alone, Timeout: 5 * time.Minute,
		APIServerArgs: []string{
			// Nobody makes service accounts here.
			"disable-admission-plugins=ServiceAccount",
		},
	}
}

// build makes the world and saves it.
func (b *bench) build(ctx context.Context, w world) (err error) {
	start := time.Now()
	b.logf("making a world of %d applications with %d objects each, %d objects in all", w.apps, w.perApp, w.objects)
	if err := os.RemoveAll(w.dir); err != nil {
		return err
	}
	if err := w.makeRepository(); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, planeOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	config, err := plane.RESTConfig()
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := b.install(ctx, plane); err != nil {
		return err
	}
	if err := w.fill(ctx, client, b.logf); err != nil {
		return err
	}
	if err := b.syncAll(ctx, w, plane, client); err != nil {
		return err
	}
	b.logf("saving the world, made in %s", time.Since(start).Round(time.Second))
	return plane.Save(ctx, w.snapshot())
}

func (w world) makeRepository() error {
	git, err := gitserver.Start(filepath.Join(w.dir, "git"))
	if err != nil {
		return err
	}
	files := make(map[string]string, w.apps)
	for i := range w.apps {
		files[appName(i)+"/all.yaml"] = w.manifests(i)
	}
	return errors.Join(git.Create(repository, files), git.Close())
}

// install applies the CRDs and waits until they are served.
func (b *bench) install(ctx context.Context, plane *controlplane.Plane) error {
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(b.root, "config", "crd")},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
		{"create", "namespace", controlNamespace},
	} {
		if err := kubectl(ctx, plane, args); err != nil {
			return err
		}
	}
	return nil
}

// kubectl runs it, a few times if need be: its wait gives up on a CRD that has
// no conditions yet.
func kubectl(ctx context.Context, plane *controlplane.Plane, args []string) (err error) {
	for range 5 {
		var out []byte
		cmd := exec.CommandContext(ctx, plane.Kubectl(), append([]string{"--kubeconfig", plane.Kubeconfig()}, args...)...)
		if out, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
		err = fmt.Errorf("running kubectl %s: %w: %s", args[0], err, out)
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// syncAll has the engine apply every application, and then plays the
// controller of their Deployments.
func (b *bench) syncAll(ctx context.Context, w world, plane *controlplane.Plane, client dynamic.Interface) (err error) {
	engine, err := b.hireEngine(ctx, w, plane)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.leave()) }()
	for _, do := range []string{"start", "run"} {
		r, err := engine.tell(order{Do: do})
		if err != nil {
			return err
		}
		b.logf("the engine did %q in %.1fs, %.1f CPU-s", do, r.Wall, r.CPU)
	}
	if err := w.observeDeployments(ctx, client); err != nil {
		return err
	}
	if _, err = engine.tell(order{Do: "settle"}); err != nil {
		return err
	}
	return engine.keep()
}

// pairsFolder is where confirmed pairs are, in the world and in the folder of
// the engine.
const pairsFolder = "pairs"

// engineWorker is a child that plays the engine.
type engineWorker struct {
	*worker
	data  string
	world world
	// knew says that it was given a log of confirmed pairs.
	knew bool
}

// hireEngine starts the engine with a folder of its own and what the last one
// knew of this world.
func (b *bench) hireEngine(ctx context.Context, w world, plane *controlplane.Plane) (*engineWorker, error) {
	data, knew, err := w.engineFolder()
	if err != nil {
		return nil, err
	}
	worker, err := b.hireEngineIn(ctx, plane, setup{Data: data, Apps: w.apps})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	return &engineWorker{worker: worker, data: data, world: w, knew: knew}, nil
}

// hireEngineIn starts the engine in a folder that is there.
func (b *bench) hireEngineIn(ctx context.Context, plane *controlplane.Plane, s setup) (*worker, error) {
	var err error
	if s.Kubeconfig, err = plane.KubeconfigFor(engineUser, masters); err != nil {
		return nil, err
	}
	return b.hire(ctx, "engine", s)
}

// engineFolder makes a folder with what the last engine knew of this world.
func (w world) engineFolder() (data string, knew bool, err error) {
	data, err = os.MkdirTemp("", "towline-bench-")
	if err != nil {
		return "", false, fmt.Errorf("making a folder for the engine: %w", err)
	}
	known := filepath.Join(w.dir, pairsFolder)
	_, missing := os.Stat(known)
	if missing == nil {
		if err := os.CopyFS(filepath.Join(data, pairsFolder), os.DirFS(known)); err != nil {
			return "", false, errors.Join(fmt.Errorf("copying the confirmed pairs: %w", err), os.RemoveAll(data))
		}
	}
	return data, missing == nil, nil
}

// keep ends the engine's work and keeps what it knows with the world, unless
// the world has it.
func (e *engineWorker) keep() error {
	if _, err := e.tell(order{Do: "end"}); err != nil {
		return err
	}
	known := filepath.Join(e.world.dir, pairsFolder)
	if _, err := os.Stat(known); err == nil {
		return nil
	}
	if err := os.CopyFS(known, os.DirFS(filepath.Join(e.data, pairsFolder))); err != nil {
		return fmt.Errorf("keeping the confirmed pairs: %w", err)
	}
	return nil
}

// leave ends the child and removes its folder.
func (e *engineWorker) leave() error { return errors.Join(e.dismiss(), os.RemoveAll(e.data)) }
