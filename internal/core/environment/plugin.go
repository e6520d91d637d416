package environment

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// own begins the names of the variables that an Application gives to its plugin, so that they cannot be taken for others.
const own = "ARGOCD_ENV_"

// Plugin are the variables that a config management plugin is told, each as NAME=value: the build environment with what
// is known of the cluster, those of the Application under names that begin with ARGOCD_ENV_, and its parameters, together
// as JSON and one by one. Variables may stand in the values of the Application's own.
func Plugin(req manifest.Request) (all, notes []string, err error) {
	values := Of(req)
	values["KUBE_VERSION"] = req.Kube.Version
	values["KUBE_API_VERSIONS"] = strings.Join(req.Kube.APIs, ",")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, name+"="+values[name])
	}
	of := req.Source.Plugin
	if of == nil {
		of = &v1alpha1.ApplicationSourcePlugin{}
	}
	s := substitution{values: values}
	for _, e := range of.Env {
		if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") {
			return nil, nil, fault.Terminalf("InvalidPlugin", "plugin.env has a variable named %q, which no program can be given; "+
				"a name is not empty and holds no equals sign", e.Name)
		}
		all = append(all, own+e.Name+"="+s.text("plugin.env "+e.Name, e.Value))
	}
	parameters, err := pluginParameters(of.Parameters)
	if err != nil {
		return nil, nil, err
	}
	all = append(all, parameters...)
	for _, variable := range all {
		if name, _, _ := strings.Cut(variable, "="); strings.Contains(variable, "\x00") {
			return nil, nil, fault.Terminalf("InvalidPlugin", "the value of %s holds a zero byte, which no program can be given", name)
		}
	}
	return all, s.notes, nil
}

func pluginParameters(of []v1alpha1.ApplicationSourcePluginParameter) ([]string, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("encoding plugin.parameters: %w", err)
	}
	out := []string{"ARGOCD_APP_PARAMETERS=" + string(text)}
	for _, p := range of {
		name := "PARAM_" + variableName(p.Name)
		if p.String != nil {
			out = append(out, name+"="+*p.String)
		}
		for _, key := range slices.Sorted(maps.Keys(p.Map)) {
			out = append(out, name+"_"+variableName(key)+"="+p.Map[key])
		}
		for i, value := range p.Array {
			out = append(out, name+"_"+strconv.Itoa(i)+"="+value)
		}
	}
	return out, nil
}

var notInNames = regexp.MustCompile(`[^A-Z0-9_]`)

// variableName is a name as shells know them.
func variableName(text string) string { return notInNames.ReplaceAllString(strings.ToUpper(text), "_") }
