package kustomize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/helm"
)

// inflation is a chart that a kustomization asks for.
type inflation struct {
	globals types.HelmGlobals
	chart   types.HelmChart
	// plugin says that it was written as a generator, which gets no namespace from its kustomization.
	plugin bool
}

// inflate renders the charts of a kustomization, and puts what they come to among its resources.
func (p *pass) inflate(found *file, seen *node, namespace string) error {
	charts := found.generated
	globals := types.HelmGlobals{}
	if found.data.HelmGlobals != nil {
		globals = *found.data.HelmGlobals
	}
	for _, chart := range found.data.HelmCharts {
		charts = append(charts, inflation{globals: globals, chart: chart})
	}
	if len(charts) == 0 {
		return nil
	}
	if !p.options.helm {
		return fault.Terminalf("HelmNotEnabled", "%s has charts: must specify --enable-helm; add it to kustomize.buildOptions in "+
			"argocd-cm, or "+
			"make the chart a source of its own", found)
	}
	seen.charts = true
	for _, of := range charts {
		if !of.plugin {
			of.chart.Namespace = cmp.Or(of.chart.Namespace, namespace)
		}
		text, err := p.render(found, of)
		if err != nil {
			return fmt.Errorf("%s: chart %s: %w", found, of.chart.Name, err)
		}
		if len(text) > 0 {
			found.data.Resources = append(found.data.Resources, p.write(found, text))
		}
	}
	found.data.HelmCharts, found.data.HelmGlobals, found.changed = nil, nil, true
	return nil
}

func (p *pass) render(found *file, of inflation) ([]byte, error) {
	chart := of.chart
	if of.globals.ConfigHome != "" {
		p.note("%s: helmGlobals.configHome is not honoured: the Helm that is built in has no configuration", found)
	}
	at, ok, err := p.chart(found, of)
	if err != nil || !ok {
		return nil, err
	}
	loaded, err := helm.Load(p.ctx, p.trees, at)
	if err != nil {
		return nil, err
	}
	for _, need := range loaded.Needs {
		p.need(need)
	}
	values, err := p.values(found, chart, at)
	if err != nil || len(loaded.Needs) > 0 {
		return nil, err
	}
	release := helm.Release{
		Namespace: cmp.Or(chart.Namespace, "default"), Values: values, CRDs: chart.IncludeCRDs, NoTests: chart.SkipTests,
		NoHooks: chart.SkipHooks,
		Kube:    p.kube(chart),
	}
	if release.Name, err = p.releaseName(found, chart); err != nil {
		return nil, err
	}
	p.usesAPIs = p.usesAPIs || loaded.UsesAPIs(values)
	out, err := loaded.Template(p.ctx, release)
	if err != nil {
		return nil, err
	}
	p.skipped = append(p.skipped, loaded.Skipped...)
	for _, note := range slices.Concat(loaded.Notes, out.Notes) {
		p.note("%s", note)
	}
	return mark(out.String())
}

// kube is the cluster that a chart is rendered for: what the chart's entry says, else the options, the Application, the
// destination.
func (p *pass) kube(chart types.HelmChart) manifest.Kube {
	kube := p.req.Kube
	if of := p.req.Source.Kustomize; of != nil {
		kube.Version = cmp.Or(of.KubeVersion, kube.Version)
		if len(of.APIVersions) > 0 {
			kube.APIs = of.APIVersions
		}
	}
	kube.Version = cmp.Or(chart.KubeVersion, p.options.kubeVersion, kube.Version)
	for _, apis := range [][]string{p.options.apiVersions, chart.ApiVersions} {
		if len(apis) > 0 {
			kube.APIs = apis
		}
	}
	return kube
}

// chart finds a chart: in the folder for charts, or by asking for it; false means that it is still to be fetched.
func (p *pass) chart(found *file, of inflation) (helm.Place, bool, error) {
	chart := of.chart
	if chart.Name == "" || strings.HasPrefix(chart.Name, "-") || strings.HasPrefix(chart.ReleaseName, "-") {
		return helm.Place{}, false, invalid("its name %q or release name %q cannot be the name of one; correct it",
			chart.Name, chart.ReleaseName)
	}
	home := cmp.Or(of.globals.ChartHome, types.HelmDefaultHome)
	if chart.Version != "" && chart.Repo != "" {
		home = path.Join(home, chart.Name+"-"+chart.Version)
	}
	at, ok := found.dir.join(path.Join(home, chart.Name))
	if !ok || path.IsAbs(of.globals.ChartHome) {
		return helm.Place{}, false, invalid("its place %q leads out of %s; keep charts within it",
			path.Join(home, chart.Name), p.tree(found.dir))
	}
	if p.options.restrictions != types.LoadRestrictionsNone && !found.dir.holds(at.path) {
		return helm.Place{}, false, invalid("security; the chart home %q is not in or below %q; move it, or set "+
			"--load-restrictor LoadRestrictionsNone in kustomize.buildOptions", of.globals.ChartHome, found.dir.path)
	}
	if p.disk.IsDir(at.String()) {
		return helm.Place{Tree: p.disk.mounts[at.mount].name, Dir: at.path}, true, nil
	}
	if chart.Repo == "" {
		return helm.Place{}, false, invalid("no repo specified for pull, no chart found at %q; add the chart or "+
			"name its repo", at.path)
	}
	need := manifest.Need{
		Kind: manifest.NeedChart, URL: chart.Repo, Chart: chart.Name, Revision: chart.Version,
		Why: fmt.Sprintf("%s: helmCharts: %s", found, chart.Name),
	}
	return helm.Place{Tree: need.ID(), Dir: "."}, p.need(need), nil
}

// values are those of the file (that of the chart itself, if none is named) with those that are written inline.
func (p *pass) values(found *file, chart types.HelmChart, at helm.Place) (map[string]any, error) {
	data, err := p.valuesFile(found, chart.ValuesFile, at)
	if err != nil {
		return nil, err
	}
	if len(chart.ValuesInline) > 0 {
		if data, err = mergeInline(data, chart); err != nil {
			return nil, err
		}
	}
	merged, err := loader.LoadValues(strings.NewReader(string(data)))
	if err != nil {
		return nil, fault.Terminalf("InvalidValues", "reading its values: %w", err)
	}
	for _, name := range chart.AdditionalValuesFiles {
		data, err := p.valuesFile(found, name, at)
		if err != nil {
			return nil, err
		}
		more, err := loader.LoadValues(strings.NewReader(string(data)))
		if err != nil {
			return nil, fault.Terminalf("InvalidValues", "reading %q: %w", name, err)
		}
		merged = loader.MergeMaps(merged, more)
	}
	return merged, nil
}

func (p *pass) valuesFile(found *file, name string, at helm.Place) ([]byte, error) {
	if name == "" {
		data, err := fs.ReadFile(p.trees[at.Tree], path.Join(at.Dir, "values.yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	before := name
	if err := p.path(found, "helmCharts", &name); err != nil {
		return nil, err
	}
	if name == before && strings.Contains(name, "://") {
		return nil, nil // still to be fetched
	}
	to, _ := found.dir.join(name)
	if p.options.restrictions != types.LoadRestrictionsNone {
		resolved, err := p.disk.resolve(to)
		if _, ours := p.disk.written[to.String()]; err == nil && !ours && !found.dir.holds(resolved.path) {
			return nil, invalid("security; file %q is not in or below %q", before, found.dir.path)
		}
	}
	data, err := p.disk.ReadFile(to.String())
	if err != nil {
		return nil, invalid("reading the values file %q: %w", before, p.explain(err))
	}
	return data, nil
}

// mergeInline puts inline values over those of the file, below them, or in their place.
func mergeInline(data []byte, chart types.HelmChart) ([]byte, error) {
	inline, err := kyaml.FromMap(chart.ValuesInline)
	if err != nil {
		return nil, fault.Terminalf("InvalidValues", "reading valuesInline: %w", err)
	}
	merged := inline
	if chart.ValuesMerge != "replace" && len(strings.TrimSpace(string(data))) > 0 {
		file, err := kyaml.Parse(string(data))
		if err != nil {
			return nil, fault.Terminalf("InvalidValues", "reading its values: %w", err)
		}
		switch chart.ValuesMerge {
		case "", "override":
			merged, err = merge2.Merge(inline, file.Copy(), kyaml.MergeOptions{})
		case "merge":
			merged, err = merge2.Merge(file, inline.Copy(), kyaml.MergeOptions{})
		default:
			return nil, invalid("valuesMerge must be one of merge, override, replace and not %q", chart.ValuesMerge)
		}
		if err != nil {
			return nil, fault.Terminalf("InvalidValues", "merging its values: %w", err)
		}
	}
	text, err := merged.String()
	if err != nil {
		return nil, fault.Terminalf("InvalidValues", "writing its values: %w", err)
	}
	return []byte(text), nil
}

// releaseName is the name of the release. Where none is given the tool makes one up from the time of the day, and the
// application would never be in sync; here it stays the same.
func (p *pass) releaseName(found *file, chart types.HelmChart) (string, error) {
	switch {
	case chart.ReleaseName != "" && chart.NameTemplate != "":
		return "", invalid("it has both releaseName and nameTemplate; remove one")
	case chart.ReleaseName != "":
		return chart.ReleaseName, nil
	case chart.NameTemplate == "":
		p.note("%s: chart %s has no releaseName; it is called release-name, since a name that changes with each render would never "+
			"be in sync",
			found, chart.Name)
		return "release-name", nil
	}
	parsed, err := template.New("nameTemplate").Funcs(sprig.TxtFuncMap()).Parse(chart.NameTemplate)
	var name strings.Builder
	if err == nil {
		err = parsed.Execute(&name, nil)
	}
	if err != nil {
		return "", invalid("its nameTemplate: %w", err)
	}
	return name.String(), nil
}

// mark says of each object that a chart made it: kustomize sets no namespace on those.
func mark(text string) ([]byte, error) {
	nodes, err := (&kio.ByteReader{Reader: strings.NewReader(text), OmitReaderAnnotations: true}).Read()
	if err != nil {
		return nil, fault.Terminalf("InvalidManifest", "reading what it prints: %w", err)
	}
	var out strings.Builder
	for _, node := range nodes {
		if err := node.PipeE(kyaml.SetAnnotation(konfig.HelmGeneratedAnnotation, "true")); err != nil {
			return nil, fault.Terminalf("InvalidManifest", "reading what it prints: %w", err)
		}
		document, err := node.String()
		if err != nil {
			return nil, fault.Terminalf("InvalidManifest", "writing what it prints: %w", err)
		}
		out.WriteString("---\n" + document)
	}
	return []byte(out.String()), nil
}
