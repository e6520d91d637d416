package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/settings"
)

// renderApp renders an application for somebody who looks, with the parts that
// the controller has.
func renderApp(ctx context.Context, app *v1alpha1.Application, r cli.Rendering) (cli.Rendered, error) {
	if r.Live {
		return cli.Rendered{}, &cli.UsageError{Err: errors.New("what is live is told by a server, and you are signed in to none; " +
			"\"towline login SERVER\" does that, and \"kubectl get\" asks the cluster itself")}
	}
	dir, err := os.MkdirTemp("", "towline-render-")
	if err != nil {
		return cli.Rendered{}, fmt.Errorf("making a folder to fetch into: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	book, build, err := installation(ctx, r.Hub)
	if err != nil {
		return cli.Rendered{}, err
	}
	fetched, err := openSources(dir, fetchOptions{book: book})
	if err != nil {
		return cli.Rendered{}, err
	}
	defer func() { _ = fetched.close() }()
	var from engine.Sources = fetched
	if r.Repo != "" {
		root, err := os.OpenRoot(r.Repo)
		if err != nil {
			return cli.Rendered{}, fmt.Errorf("opening the folder of the repository: %w", err)
		}
		defer func() { _ = root.Close() }()
		from = folderFirst{Sources: from, tree: root.FS()}.of(app)
	}
	renders, err := newRenderHost("")
	if err != nil {
		return cli.Rendered{}, err
	}
	defer renders.Close()
	e := engine.New(engine.Options{
		Sources: from, Renderer: renders, Settings: func() engine.Settings { return engine.Settings{Build: build} }, Now: time.Now,
	})
	got, err := e.Render(ctx, app, engine.Rendering{Revisions: r.Revisions, Kube: r.Kube})
	return cli.Rendered{Objects: got.Objects, Skipped: got.Skipped, Notes: got.Notes, Incomplete: got.Incomplete}, err
}

// installation is what an installation says about repositories and rendering;
// without one nobody says anything.
func installation(ctx context.Context, f *cli.Flags) (repository.Book, manifest.Build, error) {
	if f == nil {
		return repository.NewSet(nil, nil, repository.Trust{}), manifest.Build{}, nil
	}
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, manifest.Build{}, err
	}
	s, err := settings.Read(ctx, config, f.Namespace)
	if err != nil {
		return nil, manifest.Build{}, err
	}
	book, err := settings.ReadRepositories(ctx, config, f.Namespace)
	return book, s.Build, err
}

// folderFirst takes one repository from a folder of this machine.
type folderFirst struct {
	engine.Sources
	repo string
	tree fs.FS
}

// of makes the folder stand for the first repository of an application.
func (f folderFirst) of(app *v1alpha1.Application) folderFirst {
	if all := app.Sources(); len(all) > 0 {
		f.repo = all[0].RepoURL
	}
	return f
}

// atHand is the revision of what lies in a folder.
const atHand = "local"

func (f folderFirst) mine(of manifest.Origin) bool { return of.Chart == "" && of.RepoURL == f.repo }

// Resolve names the revision that an origin stands at.
func (f folderFirst) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (string, time.Time, error) {
	if f.mine(of) {
		return atHand, time.Now(), nil
	}
	return f.Sources.Resolve(ctx, of, maxAge)
}

// Tree is the content of a revision.
func (f folderFirst) Tree(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error) {
	if f.mine(of) {
		return f.tree, nil
	}
	return f.Sources.Tree(ctx, of, revision)
}
