package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// local renders a folder of this machine as the source of an application would
// be. What cannot be rendered whole is not rendered: a part of it would be
// synced as if it were all.
func local(ctx context.Context, dir string, app *v1alpha1.Application) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the local folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	renders, err := newRenderHost("")
	if err != nil {
		return nil, err
	}
	defer renders.Close()
	req := manifest.Request{Source: v1alpha1.ApplicationSource{Path: "."}, App: manifest.App{
		Name: app.Name, Project: app.ProjectName(), Namespace: app.Spec.Destination.Namespace,
	}}
	if sources := app.Sources(); len(sources) == 1 {
		req.Source = sources[0]
		req.Source.Path, req.Source.Chart = ".", ""
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
