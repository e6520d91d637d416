package environment_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/environment"
	"github.com/towline-cd/towline/internal/core/manifest"
)

var app = manifest.App{Name: "shop", Project: "retail", Namespace: "prod", Revision: "0123456789abcdef"}

func TestExpand(t *testing.T) {
	values := environment.Of(manifest.Request{
		App:    app,
		Source: v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop", Path: "deploy", TargetRevision: "main"},
	})
	tests := map[string]string{
		"":                                    "",
		"plain":                               "plain",
		"$ARGOCD_APP_NAME":                    "shop",
		"a-$ARGOCD_APP_NAME-b":                "a-shop-b",
		"${ARGOCD_APP_NAME}_x":                "shop_x",
		"$ARGOCD_APP_NAME_x":                  "",
		"$ARGOCD_APP_PROJECT_NAME":            "retail",
		"$ARGOCD_APP_NAMESPACE":               "prod",
		"$ARGOCD_APP_REVISION":                "0123456789abcdef",
		"$ARGOCD_APP_REVISION_SHORT":          "0123456",
		"$ARGOCD_APP_REVISION_SHORT_8":        "01234567",
		"$ARGOCD_APP_SOURCE_REPO_URL":         "https://git.example.com/shop",
		"$ARGOCD_APP_SOURCE_PATH":             "deploy",
		"$ARGOCD_APP_SOURCE_TARGET_REVISION|": "main|",
		"$$ARGOCD_APP_NAME":                   "$ARGOCD_APP_NAME",
		"$$$ARGOCD_APP_NAME":                  "$shop",
		"$NOTHING.":                           ".",
		"100$":                                "100$",
		"$ x":                                 "$ x",
		"${":                                  "",
		"${}x":                                "x",
		"${ARGOCD_APP_NAME":                   "ARGOCD_APP_NAME",
		"$1x":                                 "x",
		"ü$ARGOCD_APP_NAMEü":                  "üshopü",
	}
	for text, want := range tests {
		got := environment.Expand(text, func(name string) string { return values[name] })
		if got != want {
			t.Errorf("Expand(%q) = %q, want %q", text, got, want)
		}
		// The shell rules of the standard library are those that Argo CD has, but for $$.
		if std := os.Expand(text, func(name string) string {
			if name == "$" {
				return "$"
			}
			return values[name]
		}); got != std {
			t.Errorf("Expand(%q) = %q, and the standard library says %q", text, got, std)
		}
	}
}

func TestAShortRevision(t *testing.T) {
	got := environment.Of(manifest.Request{App: manifest.App{Revision: "1.2"}})
	if got["ARGOCD_APP_REVISION_SHORT"] != "1.2" || got["ARGOCD_APP_REVISION_SHORT_8"] != "1.2" {
		t.Errorf("got %v", got)
	}
}

func TestSubstitute(t *testing.T) {
	tests := map[string]struct {
		source, want string
		usesRevision bool
		notes        []string
	}{
		"helm": {
			source: `{"helm":{"parameters":[{"name":"$ARGOCD_APP_NAME","value":"$ARGOCD_APP_NAME"}],
				"valueFiles":["$values/$ARGOCD_APP_NAME.yaml","env/${ARGOCD_APP_NAMESPACE}.yaml","$ARGOCD_APP_NAME/x.yaml"],
				"fileParameters":[{"name":"a","path":"$values/a/$ARGOCD_APP_NAME"}],
				"values":"a: $ARGOCD_APP_NAME","releaseName":"$ARGOCD_APP_NAME"}}`,
			want: `{"helm":{"parameters":[{"name":"$ARGOCD_APP_NAME","value":"shop"}],
				"valueFiles":["$values/shop.yaml","env/prod.yaml","shop/x.yaml"],
				"fileParameters":[{"name":"a","path":"$values/a/shop"}],
				"values":"a: $ARGOCD_APP_NAME","releaseName":"$ARGOCD_APP_NAME"}}`,
		},
		"kustomize": {
			source: `{"kustomize":{"images":["web:$ARGOCD_APP_REVISION_SHORT"],"commonLabels":{"app":"$ARGOCD_APP_NAME"},
				"commonAnnotations":{"rev":"$ARGOCD_APP_REVISION"},"namePrefix":"$ARGOCD_APP_NAME"}}`,
			want: `{"kustomize":{"images":["web:0123456"],"commonLabels":{"app":"shop"},
				"commonAnnotations":{"rev":"$ARGOCD_APP_REVISION"},"namePrefix":"$ARGOCD_APP_NAME"}}`,
			usesRevision: true,
		},
		"kustomize, annotations too": {
			source:       `{"kustomize":{"commonAnnotationsEnvsubst":true,"commonAnnotations":{"rev":"$ARGOCD_APP_REVISION"}}}`,
			want:         `{"kustomize":{"commonAnnotationsEnvsubst":true,"commonAnnotations":{"rev":"0123456789abcdef"}}}`,
			usesRevision: true,
		},
		"jsonnet": {
			source: `{"directory":{"jsonnet":{"extVars":[{"name":"a","value":"$ARGOCD_APP_NAME"}],
				"tlas":[{"name":"b","value":"'$ARGOCD_APP_NAME'","code":true}],"libs":["$ARGOCD_APP_NAME"]}}}`,
			want: `{"directory":{"jsonnet":{"extVars":[{"name":"a","value":"shop"}],
				"tlas":[{"name":"b","value":"'shop'","code":true}],"libs":["$ARGOCD_APP_NAME"]}}}`,
		},
		"a variable that there is not": {
			source: `{"helm":{"parameters":[{"name":"password","value":"pa$word"}]}}`,
			want:   `{"helm":{"parameters":[{"name":"password","value":"pa"}]}}`,
			notes: []string{"helm.parameters password holds a variable that the build environment does not have, which stands for nothing; " +
				"write $$ where a dollar sign is meant"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var source, want v1alpha1.ApplicationSource
			for text, into := range map[string]*v1alpha1.ApplicationSource{tc.source: &source, tc.want: &want} {
				if err := json.NewDecoder(strings.NewReader(text)).Decode(into); err != nil {
					t.Fatal(err)
				}
			}
			before := source.DeepCopy()
			got := environment.Substitute(manifest.Request{Source: source, App: app})
			if diff := cmp.Diff(environment.Result{Source: want, UsesRevision: tc.usesRevision, Notes: tc.notes}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(*before, source); diff != "" {
				t.Errorf("the request was changed\n%s", diff)
			}
		})
	}
}
