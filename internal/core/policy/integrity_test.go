package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

func TestIntegrity(t *testing.T) {
	rule := func(mode string, keys []string, repos ...string) v1alpha1.SourceIntegrityGitPolicy {
		out := v1alpha1.SourceIntegrityGitPolicy{
			GPG: &v1alpha1.SourceIntegrityGitPolicyGPG{Mode: v1alpha1.SourceIntegrityGPGMode(mode), Keys: keys},
		}
		for _, repo := range repos {
			out.Repos = append(out.Repos, v1alpha1.SourceIntegrityGitPolicyRepo{URL: repo})
		}
		return out
	}
	rules := v1alpha1.AppProjectSpec{
		SignatureKeys: []v1alpha1.SignatureKey{{KeyID: "OLD"}},
		SourceIntegrity: &v1alpha1.SourceIntegrity{Git: &v1alpha1.SourceIntegrityGit{Policies: []v1alpha1.SourceIntegrityGitPolicy{
			rule("strict", []string{"A", "B"}, "https://example.com/org/secure"),
			rule("none", []string{"A"}, "https://example.com/org/open*"),
			rule("sternly", []string{"A"}, "https://example.com/odd/*"),
			rule("head", []string{"A"}, "https://example.com/*", "!https://example.com/org/out"),
			rule("head", []string{"C"}, "https://broken.example.com/[", "git@ssh.example.com:org/*"),
		}}},
	}
	old := v1alpha1.AppProjectSpec{SignatureKeys: []v1alpha1.SignatureKey{{KeyID: "OLD"}, {KeyID: "OLDER"}}}
	for _, test := range []struct {
		spec v1alpha1.AppProjectSpec
		url  string
		mode string
		keys []string
	}{
		{rules, "https://example.com/org/secure.git", "strict", []string{"A", "B"}},
		{rules, "https://EXAMPLE.com/org/secure/", "strict", []string{"A", "B"}},
		{rules, "https://example.com/org/open-source", "none", nil},
		{rules, "https://example.com/odd/x", "strict", nil},
		{rules, "https://example.com/a/b/c", "head", []string{"A"}},
		{rules, "https://example.com/org/out", "head", []string{"C"}}, // by the pattern that cannot be read
		{rules, "ssh://git@ssh.example.com/org/x", "head", []string{"C"}},
		{old, "https://anything.example.com/x", "head", []string{"OLD", "OLDER"}},
		{v1alpha1.AppProjectSpec{}, "https://example.com", "none", nil},
		{v1alpha1.AppProjectSpec{SignatureKeys: old.SignatureKeys, SourceIntegrity: &v1alpha1.SourceIntegrity{}}, "https://example.com", "none", nil},
	} {
		demand := policy.Integrity(policy.Of(&v1alpha1.AppProject{Spec: test.spec}), test.url)
		mode, keys := demand.Mode, demand.Keys
		if string(mode) != test.mode || !cmp.Equal(keys, test.keys) {
			t.Errorf("Integrity(%q) = %s %v, want %s %v", test.url, mode, keys, test.mode, test.keys)
		}
	}
}
