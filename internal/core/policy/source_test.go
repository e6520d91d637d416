package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/policy"
)

func TestSource(t *testing.T) {
	const asked = "https://git.example.com/team/app"
	tests := map[string]struct {
		rules []string
		asked string
		want  bool
	}{
		"no rule allows nothing":                     {nil, asked, false},
		"an empty address is not allowed by a host":  {[]string{"https://git.example.com/**"}, "", false},
		"the same address":                           {[]string{asked}, asked, true},
		"another address":                            {[]string{"https://git.example.com/team/other"}, asked, false},
		"a lone star is every repository":            {[]string{"*"}, asked, true},
		"a star stays in its segment":                {[]string{"https://git.example.com/*"}, asked, false},
		"a star for one segment":                     {[]string{"https://git.example.com/team/*"}, asked, true},
		"a star for the segment in the middle":       {[]string{"https://git.example.com/*/app"}, asked, true},
		"a star does not reach below":                {[]string{"https://git.example.com/team/*"}, asked + "/sub", false},
		"two stars span segments":                    {[]string{"https://git.example.com/**"}, asked + "/sub", true},
		"a star in the host":                         {[]string{"https://*.example.com/team/app"}, asked, true},
		"alternatives":                               {[]string{"https://git.example.com/{team,crew}/app"}, asked, true},
		"a pattern is not a prefix":                  {[]string{"https://git.example.com/team/ap"}, asked, false},
		"the scheme counts":                          {[]string{"http://git.example.com/team/app"}, asked, false},
		"a registry without a scheme keeps its port": {[]string{"r.example.com:5000/*"}, "r.example.com:5000/charts", true},
		"an OCI registry":                            {[]string{"oci://r.example.com/charts/*"}, "oci://r.example.com/charts/web", true},
		"a percent sign that means nothing":          {[]string{"https://git.example.com/team/*"}, "https://git.example.com/team/50%zz", true},
		"a registry with another port":               {[]string{"r.example.com:5000/*"}, "r.example.com:6000/charts", false},

		"deny wins over a later allow":    {[]string{"!https://git.example.com/team/*", "*"}, asked, false},
		"deny wins over an earlier allow": {[]string{"*", "!https://git.example.com/team/*"}, asked, false},
		"deny of something else":          {[]string{"*", "!https://git.example.com/crew/*"}, asked, true},
		"deny of everything":              {[]string{asked, "!*"}, asked, false},
		"only denies allow nothing":       {[]string{"!https://git.example.com/crew/*"}, asked, false},
		"space before the mark":           {[]string{"*", " !https://git.example.com/team/*"}, asked, false},

		"an invalid allow is skipped":        {[]string{"https://git.example.com/[", asked}, asked, true},
		"an invalid allow allows nothing":    {[]string{"https://git.example.com/{team"}, asked, false},
		"an invalid deny denies all":         {[]string{"*", "!https://other.example.com/["}, asked, false},
		"the case of the host in the rule":   {[]string{"https://GIT.example.com/team/*"}, asked, true},
		"the case of the host in the app":    {[]string{"https://git.example.com/team/*"}, "https://Git.Example.COM/team/app", true},
		"the case of the path":               {[]string{"https://git.example.com/Team/*"}, asked, true},
		"a suffix in the app":                {[]string{asked}, asked + ".git", true},
		"a suffix in the rule":               {[]string{asked + ".git"}, asked, true},
		"a suffix after a star":              {[]string{"https://git.example.com/team/*.git"}, asked, true},
		"a slash at the end":                 {[]string{asked}, asked + "/", true},
		"a slash at the end of the rule":     {[]string{asked + "/"}, asked + ".git", true},
		"a suffix and a slash":               {[]string{asked}, asked + ".git/", true},
		"scp rule, scp app":                  {[]string{"git@git.example.com:team/*"}, "git@git.example.com:team/app.git", true},
		"scp rule, ssh app":                  {[]string{"git@git.example.com:team/*"}, "ssh://git@git.example.com/team/app", true},
		"ssh rule, scp app":                  {[]string{"ssh://git@git.example.com/team/*"}, "git@git.example.com:team/app", true},
		"scp rule with a star stays in it":   {[]string{"git@git.example.com:*"}, "git@git.example.com:team/app", false},
		"ssh with its default port":          {[]string{"git@git.example.com:team/*"}, "ssh://git@git.example.com:22/team/app", true},
		"ssh with another port is elsewhere": {[]string{"git@git.example.com:team/*"}, "ssh://git@git.example.com:2222/team/app", false},
		"ssh is not https":                   {[]string{"https://git.example.com/team/*"}, "git@git.example.com:team/app", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.Source(policy.Project{Name: "shop", SourceRepos: tt.rules}, tt.asked)
			if got.Allowed != tt.want {
				t.Errorf("allowed = %t, want %t: %s", got.Allowed, tt.want, got.Reason)
			}
		})
	}
}

// TestSourceDenyCannotBePassed writes one denied repository in all the ways that reach the same place.
func TestSourceDenyCannotBePassed(t *testing.T) {
	project := policy.Project{SourceRepos: []string{
		"**", "!https://git.example.com/vault/**", "!git@git.example.com:vault/**",
	}}
	for _, spelling := range []string{
		"https://git.example.com/vault/keys",
		"https://git.example.com/vault/keys.git/",
		"HTTPS://GIT.EXAMPLE.COM/Vault/keys",
		" https://git.example.com/vault/keys",
		"https://user:token@git.example.com/vault/keys",
		"https://git.example.com:443/vault/keys",
		"https://git.example.com./vault/keys",
		"https://git.example.com//vault///keys",
		"https://git.example.com/%76ault/keys",
		"https://git.example.com/%56ault/keys",
		"https://git.example.com/team/../vault/keys",
		"https://git.example.com/team/%2e%2E/vault/keys",
		"https://git.example.com/team/..%2fvault/keys",
		"https://git.example.com/./vault/keys",
		"git@git.example.com:vault/keys",
		"git@git.example.com:/vault/keys",
		"git@git.example.com:team/../vault/keys",
		"ssh://git@git.example.com/vault/keys",
		"ssh://git@git.example.com:22/vault/keys",
		"git+ssh://git@git.example.com/vault/keys",
	} {
		if got := policy.Source(project, spelling); got.Allowed {
			t.Errorf("%s: %s", spelling, got.Reason)
		}
	}
}

// TestSourceAllowCannotBeFeigned has addresses that look like an allowed host and lead to another.
func TestSourceAllowCannotBeFeigned(t *testing.T) {
	project := policy.Project{SourceRepos: []string{"https://git.example.com/**", "git@git.example.com:team/**"}}
	for _, spelling := range []string{
		"https://git.example.com@evil.example.org/team/app",
		"https://git.example.com:x@evil.example.org/team/app",
		"https://git.example.com.evil.example.org/team/app",
		"https://git.example.com:8443/team/app",
		"git@git.example.com:team/../vault",
		"git@git.example.com.evil.example.org:team/app",
	} {
		if got := policy.Source(project, spelling); got.Allowed {
			t.Errorf("%s: %s", spelling, got.Reason)
		}
	}
}

func TestSourceReason(t *testing.T) {
	tests := map[string]struct {
		project policy.Project
		want    policy.Verdict
	}{
		"allowed": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"https://h/a/*"}},
			want:    policy.Verdict{Allowed: true, Reason: `repository "https://h/a/b" is allowed by sourceRepos "https://h/a/*" of project "shop"`},
		},
		"no rule": {
			project: policy.Project{Name: "shop"},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" matches no allow rule in sourceRepos of project "shop"; add it there`},
		},
		"denied": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"*", "!https://h/**"}},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" is denied by sourceRepos "!https://h/**" of project "shop"; use another repository or narrow that rule`},
		},
		"only denies": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"!https://x/**"}},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" matches no allow rule in sourceRepos of project "shop"; add it there, or add "*" to allow whatever is not denied`},
		},
		"only denies, as Argo CD reads them": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"!https://x/**"}, DenyAllowsRest: true},
			want:    policy.Verdict{Allowed: true, Reason: `repository "https://h/a/b" is allowed by sourceRepos "!https://x/**" of project "shop", which does not deny it`},
		},
		"denied, as Argo CD reads it": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"!https://x/**", "!https://h/**"}, DenyAllowsRest: true},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" is denied by sourceRepos "!https://h/**" of project "shop"; use another repository or narrow that rule`},
		},
		"invalid allow": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"https://h/{a", "https://h/["}},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" matches no allow rule in sourceRepos of project "shop" (skipped, as not a valid pattern: "https://h/{a", "https://h/["); add it there`},
		},
		"invalid deny": {
			project: policy.Project{Name: "shop", SourceRepos: []string{"*", "!https://x/["}},
			want:    policy.Verdict{Reason: `repository "https://h/a/b" is denied by sourceRepos "!https://x/[" of project "shop", which is not a valid pattern and so denies all; correct that rule`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, policy.Source(tt.project, "https://h/a/b"), words); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSourceReasonHidesPasswords: the reasons end up in the application's status.
func TestSourceReasonHidesPasswords(t *testing.T) {
	for asked, shown := range map[string]string{
		"https://me:s3cret@h/a/b": `repository "https://h/a/b" matches`,
		"https://s3cret@h":        `repository "https://h" matches`,
		"ssh://me:s3cret@h/a/b":   `repository "ssh://h/a/b" matches`,
		"ssh://git@h/a/b":         `repository "ssh://git@h/a/b" matches`,
		"git@h:a/b":               `repository "git@h:a/b" matches`,
	} {
		if got := policy.Source(policy.Project{}, asked); !strings.HasPrefix(got.Reason, shown) {
			t.Errorf("%s: %s", asked, got.Reason)
		}
	}
}
