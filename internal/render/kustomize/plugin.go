package kustomize

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/fault"
)

const pluginWayOut = "plugins and functions are programs, which are not run here; keep secrets in the cluster (External Secrets, Sealed " +
	"Secrets, SOPS operator), use what kustomize has built in, commit what the plugin makes, or render this application with a config " +
	"management plugin"

// plugins goes through the lists of plugins. Those that are built in stay, charts are rendered, the rest is refused.
func (p *pass) plugins(found *file, seen *node, namespace string) error {
	for field, list := range map[string]*[]string{
		"generators": &found.data.Generators, "transformers": &found.data.Transformers, "validators": &found.data.Validators,
	} {
		var kept []string
		for _, entry := range *list {
			entries, err := p.plugin(found, seen, reference{field: field, entry: entry, files: true, namespace: namespace})
			if err != nil {
				return err
			}
			if len(entries) != 1 || entries[0] != entry {
				found.changed = true
			}
			kept = append(kept, entries...)
		}
		*list = kept
	}
	return nil
}

// plugin looks at one entry, which is written there itself, or is a path of a file or of a kustomization.
func (p *pass) plugin(found *file, seen *node, ref reference) ([]string, error) {
	documents, where := configurations([]byte(ref.entry)), found.String()
	if len(documents) == 0 {
		where = path.Join(found.dir.path, ref.entry)
		var err error
		if ref.entry, documents, err = p.pluginFile(found, seen, ref); err != nil || len(documents) == 0 {
			return []string{ref.entry}, err
		}
	}
	var rest []string
	for _, document := range documents {
		if err := p.configuration(found, document, where); err != nil {
			return nil, err
		}
		if ref.field == "generators" && document["kind"] == "HelmChartInflationGenerator" {
			if err := p.generated(found, document); err != nil {
				return nil, err
			}
			continue
		}
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", where, err)
		}
		rest = append(rest, string(text))
	}
	if len(rest) == len(documents) {
		return []string{ref.entry}, nil
	}
	return rest, nil
}

// pluginFile reads the file that an entry names. A kustomization, or something that is still to be fetched, has nothing
// to look at here.
func (p *pass) pluginFile(found *file, seen *node, ref reference) (string, []map[string]any, error) {
	entry, err := p.entry(found, seen, ref)
	if err != nil {
		return "", nil, err
	}
	data, err := p.disk.ReadFile(path.Join(found.dir.String(), entry))
	if err != nil {
		return entry, nil, nil //nolint:nilerr // not a file; the build says what is wrong, if anything is
	}
	return entry, configurations(data), nil
}

// configurations are the objects of a text; a path has none.
func configurations(text []byte) []map[string]any {
	var out []map[string]any
	for document := range strings.SplitSeq("\n"+string(text), "\n---") {
		var fields map[string]any
		if yaml.Unmarshal([]byte(document), &fields) == nil && fields["kind"] != nil {
			out = append(out, fields)
		}
	}
	return out
}

// configuration refuses a plugin that is not built in, and a file of one that leads out of the repository.
func (p *pass) configuration(found *file, document map[string]any, where string) error {
	if document["apiVersion"] == konfig.BuiltinPluginApiVersion {
		literals, _ := document["literals"].([]any)
		for _, literal := range literals {
			p.conceal([]string{fmt.Sprint(literal)})
		}
		return p.pluginPaths(found, document)
	}
	name := fmt.Sprintf("%v (%v)", document["kind"], document["apiVersion"])
	if function := functionOf(document); function != "" {
		name += ", the function " + function
	}
	return fault.Terminalf("PluginNotRun", "%s asks for the kustomize plugin %s: %s", where, name, pluginWayOut)
}

// functionOf is what a function would run: an image or a program.
func functionOf(document map[string]any) string {
	metadata, _ := document["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations["config.kubernetes.io/function"].(string)
	if text == "" {
		text, _ = annotations["config.k8s.io/function"].(string)
	}
	var spec struct {
		Container struct{ Image string }
		Exec      struct{ Path string }
		Starlark  struct{ Path, URL string }
	}
	if yaml.Unmarshal([]byte(text), &spec) != nil {
		return strings.TrimSpace(text)
	}
	for _, name := range []string{spec.Container.Image, spec.Exec.Path, spec.Starlark.Path, spec.Starlark.URL} {
		if name != "" {
			return name
		}
	}
	return strings.TrimSpace(text)
}

// pluginFiles are the fields of plugins that are built in which name files.
var pluginFiles = []string{"path", "paths", "files", "envs", "env", "valuesFile", "additionalValuesFiles", "chartHome"}

// pluginPaths refuses files that lead out of the repository.
func (p *pass) pluginPaths(found *file, value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := p.pluginPaths(found, item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, inner := range value {
			for _, name := range pluginNames(key, inner) {
				if _, ok := found.dir.join(name); !ok {
					return invalid("%s: a plugin names %q, which leads out of %s", found, name, p.tree(found.dir))
				}
			}
			if err := p.pluginPaths(found, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// pluginNames are the names of files that a field of a plugin holds.
func pluginNames(key string, value any) []string {
	if !slices.Contains(pluginFiles, key) {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok || strings.Contains(name, "\n") {
			continue
		}
		if _, after, hasKey := strings.Cut(name, "="); hasKey && key == "files" {
			name = after
		}
		names = append(names, name)
	}
	return names
}

// generated turns a chart that is written as a plugin into one of the kustomization.
func (p *pass) generated(found *file, document map[string]any) error {
	text, err := yaml.Marshal(document)
	if err != nil {
		return fmt.Errorf("reading the chart of %s: %w", found, err)
	}
	var chart struct {
		types.HelmGlobals
		types.HelmChart
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return invalid("%s: reading its HelmChartInflationGenerator: %w", found, err)
	}
	found.generated = append(found.generated, inflation{globals: chart.HelmGlobals, chart: chart.HelmChart, plugin: true})
	return nil
}
