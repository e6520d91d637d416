package policy

import (
	"strings"

	"github.com/gobwas/glob"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// IntegrityRule says which commits of some repositories must be signed, and by which keys.
type IntegrityRule struct {
	// Repos are globs in which "*" spans slashes; one that begins with "!" takes repositories out again.
	Repos []string
	Mode  v1alpha1.SourceIntegrityGPGMode
	Keys  []string
}

// Demand is what must be true of a commit.
type Demand struct {
	Mode v1alpha1.SourceIntegrityGPGMode
	Keys []string
}

// Integrity says which commits of a repository must be signed, and by which keys: the first rule that matches decides,
// and what none matches need not be signed. A mode that nobody knows is the strictest, with no key that would do.
func Integrity(p Project, repoURL string) Demand {
	address := normalizeRepo(repoURL)
	for _, rule := range p.Integrity {
		if !rule.covers(address) {
			continue
		}
		switch rule.Mode {
		case v1alpha1.SourceIntegrityGPGModeNone:
			return Demand{Mode: rule.Mode}
		case v1alpha1.SourceIntegrityGPGModeHead, v1alpha1.SourceIntegrityGPGModeStrict:
			return Demand{Mode: rule.Mode, Keys: rule.Keys}
		}
		return Demand{Mode: v1alpha1.SourceIntegrityGPGModeStrict}
	}
	return Demand{Mode: v1alpha1.SourceIntegrityGPGModeNone}
}

// covers compares the address with each pattern. A pattern that cannot be read covers everything, or takes nothing out.
func (r IntegrityRule) covers(address string) bool {
	found := false
	for _, written := range r.Repos {
		text, out := strings.CutPrefix(written, "!")
		pattern, err := glob.Compile(normalizeRepo(text))
		matches := text == "*" || err == nil && pattern.Match(address)
		switch {
		case out && matches:
			return false
		case !out && (matches || err != nil):
			found = true
		}
	}
	return found
}

// integrityOf reads the rules of a project. The older list of keys is one rule for everything, and counts where the newer
// rules are not there.
func integrityOf(spec v1alpha1.AppProjectSpec) []IntegrityRule {
	if spec.SourceIntegrity != nil {
		var out []IntegrityRule
		if spec.SourceIntegrity.Git == nil {
			return nil
		}
		for _, policy := range spec.SourceIntegrity.Git.Policies {
			rule := IntegrityRule{Mode: v1alpha1.SourceIntegrityGPGModeNone}
			if policy.GPG != nil {
				rule.Mode, rule.Keys = policy.GPG.Mode, policy.GPG.Keys
			}
			for _, repo := range policy.Repos {
				rule.Repos = append(rule.Repos, repo.URL)
			}
			out = append(out, rule)
		}
		return out
	}
	if len(spec.SignatureKeys) == 0 {
		return nil
	}
	rule := IntegrityRule{Repos: []string{"*"}, Mode: v1alpha1.SourceIntegrityGPGModeHead}
	for _, key := range spec.SignatureKeys {
		rule.Keys = append(rule.Keys, key.KeyID)
	}
	return []IntegrityRule{rule}
}
