package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// fresh is a cluster without applications, and a repository that they will
// come from. What is measured there is the making.
type fresh struct {
	*bench
	world  world
	client dynamic.Interface
}

// openFresh starts a control plane that knows nothing but the CRDs.
func (b *bench) openFresh(ctx context.Context, files map[string]string) (f *fresh, err error) {
	dir, err := os.MkdirTemp("", "towline-bench-git-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the repository: %w", err)
	}
	f = &fresh{bench: b, world: world{dir: dir}}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	git, err := gitserver.Start(filepath.Join(dir, "git"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(git.Create(repository, files), git.Close()); err != nil {
		return nil, err
	}
	o := planeOptions()
	o.Audit = controlplane.AuditMetadata
	if b.plane, err = controlplane.Start(ctx, o); err != nil {
		return nil, err
	}
	if err := b.install(ctx, b.plane); err != nil {
		return nil, err
	}
	config, err := b.plane.RESTConfigFor("bench-load", masters)
	if err != nil {
		return nil, err
	}
	config.WarningHandler, config.QPS = rest.NoWarnings{}, -1
	if f.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return f, nil
}

func (f *fresh) close() error { return os.RemoveAll(f.world.dir) }

func (f *fresh) namespace(ctx context.Context, name string) error {
	return create(ctx, f.client.Resource(namespaceKind), map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	})
}
