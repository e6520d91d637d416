package kustomize

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/towline-cd/towline/internal/core/fault"
)

// options are those of `kustomize build` that are honoured.
type options struct {
	helm         bool
	kubeVersion  string
	apiVersions  []string
	restrictions types.LoadRestrictions
	reorder      krusty.ReorderOption
	managedBy    bool
	notes        []string
}

// switches are the options without a value, and what is said about those that are not honoured.
var switches = map[string]string{
	"--enable-helm":            "",
	"--enable-managedby-label": "",
	"--enable-alpha-plugins":   "plugins are programs, which are not run here; a kustomization that uses one is refused by name",
	"--enable-exec":            "plugins are programs, which are not run here; a kustomization that uses one is refused by name",
	"--enable-star":            "functions are not run here; a kustomization that uses one is refused by name",
	"--network":                "functions are not run here, and nothing has a network",
	"--as-current-user":        "functions are not run here",
	"--helm-debug":             "it has no effect here",
	"--stack-trace":            "it has no effect here",
}

// valued are the options with a value.
var valued = map[string]string{
	"--load-restrictor":   "",
	"--reorder":           "",
	"--helm-kube-version": "",
	"--helm-api-versions": "",
	"--helm-command":      "charts are rendered by the Helm that is built in",
	"--output":            "the result goes nowhere else",
	"-o":                  "the result goes nowhere else",
	"--network-name":      "functions are not run here, and nothing has a network",
	"--mount":             "functions are not run here",
	"--env":               "functions are not run here",
	"-e":                  "functions are not run here",
}

// parseOptions reads the options of the installation. An option that is merely not honoured is no reason to refuse a
// kustomization that has no use for it: it is noted, and what would have needed it is refused where it stands.
func parseOptions(written string) (options, error) {
	out := options{reorder: krusty.ReorderOptionUnspecified, restrictions: types.LoadRestrictionsRootOnly}
	words := strings.Fields(written)
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		if why, ok := switches[name]; ok {
			out.turn(name, why, !hasValue || value == "true")
			continue
		}
		why, ok := valued[name]
		if !ok {
			return out, misused("kustomize %s knows no option %q", version, words[i])
		}
		if !hasValue {
			if i++; i == len(words) {
				return out, misused("the option %s has no value", name)
			}
			value = words[i]
		}
		if why != "" {
			out.dishonour(name, why)
		} else if err := out.set(name, value); err != nil {
			return out, err
		}
	}
	return out, nil
}

func misused(format string, args ...any) error {
	return fault.Terminalf("InvalidOptions", "kustomize.buildOptions: "+format+"; correct it in argocd-cm", args...)
}

func (o *options) dishonour(name, why string) {
	o.notes = append(o.notes, fmt.Sprintf("the option %s of kustomize.buildOptions is not honoured: %s", name, why))
}

// turn takes an option without a value.
func (o *options) turn(name, why string, on bool) {
	if why != "" {
		o.dishonour(name, why)
	}
	o.helm = o.helm || name == "--enable-helm" && on
	o.managedBy = o.managedBy || name == "--enable-managedby-label" && on
}

func (o *options) set(name, value string) error {
	switch {
	case name == "--helm-kube-version":
		o.kubeVersion = value
	case name == "--helm-api-versions":
		o.apiVersions = append(o.apiVersions, strings.Split(value, ",")...)
	case name == "--load-restrictor" && value == types.LoadRestrictionsNone.String():
		o.restrictions = types.LoadRestrictionsNone
	case name == "--load-restrictor" && value == types.LoadRestrictionsRootOnly.String():
		o.restrictions = types.LoadRestrictionsRootOnly
	case name == "--reorder" && value == string(krusty.ReorderOptionNone):
		o.reorder = krusty.ReorderOptionNone
	case name == "--reorder" && value == string(krusty.ReorderOptionLegacy):
		o.reorder = krusty.ReorderOptionLegacy
	default:
		return misused("%s cannot be %q", name, value)
	}
	return nil
}
