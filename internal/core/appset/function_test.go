package appset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
)

func diffOf(a, b any) string { return cmp.Diff(a, b) }

// TestFunctions fills one text in with the parameters {name: "shop", branch: "Feature/ADD_a.Very+long branch", list: [b, a]}.
func TestFunctions(t *testing.T) {
	tests := map[string]struct{ text, want, failure string }{
		"a parameter":                  {text: `{{ .name }}`, want: "shop"},
		"sprig":                        {text: `{{ .name | upper | quote }}`, want: `"SHOP"`},
		"a missing parameter":          {text: `{{ .nothing }}`, want: "<no value>"},
		"a missing one with a default": {text: `{{ dig "nothing" "else" . }}`, want: "else"},
		"normalize":                    {text: `{{ normalize .branch }}`, want: "feature-add-a.very-long-branch"},
		"slugify":                      {text: `{{ slugify .branch }}`, want: "feature-add-a-very-long-branch"},
		"slugify cuts between words":   {text: `{{ .branch | slugify 12 }}`, want: "feature-add"},
		"slugify cuts anywhere":        {text: `{{ slugify 9 false .branch }}`, want: "feature-a"},
		"slugify of one long word":     {text: `{{ slugify 4 "abcdefgh" }}`, want: "abcd"},
		"slugify of a word that fits":  {text: `{{ slugify 11 "feature-add" }}`, want: "feature-add"},
		"slugify with a wrong length":  {text: `{{ slugify "x" .branch }}`, failure: "takes a length first"},
		"slugify with a wrong flag":    {text: `{{ slugify 5 "x" .branch }}`, failure: "takes true or false second"},
		"slugify of a list":            {text: `{{ slugify .list }}`, failure: "takes a string last"},
		"toYaml":                       {text: `{{ toYaml .list }}`, want: "- b\n- a"},
		"toJson":                       {text: `{{ toJson .list }}`, want: `["b","a"]`},
		"fromYaml":                     {text: `{{ (fromYaml "a: {b: c}").a.b }}`, want: "c"},
		"fromYamlArray":                {text: `{{ index (fromYamlArray "[a, b]") 1 }}`, want: "b"},
		"fromYaml of nonsense":         {text: `{{ fromYaml "a: [" }}`, failure: "fromYaml"},
		"sorting":                      {text: `{{ sortAlpha .list | join "-" }}`, want: "a-b"},
		"the time":                     {text: `{{ now | date "2006-01-02" }}`, want: "2026-01-02"},
		"a time ago":                   {text: `{{ ago now }}`, want: "0s"},
		"the environment":              {text: `{{ env "HOME" }}`, failure: `function "env" not defined`},
		"the environment in a text":    {text: `{{ expandenv "$HOME" }}`, failure: `function "expandenv" not defined`},
		"the network":                  {text: `{{ getHostByName "x" }}`, failure: `function "getHostByName" not defined`},
		"chance":                       {text: `{{ randAlphaNum 5 }}`, failure: "sha256sum"},
		"a key":                        {text: `{{ genPrivateKey "rsa" }}`, failure: "sha256sum"},
		"too long a text":              {text: `{{ range until 100000 }}0123456789{{ . }}{{ end }}`, failure: "longer than"},
		"too long a repetition":        {text: `{{ repeat 1000000000 "x" }}`, failure: "longer than"},
		"too many numbers":             {text: `{{ range until 1000000000 }}x{{ end }}`, failure: "100000 are the most"},
		"too many numbers by steps":    {text: `{{ range untilStep 0 1000000000 1 }}x{{ end }}`, failure: "100000 are the most"},
		"too long a sequence":          {text: `{{ seq 1 1000000000 }}`, failure: "100000 are the most"},
		"a deep indentation":           {text: `{{ indent 1000000000 "x" }}`, failure: "longer than"},
		"a deep indentation, new line": {text: `{{ nindent 1000000000 "x" }}`, failure: "longer than"},
		"an indentation":               {text: `{{ nindent 2 "x" }}`, want: "\n  x"},
		"a repetition":                 {text: `{{ repeat 3 "ab" }}`, want: "ababab"},
		"numbers":                      {text: `{{ range until 3 }}{{ . }}{{ end }} {{ seq 1 3 }}`, want: "012 1 2 3"},
		"numbers by steps":             {text: `{{ range untilStep 0 6 2 }}{{ . }}{{ end }}`, want: "024"},
		"endless recursion": {
			text: `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, failure: "maximum template depth",
		},
		"one text does not see others": {text: `{{ template "a" . }}`, failure: `template "a" not defined`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, []byte(`
spec:
  goTemplate: true
  generators:
  - list: {elements: [{name: shop, branch: "Feature/ADD_a.Very+long branch", list: [b, a]}]}
  template:
    metadata: {name: app}
    spec: {}
`))
			set.Spec.Template.Annotations = map[string]string{"text": test.text}
			r := appset.Generate(set, appset.World{Now: start})
			switch {
			case test.failure != "":
				if !strings.Contains(r.Failure, test.failure) {
					t.Errorf("it fails with %q, and not with %q", r.Failure, test.failure)
				}
			case r.Failure != "":
				t.Error(r.Failure)
			default:
				if d := cmp.Diff(test.want, r.Apps[0].Annotations["text"]); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestNeedKey: how often to ask, and what becomes of an answer, are no part of a question.
func TestNeedKey(t *testing.T) {
	need := func(text string) appset.Need {
		var g v1alpha1.ApplicationSetGenerator
		if err := yaml.UnmarshalStrict([]byte(text), &g); err != nil {
			t.Fatal(err)
		}
		return appset.Need{PullRequest: g.PullRequest, SCMProvider: g.SCMProvider, Plugin: g.Plugin, Decision: g.ClusterDecisionResource}
	}
	tests := map[string]struct {
		a, b string
		same bool
	}{
		"the same": {`pullRequest: {github: {owner: a, repo: b}}`, `pullRequest: {github: {repo: b, owner: a}}`, true},
		"values": {
			`pullRequest: {github: {owner: a, repo: b}, values: {x: y}, requeueAfterSeconds: 5}`,
			`pullRequest: {github: {repo: b, owner: a}}`, true,
		},
		"another repository": {`pullRequest: {github: {owner: a, repo: b}}`, `pullRequest: {github: {owner: a, repo: c}}`, false},
		"filters": {
			`scmProvider: {github: {organization: a}}`, `scmProvider: {github: {organization: a}, filters: [{branchMatch: main}]}`, false,
		},
		"plugin": {
			`plugin: {configMapRef: {name: a}, input: {parameters: {x: 1}}, values: {y: z}}`,
			`plugin: {configMapRef: {name: a}, input: {parameters: {x: 1}}}`, true,
		},
		"plugin with other input": {
			`plugin: {configMapRef: {name: a}, input: {parameters: {x: 1}}}`,
			`plugin: {configMapRef: {name: a}, input: {parameters: {x: 2}}}`, false,
		},
		"decision": {
			`clusterDecisionResource: {configMapRef: a, name: b, requeueAfterSeconds: 3}`,
			`clusterDecisionResource: {configMapRef: a, name: b}`, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := need(test.a).Key() == need(test.b).Key(); got != test.same {
				t.Errorf("the same question: %v\n%s\n%s", got, need(test.a).Key(), need(test.b).Key())
			}
		})
	}
}

// TestTemplatesLeaveParametersAlone: a template that changes a map changes its own copy. Sets share what they hold, and an
// answer is kept for the next time.
func TestTemplatesLeaveParametersAlone(t *testing.T) {
	set := setOf(t, []byte(`
spec:
  goTemplate: true
  generators:
  - matrix:
      generators:
      - plugin: {configMapRef: {name: p}}
      - list: {elements: [{app: a}, {app: b}]}
  template:
    metadata:
      name: '{{ .app }}'
      annotations:
        first: '{{ $_ := set .shared "seen" (add1 (default 0 .shared.seen)) }}{{ $_ := set (index .list 0) "x" 1 }}{{ .shared.seen }}'
        second: '{{ $_ := merge .shared (dict "more" "yes") }}{{ .shared | toJson }}'
        third: '{{ $_ := unset .shared "kept" }}{{ toJson .shared }}'
    spec: {}
`))
	answer := appset.Answer{Sets: []map[string]any{{"shared": map[string]any{"kept": "x"}, "list": []any{map[string]any{}}}}}
	need := appset.Need{Plugin: set.Spec.Generators[0].Matrix.Generators[0].Plugin}
	w := appset.World{Now: start, Answers: map[string]appset.Answer{need.Key(): answer}}
	r := appset.Generate(set, w)
	if r.Failure != "" || len(r.Apps) != 2 {
		t.Fatal(r.Failure, len(r.Apps))
	}
	for _, app := range r.Apps {
		want := map[string]string{"first": "1", "second": `{"kept":"x","more":"yes"}`, "third": "{}"}
		if d := cmp.Diff(want, app.Annotations); d != "" {
			t.Errorf("%s: %s", app.Name, d)
		}
	}
	before := []map[string]any{{"shared": map[string]any{"kept": "x"}, "list": []any{map[string]any{}}}}
	if d := cmp.Diff(before, answer.Sets); d != "" {
		t.Errorf("the answer was changed: %s", d)
	}
}
