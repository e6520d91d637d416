package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/policy"
)

type kinds = []policy.Kind

func TestObject(t *testing.T) {
	all := policy.Kind{Group: "*", Kind: "*"}
	deployment := policy.Kind{Group: "apps", Kind: "Deployment", Name: "web"}
	secret := policy.Kind{Kind: "Secret", Name: "token"}
	namespace := policy.Kind{Kind: "Namespace", Name: "team-a"}
	const inNamespace, inCluster = true, false
	tests := map[string]struct {
		project    policy.Project
		asked      policy.Kind
		namespaced bool
		want       bool
	}{
		"a nil namespace whitelist allows all":      {policy.Project{NamespaceWhitelistNil: true}, deployment, inNamespace, true},
		"an empty namespace whitelist allows none":  {policy.Project{NamespaceWhitelist: kinds{}}, deployment, inNamespace, false},
		"a project of no fields allows none":        {policy.Project{}, deployment, inNamespace, false},
		"a list that is there beats the nil mark":   {policy.Project{NamespaceWhitelistNil: true, NamespaceWhitelist: kinds{{Kind: "Secret"}}}, deployment, inNamespace, false},
		"in the namespace whitelist":                {policy.Project{NamespaceWhitelist: kinds{{Group: "apps", Kind: "Deployment"}}}, deployment, inNamespace, true},
		"not in the namespace whitelist":            {policy.Project{NamespaceWhitelist: kinds{{Group: "apps", Kind: "StatefulSet"}}}, deployment, inNamespace, false},
		"the group counts":                          {policy.Project{NamespaceWhitelist: kinds{{Group: "", Kind: "Deployment"}}}, deployment, inNamespace, false},
		"blacklist beats nil whitelist":             {policy.Project{NamespaceWhitelistNil: true, NamespaceBlacklist: kinds{{Kind: "Secret"}}}, secret, inNamespace, false},
		"blacklist beats whitelist":                 {policy.Project{NamespaceWhitelist: kinds{all}, NamespaceBlacklist: kinds{{Kind: "Secret"}}}, secret, inNamespace, false},
		"blacklist of another kind":                 {policy.Project{NamespaceWhitelistNil: true, NamespaceBlacklist: kinds{{Kind: "Secret"}}}, deployment, inNamespace, true},
		"the nil mark says nothing of the cluster":  {policy.Project{NamespaceWhitelistNil: true}, namespace, inCluster, false},
		"an empty cluster whitelist allows none":    {policy.Project{ClusterWhitelist: kinds{}}, namespace, inCluster, false},
		"in the cluster whitelist":                  {policy.Project{ClusterWhitelist: kinds{{Kind: "Namespace"}}}, namespace, inCluster, true},
		"all of the cluster":                        {policy.Project{ClusterWhitelist: kinds{all}}, namespace, inCluster, true},
		"cluster blacklist beats whitelist":         {policy.Project{ClusterWhitelist: kinds{all}, ClusterBlacklist: kinds{{Kind: "Namespace"}}}, namespace, inCluster, false},
		"the lists of the other scope are not read": {policy.Project{ClusterWhitelist: kinds{all}, NamespaceBlacklist: kinds{all}}, namespace, inCluster, true},
		"a name that is allowed":                    {policy.Project{ClusterWhitelist: kinds{{Kind: "Namespace", Name: "team-*"}}}, namespace, inCluster, true},
		"a name that is not allowed":                {policy.Project{ClusterWhitelist: kinds{{Kind: "Namespace", Name: "team-b"}}}, namespace, inCluster, false},
		"a name that is denied":                     {policy.Project{ClusterWhitelist: kinds{all}, ClusterBlacklist: kinds{{Kind: "Namespace", Name: "team-a"}}}, namespace, inCluster, false},
		"a glob in the kind":                        {policy.Project{ClusterWhitelist: kinds{{Kind: "Name*"}}}, namespace, inCluster, true},
		"a glob in the group":                       {policy.Project{NamespaceWhitelist: kinds{{Group: "*", Kind: "Deployment"}}}, deployment, inNamespace, true},
		"case counts in a whitelist":                {policy.Project{ClusterWhitelist: kinds{{Kind: "namespace"}}}, namespace, inCluster, false},
		"case counts in a blacklist":                {policy.Project{ClusterWhitelist: kinds{all}, ClusterBlacklist: kinds{{Kind: "namespace"}}}, namespace, inCluster, true},
		"an invalid allow allows nothing":           {policy.Project{ClusterWhitelist: kinds{{Kind: "[Namespace"}}}, namespace, inCluster, false},
		"an invalid allow is skipped":               {policy.Project{ClusterWhitelist: kinds{{Kind: "["}, all}}, namespace, inCluster, true},
		"an invalid deny denies all":                {policy.Project{ClusterWhitelist: kinds{all}, ClusterBlacklist: kinds{{Group: "x", Kind: "["}}}, namespace, inCluster, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.Object(tt.project, tt.asked.Group, tt.asked.Kind, tt.asked.Name, tt.namespaced)
			if got.Allowed != tt.want {
				t.Errorf("allowed = %t, want %t: %s", got.Allowed, tt.want, got.Reason)
			}
		})
	}
}

func TestObjectReason(t *testing.T) {
	tests := map[string]struct {
		project policy.Project
		want    policy.Verdict
	}{
		"allowed": {
			project: policy.Project{Name: "shop", ClusterWhitelist: kinds{{Group: "rbac.*", Kind: "*"}}},
			want:    policy.Verdict{Allowed: true},
		},
		"denied": {
			project: policy.Project{Name: "shop", ClusterBlacklist: kinds{{Group: "*", Kind: "ClusterRole", Name: "admin"}}},
			want:    policy.Verdict{Reason: `rbac.authorization.k8s.io/ClusterRole admin is denied by clusterResourceBlacklist "*/ClusterRole admin" of project "shop"; remove the object from the source or the rule from the project`},
		},
		"empty list": {
			project: policy.Project{Name: "shop"},
			want:    policy.Verdict{Reason: `rbac.authorization.k8s.io/ClusterRole admin is not in clusterResourceWhitelist of project "shop" (it is empty and so allows none); add {group: "rbac.authorization.k8s.io", kind: "ClusterRole"} there`},
		},
		"wrong case": {
			project: policy.Project{Name: "shop", ClusterWhitelist: kinds{{Group: "*", Kind: "clusterrole"}}},
			want:    policy.Verdict{Reason: `rbac.authorization.k8s.io/ClusterRole admin is not in clusterResourceWhitelist of project "shop" ("*/clusterrole" differs in upper and lower case); add {group: "rbac.authorization.k8s.io", kind: "ClusterRole"} there`},
		},
		"invalid allow": {
			project: policy.Project{Name: "shop", ClusterWhitelist: kinds{{Kind: "["}}},
			want:    policy.Verdict{Reason: `rbac.authorization.k8s.io/ClusterRole admin is not in clusterResourceWhitelist of project "shop" (skipped, as not a valid pattern: "["); add {group: "rbac.authorization.k8s.io", kind: "ClusterRole"} there`},
		},
		"invalid deny": {
			project: policy.Project{Name: "shop", ClusterBlacklist: kinds{{Kind: "["}}},
			want:    policy.Verdict{Reason: `rbac.authorization.k8s.io/ClusterRole admin is denied by clusterResourceBlacklist "[" of project "shop", which is not a valid pattern and so denies all; correct that rule`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.Object(tt.project, "rbac.authorization.k8s.io", "ClusterRole", "admin", false)
			if diff := cmp.Diff(tt.want, got, words); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
