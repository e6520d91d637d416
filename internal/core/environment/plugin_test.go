package environment_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/environment"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestPluginVariables(t *testing.T) {
	req := manifest.Request{App: app, Kube: manifest.Kube{Version: "1.36.3", APIs: []string{"apps/v1", "v1"}}}
	req.Source = v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop", Path: "deploy", TargetRevision: "main"}
	req.Source.Plugin = &v1alpha1.ApplicationSourcePlugin{
		Env: []v1alpha1.EnvEntry{
			{Name: "LEVEL", Value: "$ARGOCD_APP_NAME on ${KUBE_VERSION} costs $$5"}, {Name: "ARGOCD_APP_NAME", Value: "other"}, {Name: "odd", Value: "$NOTHING"},
		},
		Parameters: []v1alpha1.ApplicationSourcePluginParameter{
			{Name: "a-string", String: new("$ARGOCD_APP_NAME")},
			{Name: "list", Array: []string{"x", "y"}},
			{Name: "map", Map: map[string]string{"b.c": "2", "a": "1"}},
		},
	}
	got, notes, err := environment.Plugin(req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ARGOCD_APP_NAME=shop",
		"ARGOCD_APP_NAMESPACE=prod",
		"ARGOCD_APP_PROJECT_NAME=retail",
		"ARGOCD_APP_REVISION=0123456789abcdef",
		"ARGOCD_APP_REVISION_SHORT=0123456",
		"ARGOCD_APP_REVISION_SHORT_8=01234567",
		"ARGOCD_APP_SOURCE_PATH=deploy",
		"ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop",
		"ARGOCD_APP_SOURCE_TARGET_REVISION=main",
		"KUBE_API_VERSIONS=apps/v1,v1",
		"KUBE_VERSION=1.36.3",
		"ARGOCD_ENV_LEVEL=shop on 1.36.3 costs $5",
		"ARGOCD_ENV_ARGOCD_APP_NAME=other",
		"ARGOCD_ENV_odd=",
		`ARGOCD_APP_PARAMETERS=[{"name":"a-string","string":"$ARGOCD_APP_NAME"},{"name":"list","array":["x","y"]},{"name":"map","map":{"a":"1","b.c":"2"}}]`,
		"PARAM_A_STRING=$ARGOCD_APP_NAME",
		"PARAM_LIST_0=x",
		"PARAM_LIST_1=y",
		"PARAM_MAP_A=1",
		"PARAM_MAP_B_C=2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "plugin.env odd") {
		t.Errorf("the notes are %q", notes)
	}
	req.Source.Plugin = &v1alpha1.ApplicationSourcePlugin{}
	if got, _, _ = environment.Plugin(req); got[len(got)-1] != "ARGOCD_APP_PARAMETERS=null" {
		t.Errorf("without parameters: %q", got)
	}
}

func TestPluginVariablesThatNoProgramCanBeGiven(t *testing.T) {
	for name, of := range map[string]v1alpha1.ApplicationSourcePlugin{
		"no name":     {Env: []v1alpha1.EnvEntry{{Value: "x"}}},
		"equals sign": {Env: []v1alpha1.EnvEntry{{Name: "A=B", Value: "x"}}},
		"zero byte":   {Env: []v1alpha1.EnvEntry{{Name: "A", Value: "x\x00y"}}},
		"a parameter": {Parameters: []v1alpha1.ApplicationSourcePluginParameter{{Name: "p", String: new("x\x00y")}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := environment.Plugin(manifest.Request{Source: v1alpha1.ApplicationSource{Plugin: &of}})
			if fault.ReasonOf(err) != "InvalidPlugin" || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("got %v", err)
			}
		})
	}
}
