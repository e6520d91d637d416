package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// lenient has a kustomization built that some installation could build: which options it has is not among the files.
const lenient = "--enable-helm --load-restrictor=LoadRestrictionsNone"

// kustomize builds the kustomizations in folders of this machine.
func kustomize(ctx context.Context, folders, named []string) ([]lint.Build, error) {
	renders, err := newRenderHost("")
	if err != nil {
		return nil, err
	}
	defer renders.Close()
	var out []lint.Build
	for _, folder := range folders {
		b, err := kustomizeOne(ctx, renders, folder, named)
		if err != nil {
			return nil, fmt.Errorf("building the kustomization in %q: %w", folder, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func kustomizeOne(ctx context.Context, renders *renders, folder string, named []string) (lint.Build, error) {
	out := lint.Build{Folder: folder}
	top, within, err := topOf(folder, named)
	if err != nil {
		return out, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return out, err
	}
	defer func() { _ = root.Close() }()
	result, err := renders.Render(ctx, manifest.Trees{"": root.FS()}, manifest.Request{
		Source: v1alpha1.ApplicationSource{Path: within, Kustomize: &v1alpha1.ApplicationSourceKustomize{}},
		App:    manifest.App{Name: "app", Namespace: v1alpha1.DefaultNamespace, Project: v1alpha1.DefaultProjectName},
		Build:  manifest.Build{KustomizeOptions: lenient, Origins: true},
	})
	switch {
	case err != nil && fault.ClassOf(err) != fault.Terminal:
		return out, err
	case err != nil:
		out.Fault = strings.TrimPrefix(err.Error(), fmt.Sprintf("building %q: ", within))
		return out, nil
	}
	for _, need := range result.Needs {
		out.Needs = append(out.Needs, strings.TrimSpace(need.URL+" "+need.Chart))
	}
	for _, o := range result.Objects {
		out.Objects = append(out.Objects, lint.NewBuilt(folder, o.Object))
	}
	return out, nil
}

// topOf is the folder that the files of a kustomization may come from, and the place of the kustomization in it: the
// repository that it lies in or, without one, what the person named.
func topOf(folder string, named []string) (top, within string, err error) {
	at, err := filepath.Abs(folder)
	if err != nil {
		return "", "", err
	}
	top = at
	for _, n := range named {
		if abs, err := filepath.Abs(n); err == nil && len(abs) < len(top) && strings.HasPrefix(at, strings.TrimSuffix(abs, "/")+"/") {
			top = abs
		}
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			top = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	within, err = filepath.Rel(top, at)
	return top, filepath.ToSlash(within), err
}
