package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// HealthScript is the Lua that judges the objects of a kind. Kind is written
// as group/Kind, or Kind alone for the core group, with * for anything.
type HealthScript struct {
	Kind     string
	Source   string
	OpenLibs bool
	// Origin is the key of the config map, for people.
	Origin string
}

// ActionScripts are the actions that a user made for a kind, written as in
// HealthScript.
type ActionScripts struct {
	Kind string
	// Discovery is the Lua that says which actions an object has now.
	Discovery   string
	Definitions []ActionScript
	// MergeBuiltin keeps the kind's own actions beside these.
	MergeBuiltin bool
	OpenLibs     bool
	Origin       string
}

// ActionScript is the Lua of one action.
type ActionScript struct {
	Name   string `json:"name"`
	Source string `json:"action.lua"`
}

// scripted reports whether a key is one that parseScripts reads.
func scripted(key string) bool {
	return slices.ContainsFunc([]string{
		v1alpha1.KeyCustomizationsHealthPrefix, v1alpha1.KeyCustomizationsActionsPrefix, v1alpha1.KeyCustomizationsUseOpenLibsPrefix,
	}, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Parts of the old map that are about scripts.
const (
	legacyHealth   = "health.lua"
	legacyOpenLibs = "health.lua.useOpenLibs"
	legacyActions  = "actions"
)

// scripts is what the keys about Lua say, by kind.
type scripts struct {
	health   map[string]HealthScript
	actions  map[string]ActionScripts
	open     map[string]bool
	problems []string
}

// parseScripts reads the keys about Lua. A key about one thing wins over the
// same in the old map.
func parseScripts(data map[string]string) *scripts {
	out := &scripts{health: map[string]HealthScript{}, actions: map[string]ActionScripts{}, open: map[string]bool{}}
	out.legacy(data[v1alpha1.KeyCustomizations])
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for prefix, read := range map[string]func(key, kind, text string){
			v1alpha1.KeyCustomizationsHealthPrefix:      out.healthScript,
			v1alpha1.KeyCustomizationsActionsPrefix:     out.actionScripts,
			v1alpha1.KeyCustomizationsUseOpenLibsPrefix: out.openLibs,
		} {
			suffix, ok := strings.CutPrefix(key, prefix)
			if !ok {
				continue
			}
			kind, ok := kindOf(suffix)
			if !ok {
				out.problem(key, "%q is not a kind; end the key in group_Kind or Kind", suffix)
				continue
			}
			read(key, kind, data[key])
		}
	}
	return out
}

// kindOf reads group_Kind or Kind.
func kindOf(suffix string) (string, bool) {
	group, kind, grouped := strings.Cut(suffix, "_")
	switch {
	case suffix == "" || strings.Contains(kind, "_") || grouped && (group == "" || kind == ""):
		return "", false
	case grouped:
		return group + "/" + kind, true
	default:
		return suffix, true
	}
}

func (s *scripts) problem(key, format string, args ...any) {
	s.problems = append(s.problems, key+": "+fmt.Sprintf(format, args...))
}

func origin(key string) string { return v1alpha1.ConfigMapSettings + " " + key }

func (s *scripts) healthScript(key, kind, text string) {
	if strings.TrimSpace(text) != "" {
		s.health[kind] = HealthScript{Kind: kind, Source: text, Origin: origin(key)}
	}
}

func (s *scripts) openLibs(key, kind, text string) {
	on, err := strconv.ParseBool(strings.TrimSpace(text))
	if err != nil {
		s.problem(key, "%q is neither true nor false; using false", text)
	}
	s.open[kind] = on
}

// actionContent is how actions are written.
type actionContent struct {
	Discovery    string         `json:"discovery.lua"`
	Definitions  []ActionScript `json:"definitions"`
	MergeBuiltin bool           `json:"mergeBuiltinActions"`
}

func (s *scripts) actionScripts(key, kind, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	var c actionContent
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		s.problem(key, "no discovery.lua, definitions and mergeBuiltinActions: %v", err)
		return
	}
	seen := map[string]bool{}
	for _, d := range c.Definitions {
		if d.Name == "" || seen[d.Name] {
			s.problem(key, "a definition has the name %q, which is empty or there twice; the key is left as if it were not there", d.Name)
			return
		}
		seen[d.Name] = true
	}
	s.actions[kind] = ActionScripts{
		Kind: kind, Discovery: c.Discovery, Definitions: c.Definitions, MergeBuiltin: c.MergeBuiltin, Origin: origin(key),
	}
}

// legacy reads the parts of the old map that are about scripts. What is wrong
// with the map as a whole is told where its other parts are read.
func (s *scripts) legacy(text string) {
	var all map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		for what, read := range map[string]func(key, kind, text string){
			legacyHealth: s.healthScript, legacyActions: s.actionScripts, legacyOpenLibs: s.openLibs,
		} {
			content, ok := all[kind][what]
			if ok {
				s.legacyPart(fmt.Sprintf("%s %s %s", v1alpha1.KeyCustomizations, kind, what), kind, content, read)
			}
		}
	}
}

func (s *scripts) legacyPart(where, kind string, content any, read func(key, kind, text string)) {
	if kind == "" || strings.Count(kind, "/") > 1 {
		s.problem(where, "%q is not a kind; write group/Kind, with * for any", kind)
		return
	}
	// Argo CD wants text here; the same as a value means the same.
	text, ok := content.(string)
	if !ok {
		raw, err := yaml.Marshal(content)
		if err != nil {
			s.problem(where, "it cannot be read: %v", err)
			return
		}
		text = string(raw)
	}
	read(where, kind, text)
}

// healthScripts are in the order of their kinds.
func (s *scripts) healthScripts() []HealthScript {
	var out []HealthScript
	for _, kind := range slices.Sorted(maps.Keys(s.health)) {
		h := s.health[kind]
		h.OpenLibs = s.open[kind]
		out = append(out, h)
	}
	return out
}

func (s *scripts) allActions() []ActionScripts {
	var out []ActionScripts
	for _, kind := range slices.Sorted(maps.Keys(s.actions)) {
		a := s.actions[kind]
		a.OpenLibs = s.open[kind]
		out = append(out, a)
	}
	return out
}
