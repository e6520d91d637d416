// Package helm renders Helm charts with Helm's own engine, as `helm template` does. It reads the trees that it is given
// and nothing else: no files, no network, no processes; what is missing is answered as a Need.
package helm

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Render renders the chart at the path of the source.
func Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (result manifest.Result, err error) {
	defer func() {
		// The libraries meet whatever people write; a panic of theirs is the fault of one source and ends nothing else.
		if caught := recover(); caught != nil {
			result, err = manifest.Result{}, fault.Terminalf("RenderFailed", "rendering the chart: Helm gave up: %v", caught)
		}
	}()
	if req.Build.NoHelm {
		return manifest.Result{}, fault.Terminalf("HelmDisabled", "Helm is switched off in this installation; switch it on "+
			"(helm.enable in argocd-cm) or use another type of source")
	}
	of := req.Source.Helm
	if of == nil {
		of = &v1alpha1.ApplicationSourceHelm{}
	}
	dir, err := folder(req.Source.Path)
	if err != nil {
		return manifest.Result{}, err
	}
	loaded, err := Load(ctx, trees, Place{Tree: "", Dir: dir})
	if err != nil {
		return manifest.Result{}, err
	}
	values := values{trees: trees, dir: dir, build: req.Build, of: of}
	merged, err := values.merge()
	if err != nil {
		return manifest.Result{}, err
	}
	if needs := append(loaded.Needs, values.needs...); len(needs) > 0 {
		return manifest.Result{Type: v1alpha1.SourceTypeHelm, Needs: needs}, nil
	}
	uses := loaded.UsesAPIs(merged) // rendering changes the chart
	out, err := loaded.Template(ctx, release(of, req, merged))
	if err != nil {
		return manifest.Result{}, err
	}
	result, err = out.objects()
	if err != nil {
		return manifest.Result{}, err
	}
	result.Type = v1alpha1.SourceTypeHelm
	result.Skipped, result.Incomplete = loaded.Skipped, len(loaded.Skipped) > 0
	result.Files = loaded.files + values.read
	result.Notes = append(loaded.Notes, result.Notes...)
	result.UsesAPIs = uses
	return result, nil
}

func release(of *v1alpha1.ApplicationSourceHelm, req manifest.Request, values map[string]any) Release {
	rel := Release{
		Name: req.App.Name, Namespace: req.App.Namespace, Kube: req.Kube, Values: values,
		CRDs: !of.SkipCrds, NoTests: of.SkipTests, NoSchema: of.SkipSchemaValidation,
	}
	if of.ReleaseName != "" {
		rel.Name = of.ReleaseName
	}
	if of.Namespace != "" {
		rel.Namespace = of.Namespace
	}
	if of.KubeVersion != "" {
		rel.Kube.Version = of.KubeVersion
	}
	if len(of.APIVersions) > 0 {
		rel.Kube.APIs = of.APIVersions
	}
	return rel
}

// Place is a folder of a tree.
type Place struct{ Tree, Dir string }

// Chart is a chart with its dependencies.
type Chart struct {
	// Needs are the dependencies that have to be fetched first; a chart with needs cannot be rendered.
	Needs []manifest.Need
	// Notes are what people should know about the chart.
	Notes []string
	// Skipped are folders of the chart whose content is not there; what they would have rendered to is missing.
	Skipped []string

	chart *chart.Chart
	files int
}

// Load reads the chart of a folder, whole: a template can ask for any file of it.
func Load(ctx context.Context, trees manifest.Trees, at Place) (*Chart, error) {
	tree, ok := trees[at.Tree]
	if !ok {
		return nil, fmt.Errorf("loading a chart: there is no tree %q", at.Tree)
	}
	reader := newReader(ctx, tree)
	loaded, err := reader.folder(at.Dir)
	if err != nil {
		return nil, err
	}
	result := &Chart{chart: loaded}
	if loaded.Metadata.Type == "library" {
		return nil, fault.Terminalf("InvalidChart", "chart %q is a library chart, which other charts use and which cannot be "+
			"installed itself; point the source to a chart of type application", loaded.Name())
	}
	if loaded.Metadata.Deprecated {
		result.Notes = append(result.Notes, fmt.Sprintf("chart %s %s says that it is deprecated", loaded.Name(), loaded.Metadata.Version))
	}
	result.Needs, err = depend(reader, trees, at, loaded)
	if err != nil {
		return nil, err
	}
	result.files = reader.count
	result.Notes, result.Skipped = append(result.Notes, reader.notes...), reader.skipped
	order(loaded)
	return result, nil
}

// folder cleans the path of the source.
func folder(asked string) (string, error) {
	dir := path.Clean(asked)
	if !fs.ValidPath(dir) {
		return "", fault.Terminalf("InvalidPath", "app path %q is not a path within the repository; write it relative to its root", asked)
	}
	return dir, nil
}
