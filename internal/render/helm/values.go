package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// values gathers what the Application says about the values of a chart.
type values struct {
	trees manifest.Trees
	dir   string
	build manifest.Build
	of    *v1alpha1.ApplicationSourceHelm

	needs []manifest.Need
	read  int
}

// merge puts the values together: parameters over valuesObject, that over values, that over the value files, of which
// the last wins. The values of the chart itself come later, below all of these.
func (v *values) merge() (map[string]any, error) {
	merged := map[string]any{}
	for _, written := range v.of.ValueFiles {
		found, err := v.find(written)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			data, err := v.load(file)
			if err != nil {
				return nil, err
			}
			if merged, err = v.over(merged, "value file "+file.String(), data); err != nil {
				return nil, err
			}
		}
	}
	var err error
	switch inline := v.of.ValuesObject; {
	case inline != nil && len(inline.Raw) > 0:
		merged, err = v.over(merged, "helm.valuesObject", inline.Raw)
	case v.of.Values != "":
		merged, err = v.over(merged, "helm.values", []byte(v.of.Values))
	}
	if err != nil {
		return nil, err
	}
	if err := v.set(merged); err != nil {
		return nil, err
	}
	return merged, nil
}

func (v *values) over(merged map[string]any, what string, data []byte) (map[string]any, error) {
	if len(data) > manifest.MaxFileBytes {
		return nil, fault.Terminalf("TooLarge", "%s is %d bytes long, the limit is %d", what, len(data), manifest.MaxFileBytes)
	}
	add, err := loader.LoadValues(bytes.NewReader(data))
	if err != nil {
		return nil, fault.Terminalf("InvalidValues", "reading %s: %w; it has to be a mapping in YAML", what, err)
	}
	return loader.MergeMaps(merged, add), nil
}

// set puts the parameters in: first those of --set, then those of --set-string, then those of --set-file, as Helm has it.
func (v *values) set(merged map[string]any) error {
	for _, forced := range []bool{false, true} {
		for _, parameter := range v.of.Parameters {
			if parameter.ForceString != forced {
				continue
			}
			parse := strvals.ParseInto
			if forced {
				parse = strvals.ParseIntoString
			}
			if parameter.Name == "" {
				return fault.Terminalf("InvalidValues", "a parameter of helm.parameters has no name; give it one")
			}
			if err := parse(parameter.Name+"="+escape(parameter.Value), merged); err != nil {
				return fault.Terminalf("InvalidValues", "reading the parameter %q: %w", parameter.Name, err)
			}
		}
	}
	for _, parameter := range v.of.FileParameters {
		if err := v.setFile(parameter, merged); err != nil {
			return err
		}
	}
	return nil
}

func (v *values) setFile(parameter v1alpha1.HelmFileParameter, merged map[string]any) error {
	what := fmt.Sprintf("file parameter %q", parameter.Name)
	file, err := v.resolve(what, parameter.Path)
	if err != nil {
		return err
	}
	if file.need != nil {
		return fault.Terminalf("InvalidValues", "%s: %q is a URL, and only files of a repository are read here", what, parameter.Path)
	}
	data, err := v.load(file)
	if err != nil {
		return err
	}
	content := func([]rune) (any, error) { return string(data), nil }
	if err := strvals.ParseIntoFile(parameter.Name+"=file", merged, content); err != nil {
		return fault.Terminalf("InvalidValues", "reading the %s: %w", what, err)
	}
	return nil
}

// bareComma is a comma that nothing escapes.
var bareComma = regexp.MustCompile(`([^\\]),`)

// escape keeps a comma in a parameter from beginning the next one. A list in braces keeps its commas.
func escape(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	return bareComma.ReplaceAllString(value, `$1\,`)
}

func (v *values) load(file file) ([]byte, error) {
	v.read++
	tree := v.trees[file.tree]
	if info, err := fs.Stat(tree, file.path); err == nil && info.Size() > manifest.MaxFileBytes {
		return nil, fault.Terminalf("TooLarge", "%s is %d bytes long, the limit is %d", file, info.Size(), manifest.MaxFileBytes)
	}
	data, err := fs.ReadFile(tree, file.path)
	if err != nil {
		return nil, fault.Terminalf("ValueFileUnreadable", "reading %s: %w", file, err)
	}
	if bytes.HasPrefix(data, []byte(pointer)) {
		return nil, fault.Terminalf("ValueFileUnreadable", "the content of %s is in Git LFS, which is not read by this build; "+
			"commit it without", file)
	}
	return data, nil
}
