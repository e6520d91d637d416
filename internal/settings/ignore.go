package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// IgnoreRule is a rule of argocd-cm for all applications: fields of the
// matching objects whose difference does not count. Group and Kind are globs.
type IgnoreRule struct {
	Group, Kind string
	Pointers    []string
	Expressions []string // jq
	Managers    []string
	// Origin is the key of the config map, for people.
	Origin string
}

// CompareOptions are the switches of resource.compareoptions. The zero value
// is the default.
type CompareOptions struct {
	// Status says whose status is not compared: "" is that of every object,
	// "crd" of CustomResourceDefinitions, "none" of none.
	Status string
	// IgnoreAggregatedRoles leaves out the rules of aggregated ClusterRoles.
	IgnoreAggregatedRoles bool
}

// ignoring is what the keys about ignored fields say.
type ignoring struct {
	rules       []IgnoreRule
	compare     CompareOptions
	problems    []string
	notHonoured []string
}

// ignores reports whether a key is one that parseIgnore reads.
func ignores(key string) bool {
	return key == v1alpha1.KeyCustomizations || key == v1alpha1.KeyCompareOptions ||
		strings.HasPrefix(key, v1alpha1.KeyCustomizationsIgnoreDiffPrefix)
}

// parseIgnore reads the keys about ignored fields, in the order of their
// names: the old map first.
func parseIgnore(data map[string]string) ignoring {
	var out ignoring
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch suffix, isRule := strings.CutPrefix(key, v1alpha1.KeyCustomizationsIgnoreDiffPrefix); {
		case isRule:
			out.key(key, suffix, data[key])
		case key == v1alpha1.KeyCustomizations:
			out.legacy(data[key])
		case key == v1alpha1.KeyCompareOptions:
			out.options(data[key])
		}
	}
	return out
}

func (o *ignoring) problem(key, format string, args ...any) {
	o.problems = append(o.problems, key+": "+fmt.Sprintf(format, args...))
}

// key reads a key that ends in <group>_<Kind>, <Kind> or all.
func (o *ignoring) key(key, suffix, text string) {
	rule := IgnoreRule{Origin: v1alpha1.ConfigMapSettings + " " + key}
	parts := strings.Split(suffix, "_")
	switch {
	case suffix == "all":
		rule.Group, rule.Kind = "*", "*"
	case len(parts) == 1 && suffix != "":
		rule.Kind = suffix
	case len(parts) == 2 && parts[1] != "":
		rule.Group, rule.Kind = parts[0], parts[1]
	default:
		o.problem(key, "%q is not a kind; end the key in group_Kind, Kind or all", suffix)
		return
	}
	o.rule(key, rule, text)
}

// ignored is the content of a rule.
type ignored struct {
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

func (o *ignoring) rule(key string, rule IgnoreRule, text string) {
	var content ignored
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		o.problem(key, "no list of jsonPointers, jqPathExpressions or managedFieldsManagers: %v", err)
		return
	}
	if err := yaml.UnmarshalStrict([]byte(text), &ignored{}); err != nil {
		o.problem(key, "a part of it is not understood and the rest holds: %v", err)
	}
	rule.Pointers, rule.Expressions = content.JSONPointers, content.JQPathExpressions
	rule.Managers = content.ManagedFieldsManagers
	if len(rule.Pointers)+len(rule.Expressions)+len(rule.Managers) > 0 {
		o.rules = append(o.rules, rule)
	}
}

// legacy reads the old map from group/Kind to everything about that kind. It
// is the only place for wildcards, since a key of a config map can have none.
func (o *ignoring) legacy(text string) {
	key := v1alpha1.KeyCustomizations
	var all map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		o.problem(key, "no map from group/Kind to its customizations: %v", err)
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		for _, what := range slices.Sorted(maps.Keys(all[kind])) {
			where := fmt.Sprintf("%s %s %s", key, kind, what)
			switch what {
			case "ignoreDifferences":
			case legacyHealth, legacyOpenLibs, legacyActions:
				continue // parseScripts reads them
			default:
				o.notHonoured = append(o.notHonoured, where)
				continue
			}
			o.legacyRule(where, kind, all[kind][what])
		}
	}
}

func (o *ignoring) legacyRule(where, kind string, content any) {
	rule := IgnoreRule{Kind: kind, Origin: v1alpha1.ConfigMapSettings + " " + where}
	if group, name, ok := strings.Cut(kind, "/"); ok {
		rule.Group, rule.Kind = group, name
	}
	if rule.Kind == "" || strings.Contains(rule.Kind, "/") {
		o.problem(where, "%q is not a kind; write group/Kind, with * for any", kind)
		return
	}
	// Argo CD wants text here; the same as a map means the same.
	text, ok := content.(string)
	if !ok {
		raw, err := yaml.Marshal(content)
		if err != nil {
			o.problem(where, "it cannot be read: %v", err)
			return
		}
		text = string(raw)
	}
	o.rule(where, rule, text)
}

func (o *ignoring) options(text string) {
	key := v1alpha1.KeyCompareOptions
	var all map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		o.problem(key, "no map of options: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch name {
		case "ignoreResourceStatusField":
			o.status(fmt.Sprint(all[name]))
		case "ignoreAggregatedRoles":
			on, ok := all[name].(bool)
			if !ok {
				o.problem(key, "%s is %v, which is neither true nor false; using false", name, all[name])
			}
			o.compare.IgnoreAggregatedRoles = on
		case "ignoreDifferencesOnResourceUpdates":
			// An update of what is not ours starts no work in any case.
		default:
			o.notHonoured = append(o.notHonoured, key+" "+name)
		}
	}
}

// status reads whose status is not compared; YAML makes a false of off.
func (o *ignoring) status(value string) {
	switch value {
	case "", "all":
		o.compare.Status = ""
	case "crd":
		o.compare.Status = "crd"
	case "none", "off", "false":
		o.compare.Status = "none"
	default:
		o.problem(v1alpha1.KeyCompareOptions, "ignoreResourceStatusField is %q, which is none of all, crd and none; using all", value)
	}
}
