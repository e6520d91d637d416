package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Sets are the settings of ApplicationSets.
type Sets struct {
	// Policy is what may be done to applications; empty leaves it to each set.
	// Override lets a set have its own in any case.
	Policy   string
	Override bool
	// StrictGlobs makes "*" in the paths of files stay within one folder.
	StrictGlobs bool
	// Progressive switches rolling syncs on.
	Progressive bool
	// Requeue is how soon a set is looked at again by itself; zero is when its
	// generators ask for it.
	Requeue time.Duration
	// NoForges refuses the generators that ask a forge; Forges are those that
	// may be asked, and empty is all. StrictTokens takes tokens only from
	// secrets that are labelled for it.
	NoForges     bool
	Forges       []string
	StrictTokens bool
}

var setPolicies = []string{
	string(v1alpha1.ApplicationsSyncPolicySync), string(v1alpha1.ApplicationsSyncPolicyCreateOnly),
	string(v1alpha1.ApplicationsSyncPolicyCreateUpdate), string(v1alpha1.ApplicationsSyncPolicyCreateDelete),
}

// parseSets reads what argocd-cmd-params-cm says about ApplicationSets. Rolling
// syncs are on where nobody says otherwise, because a set has to ask for one; by
// the letter they are off.
func parseSets(params map[string]string, byLetter bool) (Sets, []string) {
	s := Sets{Progressive: !byLetter}
	var problems []string
	if p := params[v1alpha1.KeyParamAppSetPolicy]; p == "" || slices.Contains(setPolicies, p) {
		s.Policy = p
	} else {
		// A policy that cannot be read must not be read as the widest.
		s.Policy = string(v1alpha1.ApplicationsSyncPolicyCreateOnly)
		problems = append(problems, fmt.Sprintf("%s: %q is none of %s; using %s",
			v1alpha1.KeyParamAppSetPolicy, p, strings.Join(setPolicies, ", "), s.Policy))
	}
	enabled := !s.NoForges
	for key, into := range map[string]*bool{
		v1alpha1.KeyParamAppSetPolicyOverride:     &s.Override,
		v1alpha1.KeyParamAppSetNewGitFileGlobbing: &s.StrictGlobs,
		v1alpha1.KeyParamAppSetProgressiveSyncs:   &s.Progressive,
		v1alpha1.KeyParamAppSetEnableSCMProviders: &enabled,
		v1alpha1.KeyParamAppSetTokenRefStrict:     &s.StrictTokens,
	} {
		text := params[key]
		if text == "" {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is neither true nor false; using %t", key, text, *into))
			continue
		}
		*into = value
	}
	s.NoForges = !enabled
	for one := range strings.SplitSeq(params[v1alpha1.KeyParamAppSetAllowedSCMProviders], ",") {
		if one = strings.TrimSpace(one); one != "" {
			s.Forges = append(s.Forges, one)
		}
	}
	if text := params[v1alpha1.KeyParamAppSetRequeueAfter]; text != "" {
		d, err := duration(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v; looking again when generators ask for it",
				v1alpha1.KeyParamAppSetRequeueAfter, err))
		}
		s.Requeue = d
	}
	return s, problems
}
