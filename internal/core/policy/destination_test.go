package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/policy"
)

type rules = []policy.Destination

func TestDestinationOf(t *testing.T) {
	type cluster struct{ server, name, namespace string }
	prod := cluster{"https://prod.example.com", "prod", "shop"}
	everything := policy.Destination{Server: "*", Namespace: "*"}
	tests := map[string]struct {
		rules rules
		asked cluster
		want  bool
	}{
		"no rule allows nothing":     {nil, prod, false},
		"everything":                 {rules{everything}, prod, true},
		"by server":                  {rules{{Server: "https://prod.example.com", Namespace: "shop"}}, prod, true},
		"by name":                    {rules{{Name: "prod", Namespace: "shop"}}, prod, true},
		"by name, server differs":    {rules{{Server: "https://other", Name: "prod", Namespace: "shop"}}, prod, true},
		"another server":             {rules{{Server: "https://dev.example.com", Namespace: "*"}}, prod, false},
		"another name":               {rules{{Name: "dev", Namespace: "*"}}, prod, false},
		"another namespace":          {rules{{Server: "*", Namespace: "crew"}}, prod, false},
		"no cluster in the rule":     {rules{{Namespace: "*"}}, prod, false},
		"no namespace in the rule":   {rules{{Server: "*"}}, prod, false},
		"rules are not mixed":        {rules{{Server: "https://prod.example.com", Namespace: "a"}, {Server: "https://dev.example.com", Namespace: "shop"}}, prod, false},
		"a star crosses slashes":     {rules{{Server: "http*.example.com", Namespace: "sh*"}}, prod, true},
		"a star in the name":         {rules{{Name: "pr*", Namespace: "*"}}, prod, true},
		"a slash at the end":         {rules{{Server: "https://prod.example.com/", Namespace: "*"}}, prod, true},
		"a slash at the app's end":   {rules{{Server: "https://prod.example.com", Namespace: "*"}}, cluster{"https://prod.example.com/", "", "shop"}, true},
		"an app without a namespace": {rules{everything}, cluster{"https://prod.example.com", "prod", ""}, true},
		"a named namespace does not allow an app without": {
			rules{{Server: "*", Namespace: "shop"}}, cluster{"https://prod.example.com", "prod", ""}, false,
		},
		"case counts for an allowed server":    {rules{{Server: "https://PROD.example.com", Namespace: "*"}}, prod, false},
		"case does not count for a denied one": {rules{everything, {Server: "!https://prod*", Namespace: "*"}}, cluster{"https://PROD.example.com", "p", "shop"}, false},
		"case counts for a namespace":          {rules{{Server: "*", Namespace: "Shop"}}, prod, false},
		"a cluster without server and name":    {rules{everything}, cluster{"", "", "shop"}, false},

		"deny of the namespace":             {rules{everything, {Server: "*", Namespace: "!shop"}}, prod, false},
		"deny before the allow":             {rules{{Server: "*", Namespace: "!shop"}, everything}, prod, false},
		"deny of another namespace":         {rules{everything, {Server: "*", Namespace: "!kube-*"}}, prod, true},
		"deny of the server":                {rules{everything, {Server: "!https://prod*", Namespace: "*"}}, prod, false},
		"deny of the name":                  {rules{everything, {Name: "!prod", Namespace: "*"}}, prod, false},
		"deny counts on every cluster":      {rules{everything, {Server: "https://dev.example.com", Namespace: "!shop"}}, prod, false},
		"deny by a name that is not known":  {rules{everything, {Name: "!dev", Namespace: "*"}}, cluster{"https://prod.example.com", "", "shop"}, false},
		"deny by server, not known":         {rules{{Name: "*", Namespace: "*"}, {Server: "!https://dev", Namespace: "*"}}, cluster{"", "prod", "shop"}, false},
		"deny of a namespace, app has none": {rules{everything, {Server: "*", Namespace: "!kube-system"}}, cluster{"https://prod.example.com", "prod", ""}, true},
		"only denies allow nothing":         {rules{{Server: "*", Namespace: "!kube-system"}}, prod, false},

		"an invalid allow allows nothing":          {rules{{Server: "*", Namespace: "{shop"}}, prod, false},
		"an invalid allow is skipped":              {rules{{Server: "[", Namespace: "*"}, everything}, prod, true},
		"an invalid server beside the right name":  {rules{{Server: "[", Name: "prod", Namespace: "*"}}, prod, true},
		"an invalid deny of a namespace denies":    {rules{everything, {Server: "*", Namespace: "![x"}}, prod, false},
		"an invalid deny of a server denies":       {rules{everything, {Server: "!{x", Namespace: "*"}}, prod, false},
		"an invalid deny denies without namespace": {rules{everything, {Server: "*", Namespace: "![x"}}, cluster{"https://prod.example.com", "prod", ""}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			project := policy.Project{Name: "shop", Destinations: tt.rules}
			got := policy.DestinationOf(project, tt.asked.server, tt.asked.name, tt.asked.namespace)
			if got.Allowed != tt.want {
				t.Errorf("allowed = %t, want %t: %s", got.Allowed, tt.want, got.Reason)
			}
			if enters := policy.Enters(project, policy.Place{Server: tt.asked.server, Name: tt.asked.name}); got.Allowed && !enters {
				t.Error("it may use a namespace of a cluster that it has no business at")
			}
		})
	}
}

func TestEnters(t *testing.T) {
	at := policy.Place{Server: "https://prod.example.com", Name: "prod"}
	everything := policy.Destination{Server: "*", Namespace: "*"}
	tests := map[string]struct {
		project policy.Project
		want    bool
	}{
		"a namespace there":       {policy.Project{Destinations: rules{{Name: "prod", Namespace: "web"}}}, true},
		"all but some namespaces": {policy.Project{Destinations: rules{everything, {Server: "*", Namespace: "!web"}}}, true},
		"another cluster":         {policy.Project{Destinations: rules{{Name: "dev", Namespace: "*"}}}, false},
		"no rules":                {policy.Project{}, false},
		"all but this one":        {policy.Project{Destinations: rules{everything, {Server: "!https://PROD.example.com", Namespace: "*"}}}, false},
		"its own":                 {policy.Project{OwnClusters: []policy.OwnCluster{{Name: "prod"}}, OnlyOwnClusters: true}, true},
		"only its own":            {policy.Project{Destinations: rules{everything}, OnlyOwnClusters: true}, false},
	}
	for name, tt := range tests {
		if got := policy.Enters(tt.project, at); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestDestinationReason(t *testing.T) {
	tests := map[string]struct {
		project policy.Project
		want    policy.Verdict
	}{
		"allowed": {
			project: policy.Project{Name: "shop", Destinations: rules{{Name: "prod", Namespace: "*"}}},
			want:    policy.Verdict{Allowed: true, Reason: `namespace "web" of cluster "prod (https://h)" is allowed by destinations {name: "prod", namespace: "*"} of project "shop"`},
		},
		"denied": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "*", Namespace: "*"}, {Server: "!https://H", Namespace: "*"}}},
			want:    policy.Verdict{Reason: `namespace "web" of cluster "prod (https://h)" is denied by destinations {server: "!https://H", namespace: "*"} of project "shop": server "!https://H"; choose another destination or change that rule`},
		},
		"invalid deny": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "*", Namespace: "![a"}}},
			want:    policy.Verdict{Reason: `namespace "web" of cluster "prod (https://h)" is denied by destinations {server: "*", namespace: "![a"} of project "shop": namespace "![a" is not a valid pattern and so denies all; choose another destination or change that rule`},
		},
		"invalid allow": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "*", Namespace: "[a"}}},
			want:    policy.Verdict{Reason: `namespace "web" of cluster "prod (https://h)" matches no allow rule in destinations of project "shop" (skipped, as not a valid pattern: {server: "*", namespace: "[a"}); add it there`},
		},
		"only denies": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "*", Namespace: "!kube-system"}}},
			want:    policy.Verdict{Reason: `namespace "web" of cluster "prod (https://h)" matches no allow rule in destinations of project "shop"; add it there, or add {server: "*", namespace: "*"} to allow whatever is not denied`},
		},
		"only denies, as Argo CD reads them": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "*", Namespace: "!kube-system"}}, DenyAllowsRest: true},
			want:    policy.Verdict{Allowed: true, Reason: `namespace "web" of cluster "prod (https://h)" is allowed by destinations {server: "*", namespace: "!kube-system"} of project "shop", which does not deny it`},
		},
		"a deny for another cluster, as Argo CD reads it": {
			project: policy.Project{Name: "shop", Destinations: rules{{Server: "https://x", Namespace: "!kube-system"}}, DenyAllowsRest: true},
			want:    policy.Verdict{Reason: `namespace "web" of cluster "prod (https://h)" matches no allow rule in destinations of project "shop"; add it there`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, policy.DestinationOf(tt.project, "https://h", "prod", "web"), words); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
