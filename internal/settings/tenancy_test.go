package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/internal/core/policy"
)

func TestTenancy(t *testing.T) {
	cases := map[string]struct {
		data     map[string]string
		want     policy.Tenancy
		problems int
	}{
		"nothing":                   {nil, policy.Tenancy{}, 0},
		"impersonation is enforced": {map[string]string{"application.sync.impersonation.enabled": "true"}, policy.Tenancy{Impersonate: true}, 0},
		"unless it is not": {
			map[string]string{"application.sync.impersonation.enabled": "true", "application.sync.impersonation.enforced": "false"},
			policy.Tenancy{Impersonate: true, Optional: true},
			0,
		},
		"nonsense is the safe side": {
			map[string]string{"application.sync.impersonation.enabled": "yes!", "application.sync.impersonation.enforced": "no!"},
			policy.Tenancy{Impersonate: true},
			2,
		},
		"the profile of Argo CD": {map[string]string{"towline.profile": "argocd"}, policy.Tenancy{ByLetter: true}, 0},
		"global projects": {
			map[string]string{"globalProjects": "- labelSelector:\n    matchExpressions:\n    - {key: opt, operator: In, values: [prod]}\n  projectName: base\n"},
			policy.Tenancy{Globals: []policy.Global{{
				Project: "base",
				Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "opt", Operator: metav1.LabelSelectorOpIn, Values: []string{"prod"}},
				}},
			}}},
			0,
		},
		"global projects that cannot be read": {
			map[string]string{"globalProjects": "base"},
			policy.Tenancy{Globals: []policy.Global{{Project: unreadable}}},
			1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Parse(c.data)
			if d := cmp.Diff(c.want, got.Tenancy); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if len(got.Problems) != c.problems || len(got.NotHonoured) > 0 {
				t.Errorf("problems %q, not honoured %q", got.Problems, got.NotHonoured)
			}
		})
	}
}

func TestApplicationNamespaces(t *testing.T) {
	got := parse(nil, map[string]string{"application.namespaces": " team-*, /^crew-[0-9]$/ ,,x"}).AppNamespaces
	if d := cmp.Diff([]string{"team-*", "/^crew-[0-9]$/", "x"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
