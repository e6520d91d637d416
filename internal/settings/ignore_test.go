package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/settings"
)

const (
	prefix  = "resource.customizations.ignoreDifferences."
	legacy  = "resource.customizations"
	options = "resource.compareoptions"
)

func TestIgnoreRules(t *testing.T) {
	cases := map[string]struct {
		data map[string]string
		want []settings.IgnoreRule
	}{
		"group and kind": {
			map[string]string{prefix + "apps_Deployment": "jsonPointers:\n- /spec/replicas\n"},
			[]settings.IgnoreRule{{
				Group: "apps", Kind: "Deployment", Pointers: []string{"/spec/replicas"},
				Origin: "argocd-cm " + prefix + "apps_Deployment",
			}},
		},
		"a kind of the core group": {
			map[string]string{prefix + "Service": "managedFieldsManagers: [cloud]"},
			[]settings.IgnoreRule{{Kind: "Service", Managers: []string{"cloud"}, Origin: "argocd-cm " + prefix + "Service"}},
		},
		"all kinds": {
			map[string]string{prefix + "all": "jqPathExpressions: ['.spec.x[]?']"},
			[]settings.IgnoreRule{{Group: "*", Kind: "*", Expressions: []string{".spec.x[]?"}, Origin: "argocd-cm " + prefix + "all"}},
		},
		"nothing in it": {map[string]string{prefix + "Service": ""}, nil},
		"the old map, in order": {
			map[string]string{legacy: `
"*.example.com/Bucket":
  ignoreDifferences: |
    jsonPointers: [/spec/a]
"*/*":
  ignoreDifferences:
    managedFieldsManagers: [x]
Service:
  ignoreDifferences: |
    jsonPointers: [/spec/b]
`},
			[]settings.IgnoreRule{
				{Group: "*.example.com", Kind: "Bucket", Pointers: []string{"/spec/a"}, Origin: "argocd-cm resource.customizations *.example.com/Bucket ignoreDifferences"},
				{Group: "*", Kind: "*", Managers: []string{"x"}, Origin: "argocd-cm resource.customizations */* ignoreDifferences"},
				{Kind: "Service", Pointers: []string{"/spec/b"}, Origin: "argocd-cm resource.customizations Service ignoreDifferences"},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(c.data)
			want := settings.Default()
			want.IgnoreDifferences = c.want
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the settings differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestCompareOptions(t *testing.T) {
	for text, want := range map[string]settings.CompareOptions{
		"":                                         {},
		"ignoreResourceStatusField: all":           {},
		"ignoreResourceStatusField: crd":           {Status: "crd"},
		"ignoreResourceStatusField: none":          {Status: "none"},
		"ignoreResourceStatusField: off":           {Status: "none"},
		"ignoreResourceStatusField: 'off'":         {Status: "none"},
		"ignoreResourceStatusField: 'false'":       {Status: "none"},
		"ignoreAggregatedRoles: true":              {IgnoreAggregatedRoles: true},
		"ignoreAggregatedRoles: false":             {},
		"ignoreDifferencesOnResourceUpdates: true": {},
	} {
		t.Run(text, func(t *testing.T) {
			all := settings.Default()
			all.Compare = want
			if d := cmp.Diff(all, settings.Parse(map[string]string{options: text})); d != "" {
				t.Errorf("the settings differ (-want +got):\n%s", d)
			}
		})
	}
}

// TestIgnoreProblems: what cannot be read is named, and never read as something
// else.
func TestIgnoreProblems(t *testing.T) {
	for name, c := range map[string]struct{ key, text, want string }{
		"no YAML":                 {prefix + "apps_Deployment", "jsonPointers: [", prefix + "apps_Deployment"},
		"no list":                 {prefix + "apps_Deployment", "jsonPointers: /spec", "jsonPointers"},
		"a name too many":         {prefix + "a_b_c", "jsonPointers: [/a]", `"a_b_c" is not a kind`},
		"no kind":                 {prefix + "apps_", "jsonPointers: [/a]", `"apps_" is not a kind`},
		"nothing at all":          {prefix, "jsonPointers: [/a]", `"" is not a kind`},
		"the old map is text":     {legacy, "hello", "no map"},
		"an old kind is odd":      {legacy, "a/b/c: {ignoreDifferences: 'jsonPointers: [/a]'}", `"a/b/c" is not a kind`},
		"an old rule is odd":      {legacy, "a/b: {ignoreDifferences: 'jsonPointers: 1'}", "a/b ignoreDifferences"},
		"an unknown status":       {options, "ignoreResourceStatusField: some", `"some"`},
		"no switch":               {options, "ignoreAggregatedRoles: maybe", "maybe"},
		"options that are a list": {options, "- a", "no map of options"},
	} {
		t.Run(name, func(t *testing.T) {
			got := settings.Parse(map[string]string{c.key: c.text})
			if len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0], c.key) || !strings.Contains(got.Problems[0], c.want) {
				t.Errorf("the problems are %q", got.Problems)
			}
			if got.IgnoreDifferences != nil || got.Compare != (settings.CompareOptions{}) || got.NotHonoured != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAnUnknownPartOfARuleIsNamedAndTheRestHolds(t *testing.T) {
	got := settings.Parse(map[string]string{prefix + "all": "jsonPointers: [/a]\njsonPointer: [/b]"})
	if len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "jsonPointer") || len(got.IgnoreDifferences) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestTheRestOfTheOldMapIsNotHonoured(t *testing.T) {
	got := settings.Parse(map[string]string{
		legacy:  "apps/Deployment:\n  health.lua: x\n  knownTypeFields: []\n  ignoreDifferences: 'jsonPointers: [/a]'\n",
		options: "somethingNew: true",
		"a":     "1",
	})
	want := []string{"a", "resource.compareoptions somethingNew", "resource.customizations apps/Deployment knownTypeFields"}
	if d := cmp.Diff(want, got.NotHonoured); d != "" {
		t.Errorf("not honoured (-want +got):\n%s", d)
	}
	if len(got.IgnoreDifferences) != 1 || got.Problems != nil {
		t.Errorf("got %+v", got)
	}
}
