package helm

import (
	"fmt"
	"io/fs"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// depend adds the dependencies that the chart asks for and does not bring along. Like `helm template` it looks at the
// dependencies of this chart alone: what is fetched brings its own.
func depend(r *reader, trees manifest.Trees, at Place, of *helmchart.Chart) ([]manifest.Need, error) {
	missing, err := chart.Dependencies(filesOf(at, of))
	if err != nil {
		return nil, err
	}
	var needs []manifest.Need
	for _, one := range missing {
		if one.Path != "" {
			subchart, err := r.local(one)
			if err != nil {
				return nil, err
			}
			of.AddDependency(subchart)
			continue
		}
		fetched, ok := trees[one.Need.ID()]
		if !ok {
			needs = append(needs, one.Need)
			continue
		}
		subchart, err := r.fetched(fetched)
		if err != nil {
			return nil, fmt.Errorf("dependency %s of chart %s: %w", one.Name, of.Name(), err)
		}
		of.AddDependency(subchart)
	}
	return needs, nil
}

// filesOf is what a chart says of its dependencies.
func filesOf(at Place, of *helmchart.Chart) chart.Files {
	files := chart.Files{Dir: at.Dir}
	for _, raw := range of.Raw {
		switch raw.Name {
		case "Chart.yaml":
			files.Chart = raw.Data
		case "requirements.yaml":
			files.Requirements = raw.Data
		case "Chart.lock", "requirements.lock":
			files.Lock = raw.Data
		}
	}
	for _, subchart := range of.Dependencies() {
		files.Present = append(files.Present, subchart.Name())
	}
	return files
}

// local loads a dependency from elsewhere in the repository.
func (r *reader) local(one chart.Missing) (*helmchart.Chart, error) {
	subchart, err := r.folder(one.Path)
	if err != nil {
		return nil, fmt.Errorf("dependency %s: %w", one.Name, err)
	}
	if !chartutil.IsCompatibleRange(one.Version, subchart.Metadata.Version) {
		return nil, fault.Terminalf("DependencyMissing", "dependency %q asks for version %q, and the chart at %q is %q; correct one "+
			"of the two", one.Name, one.Version, one.Path, subchart.Metadata.Version)
	}
	return subchart, nil
}

// fetched loads a chart out of a tree of its own, within the bounds of the chart that asked for it.
func (r *reader) fetched(tree fs.FS) (*helmchart.Chart, error) {
	home := r.tree
	r.tree = tree
	defer func() { r.tree = home }()
	return r.folder(".")
}
