package policy_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/core/policy"
)

func TestOrphansIgnores(t *testing.T) {
	o := policy.Orphans{Ignore: []policy.Kind{
		{Kind: "Secret", Name: "sh.helm.*"}, {Group: "batch", Kind: "*"}, {Group: "example.com"}, {Kind: "Broken", Name: "[a"},
	}}
	cases := []struct {
		namespace, group, kind, name string
		want                         bool
	}{
		{"a", "", "ServiceAccount", "default", true},
		{"a", "", "ServiceAccount", "other", false},
		{"a", "", "ConfigMap", "kube-root-ca.crt", true},
		{"default", "", "Service", "kubernetes", true},
		{"a", "", "Service", "kubernetes", false},
		{"a", "", "Secret", "sh.helm.release.v1.web.v1", true},
		{"a", "", "Secret", "login", false},
		{"a", "batch", "Job", "once", true},
		{"a", "apps", "Job", "once", false},
		{"a", "example.com", "Widget", "one", true},
		{"a", "", "Broken", "a", false},
	}
	for _, c := range cases {
		if got := o.Ignores(c.namespace, policy.Kind{Group: c.group, Kind: c.kind, Name: c.name}); got != c.want {
			t.Errorf("Ignores(%+v) = %t", c, got)
		}
	}
}
