package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// signs are the files by which a folder is known. As in Argo CD a folder that has several is one of Kustomize, which can
// render charts itself.
var signs = []struct {
	file string
	kind v1alpha1.SourceType
}{
	{"kustomization.yaml", v1alpha1.SourceTypeKustomize},
	{"kustomization.yml", v1alpha1.SourceTypeKustomize},
	{"Kustomization", v1alpha1.SourceTypeKustomize},
	{"Chart.yaml", v1alpha1.SourceTypeHelm},
}

// blocks are the tools that a source has settings for.
func blocks(of v1alpha1.ApplicationSource) []v1alpha1.SourceType {
	var out []v1alpha1.SourceType
	for _, block := range []struct {
		kind v1alpha1.SourceType
		set  bool
	}{
		{v1alpha1.SourceTypeHelm, of.Helm != nil},
		{v1alpha1.SourceTypeKustomize, of.Kustomize != nil},
		{v1alpha1.SourceTypeDirectory, of.Directory != nil},
		{v1alpha1.SourceTypePlugin, of.Plugin != nil},
	} {
		if block.set {
			out = append(out, block.kind)
		}
	}
	return out
}

// sourceType says which tool renders a source: the one that it has settings for, or the one whose file is there. A tool
// that the installation switched off is passed over, and what is left is a folder of manifests.
func sourceType(tree fs.FS, root string, req manifest.Request) (v1alpha1.SourceType, []string, error) {
	explicit := blocks(req.Source)
	switch {
	case len(explicit) > 1:
		var names []string
		for _, kind := range explicit {
			names = append(names, strings.ToLower(string(kind)))
		}
		return "", nil, fault.Terminalf("SourceTypeAmbiguous", "the source has settings for more than one tool (%s); keep those of one",
			strings.Join(names, ", "))
	case len(explicit) == 1:
		return enabled(explicit[0], req.Build)
	case req.Source.Chart != "":
		return enabled(v1alpha1.SourceTypeHelm, req.Build)
	}
	var notes []string
	for _, sign := range signs {
		_, err := fs.Stat(tree, path.Join(root, sign.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("looking for the type of the source in %q: %w", root, err)
		}
		kind, why, _ := enabled(sign.kind, req.Build)
		if kind == sign.kind {
			return kind, nil, nil
		}
		notes = append(notes, why...)
	}
	return v1alpha1.SourceTypeDirectory, notes, nil
}

// enabled is the tool, or the one that takes its place where it is switched off.
func enabled(kind v1alpha1.SourceType, build manifest.Build) (v1alpha1.SourceType, []string, error) {
	off := map[v1alpha1.SourceType]bool{
		v1alpha1.SourceTypeHelm: build.NoHelm, v1alpha1.SourceTypeKustomize: build.NoKustomize,
	}
	if !off[kind] {
		return kind, nil, nil
	}
	why := fmt.Sprintf("%s is switched off (%s.enable in argocd-cm), so the folder is read as plain manifests",
		kind, strings.ToLower(string(kind)))
	return v1alpha1.SourceTypeDirectory, []string{why}, nil
}
