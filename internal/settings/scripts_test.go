package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/settings"
)

const (
	healthKey  = "resource.customizations.health."
	actionsKey = "resource.customizations.actions."
	openKey    = "resource.customizations.useOpenLibs."
)

func TestScripts(t *testing.T) {
	cases := map[string]struct {
		data    map[string]string
		health  []settings.HealthScript
		actions []settings.ActionScripts
	}{
		"a kind with a group": {
			data: map[string]string{healthKey + "argoproj.io_Application": "return {}"},
			health: []settings.HealthScript{{
				Kind: "argoproj.io/Application", Source: "return {}", Origin: "argocd-cm " + healthKey + "argoproj.io_Application",
			}},
		},
		"a kind of the core group, with open libraries": {
			data:   map[string]string{healthKey + "Service": "x", openKey + "Service": "true", openKey + "Pod": "true"},
			health: []settings.HealthScript{{Kind: "Service", Source: "x", OpenLibs: true, Origin: "argocd-cm " + healthKey + "Service"}},
		},
		"nothing in it": {data: map[string]string{healthKey + "Service": " \n", actionsKey + "Service": ""}},
		"the old map": {
			data: map[string]string{legacy: `
"*.example.com/*":
  health.lua: one
  health.lua.useOpenLibs: true
apps/Deployment:
  health.lua: |
    two
  actions: |
    mergeBuiltinActions: true
    discovery.lua: three
    definitions:
    - name: grow
      action.lua: four
`},
			health: []settings.HealthScript{
				{Kind: "*.example.com/*", Source: "one", OpenLibs: true, Origin: "argocd-cm resource.customizations *.example.com/* health.lua"},
				{Kind: "apps/Deployment", Source: "two\n", Origin: "argocd-cm resource.customizations apps/Deployment health.lua"},
			},
			actions: []settings.ActionScripts{{
				Kind: "apps/Deployment", Discovery: "three", MergeBuiltin: true,
				Definitions: []settings.ActionScript{{Name: "grow", Source: "four"}},
				Origin:      "argocd-cm resource.customizations apps/Deployment actions",
			}},
		},
		"a key wins over the old map": {
			data: map[string]string{
				legacy:                        "apps/Deployment: {health.lua: old, health.lua.useOpenLibs: true}",
				healthKey + "apps_Deployment": "new",
				openKey + "apps_Deployment":   "false",
			},
			health: []settings.HealthScript{{Kind: "apps/Deployment", Source: "new", Origin: "argocd-cm " + healthKey + "apps_Deployment"}},
		},
		"actions": {
			data: map[string]string{actionsKey + "apps_Deployment": "discovery.lua: a\ndefinitions: [{name: b, action.lua: c}]"},
			actions: []settings.ActionScripts{{
				Kind: "apps/Deployment", Discovery: "a", Definitions: []settings.ActionScript{{Name: "b", Source: "c"}},
				Origin: "argocd-cm " + actionsKey + "apps_Deployment",
			}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := settings.Default()
			want.Health, want.Actions = c.health, c.actions
			if d := cmp.Diff(want, settings.Parse(c.data)); d != "" {
				t.Errorf("the settings differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestScriptProblems(t *testing.T) {
	for name, c := range map[string]struct{ key, text, want string }{
		"a name too many":        {healthKey + "a_b_c", "x", `"a_b_c" is not a kind`},
		"no kind":                {healthKey + "apps_", "x", `"apps_" is not a kind`},
		"no group":               {actionsKey + "_Kind", "x", `"_Kind" is not a kind`},
		"nothing at all":         {openKey, "true", `"" is not a kind`},
		"no switch":              {openKey + "Pod", "maybe", `"maybe"`},
		"no actions":             {actionsKey + "Pod", "- x", "discovery.lua"},
		"an unknown part":        {actionsKey + "Pod", "discovery.lua: x\ndefinition: []", "definition"},
		"an action twice":        {actionsKey + "Pod", "definitions: [{name: a}, {name: a}]", `"a"`},
		"an action with no name": {actionsKey + "Pod", "definitions: [{action.lua: x}]", `""`},
		"an old kind is odd":     {legacy, "a/b/c: {health.lua: x}", `"a/b/c" is not a kind`},
	} {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(map[string]string{c.key: c.text})
			if len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0], c.key) || !strings.Contains(got.Problems[0], c.want) {
				t.Errorf("the problems are %q", got.Problems)
			}
			if got.Health != nil || got.Actions != nil || got.NotHonoured != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}
