package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// local renders a folder of this machine as the source of an application would
// be. What cannot be rendered whole is not rendered: a part of it would be
// synced as if it were all.
func local(ctx context.Context, folder cli.Folder, app *v1alpha1.Application) ([]string, error) {
	dir := folder.Dir
	path, err := below(folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(cmp.Or(folder.Root, dir))
	if err != nil {
		return nil, fmt.Errorf("opening the local folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	renders, err := newRenderHost("")
	if err != nil {
		return nil, err
	}
	defer renders.Close()
	req := manifest.Request{Source: v1alpha1.ApplicationSource{Path: path}, App: manifest.App{
		Name: app.Name, Project: app.ProjectName(), Namespace: app.Spec.Destination.Namespace,
	}}
	if sources := app.Sources(); len(sources) == 1 {
		req.Source = sources[0]
		req.Source.Path, req.Source.Chart = path, ""
	}
	result, err := renders.Render(ctx, manifest.Trees{"": root.FS()}, req)
	if err != nil {
		return nil, fmt.Errorf("rendering the local folder %q: %w", dir, err)
	}
	if result.Incomplete {
		return nil, fmt.Errorf("rendering the local folder %q: this version cannot render all of it: %s",
			dir, strings.Join(result.Skipped, "; "))
	}
	out := make([]string, 0, len(result.Objects))
	for _, u := range result.Objects {
		b, err := u.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		out = append(out, string(b))
	}
	return out, nil
}

// below is where a folder is in its root.
func below(f cli.Folder) (string, error) {
	if f.Root == "" {
		return ".", nil
	}
	root, err := filepath.Abs(f.Root)
	if err != nil {
		return "", fmt.Errorf("finding the folder %q: %w", f.Root, err)
	}
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return "", fmt.Errorf("finding the folder %q: %w", f.Dir, err)
	}
	path, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(path) {
		return "", &cli.UsageError{Err: fmt.Errorf("--local %q is not below --local-repo-root %q", f.Dir, f.Root)}
	}
	return filepath.ToSlash(path), nil
}
