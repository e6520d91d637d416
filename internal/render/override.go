package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// maxOverride bounds a file with settings; it is written by hand or by an image updater.
const maxOverride = 1 << 20

// overrideFiles are the names of the files in the folder of a source that change its settings, in their order.
func overrideFiles(app string) []string {
	files := []string{".argocd-source.yaml"}
	if app != "" && !strings.Contains(app, "/") {
		files = append(files, ".argocd-source-"+app+".yaml")
	}
	return files
}

// override merges the settings that stand in the repository into those of the source. They are those of the tools and
// none other: where the content comes from is decided by the Application alone.
func override(tree fs.FS, root string, req *manifest.Request) (notes []string, err error) {
	for _, base := range overrideFiles(req.App.Called()) {
		name := path.Join(root, base)
		data, err := fs.ReadFile(tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if info, statErr := fs.Stat(tree, name); statErr == nil && info.IsDir() {
				continue
			}
			return nil, fmt.Errorf("reading %q: %w", name, err)
		}
		ignored, err := merge(&req.Source, data)
		if err != nil {
			return nil, fault.Terminalf("InvalidOverride", "reading %q, which changes the settings of the source: %w; "+
				"correct or remove it", name, err)
		}
		for _, field := range ignored {
			notes = append(notes, fmt.Sprintf("%s: %q has no effect there; what is read are helm, kustomize, directory and plugin",
				name, field))
		}
	}
	return notes, nil
}

// merge applies a merge patch to the settings of the tools, and returns the fields of it that are none.
func merge(source *v1alpha1.ApplicationSource, patch []byte) (ignored []string, err error) {
	if len(patch) > maxOverride {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(patch), maxOverride)
	}
	patch, err = yaml.YAMLToJSON(patch)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, errors.New("it is not a mapping")
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"helm", "kustomize", "directory", "plugin"}, field) {
			ignored = append(ignored, field)
		}
	}
	before, err := json.Marshal(source)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	var merged v1alpha1.ApplicationSource
	if err := json.Unmarshal(after, &merged); err != nil {
		return nil, err
	}
	source.Helm, source.Kustomize, source.Directory, source.Plugin = merged.Helm, merged.Kustomize, merged.Directory, merged.Plugin
	return ignored, nil
}
