package helm

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// depend adds the dependencies that the chart asks for and does not bring along. Like `helm template` it looks at the
// names alone, and at the dependencies of this chart alone: what is fetched brings its own.
func depend(r *reader, trees manifest.Trees, at Place, of *chart.Chart) ([]manifest.Need, error) {
	var needs []manifest.Need
	present := map[string]struct{}{}
	for _, subchart := range of.Dependencies() {
		present[subchart.Name()] = struct{}{}
	}
	for _, dep := range of.Metadata.Dependencies {
		if dep == nil {
			return nil, fault.Terminalf("InvalidChart", "Chart.yaml of %q has an empty entry in its dependencies; remove it", of.Name())
		}
		if _, ok := present[dep.Name]; ok {
			continue
		}
		if local, ok := strings.CutPrefix(dep.Repository, "file://"); ok {
			subchart, err := r.local(at, dep, local)
			if err != nil {
				return nil, err
			}
			of.AddDependency(subchart)
			continue
		}
		need, err := needOf(of, dep)
		if err != nil {
			return nil, err
		}
		fetched, ok := trees[need.ID()]
		if !ok {
			if !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
			continue
		}
		subchart, err := r.fetched(fetched)
		if err != nil {
			return nil, fmt.Errorf("dependency %s of chart %s: %w", dep.Name, of.Name(), err)
		}
		of.AddDependency(subchart)
	}
	return needs, nil
}

// needOf says where a dependency is to be had: the version is that of the lock, or the range where nothing is locked.
func needOf(of *chart.Chart, dep *chart.Dependency) (manifest.Need, error) {
	version, repository := dep.Version, dep.Repository
	if of.Lock != nil {
		for _, locked := range of.Lock.Dependencies {
			if locked == nil || locked.Name != dep.Name || !chartutil.IsCompatibleRange(dep.Version, locked.Version) {
				continue
			}
			version = locked.Version
			if repository == "" {
				repository = locked.Repository
			}
		}
	}
	switch {
	case repository == "":
		return manifest.Need{}, fault.Terminalf("DependencyMissing", "chart %q asks for the chart %q, which is not in its charts folder, "+
			"and names no repository for it; commit it there or give the dependency a repository", of.Name(), dep.Name)
	case strings.HasPrefix(repository, "@"), strings.HasPrefix(repository, "alias:"):
		return manifest.Need{}, fault.Terminalf("DependencyMissing", "chart %q asks for the chart %q of the repository %q: such a short "+
			"name means something on one machine only; write the URL of the repository, or commit the chart into the charts folder",
			of.Name(), dep.Name, repository)
	}
	return manifest.Need{
		Kind: manifest.NeedChart, URL: repository, Chart: dep.Name, Revision: version,
		Why: fmt.Sprintf("Chart.yaml of %s: dependency %s", of.Name(), dep.Name),
	}, nil
}

// local loads a dependency from elsewhere in the repository.
func (r *reader) local(at Place, dep *chart.Dependency, where string) (*chart.Chart, error) {
	dir := path.Join(at.Dir, where)
	if path.IsAbs(where) || !fs.ValidPath(dir) {
		return nil, fault.Terminalf("DependencyMissing", "dependency %q is at %q, outside of the repository; only charts within it "+
			"are read",
			dep.Name, dep.Repository)
	}
	subchart, err := r.folder(dir)
	if err != nil {
		return nil, fmt.Errorf("dependency %s at %s: %w", dep.Name, dep.Repository, err)
	}
	if !chartutil.IsCompatibleRange(dep.Version, subchart.Metadata.Version) {
		return nil, fault.Terminalf("DependencyMissing", "dependency %q asks for version %q, and the chart at %q is %q; correct one "+
			"of the two",
			dep.Name, dep.Version, dir, subchart.Metadata.Version)
	}
	return subchart, nil
}

// fetched loads a chart out of a tree of its own, within the bounds of the chart that asked for it.
func (r *reader) fetched(tree fs.FS) (*chart.Chart, error) {
	home := r.tree
	r.tree = tree
	defer func() { r.tree = home }()
	return r.folder(".")
}
