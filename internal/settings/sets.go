package settings

import (
	"fmt"
	"maps"
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
	// Namespaces are those, besides the control namespace, that sets may live in:
	// globs, or regular expressions between slashes. They are read once, at the
	// start, as is Workers, how many sets are worked on at once.
	Namespaces []string
	Workers    int
	// StrictGlobs makes "*" in the paths of files stay within one folder.
	StrictGlobs bool
	// Progressive switches rolling syncs on.
	Progressive bool
	// Requeue is how soon a set is looked at again by itself; zero is when its
	// generators ask for it.
	Requeue time.Duration
	// DryRun says that applications are not written.
	DryRun bool
	// Annotations and Labels of applications stay, whatever a template says.
	Annotations, Labels []string
	// MaxListed is how many applications a status lists; zero is the default.
	MaxListed int
	// NoForges refuses the generators that ask a forge; Forges are those that
	// may be asked, and empty is all. StrictTokens takes tokens only from
	// secrets that are labelled for it. RootCA is a file with authorities for
	// all forges.
	NoForges     bool
	Forges       []string
	StrictTokens bool
	RootCA       string
}

var setPolicies = []string{
	string(v1alpha1.ApplicationsSyncPolicySync), string(v1alpha1.ApplicationsSyncPolicyCreateOnly),
	string(v1alpha1.ApplicationsSyncPolicyCreateUpdate), string(v1alpha1.ApplicationsSyncPolicyCreateDelete),
}

// setKeys are the keys that are read here.
var setKeys = []string{
	v1alpha1.KeyParamAppSetPolicy, v1alpha1.KeyParamAppSetPolicyOverride, v1alpha1.KeyParamAppSetNamespaces,
	v1alpha1.KeyParamAppSetConcurrency, v1alpha1.KeyParamAppSetNewGitFileGlobbing, v1alpha1.KeyParamAppSetProgressiveSyncs,
	v1alpha1.KeyParamAppSetRequeueAfter, v1alpha1.KeyParamAppSetDryRun, v1alpha1.KeyParamAppSetKeptAnnotations,
	v1alpha1.KeyParamAppSetKeptLabels, v1alpha1.KeyParamAppSetMaxResources, v1alpha1.KeyParamAppSetEnableSCMProviders,
	v1alpha1.KeyParamAppSetAllowedSCMProviders, v1alpha1.KeyParamAppSetTokenRefStrict, v1alpha1.KeyParamAppSetRootCAPath,
}

// notSetKeys are those that have no meaning here, with what does the same and
// the value that asks for nothing else.
var notSetKeys = map[string]struct{ same, instead string }{
	"enable.leader.election":      {"true", "one process leads in any case"},
	"debug":                       {"false", "towline run --log-level=debug"},
	"log.format":                  {"text", "towline run --log-format"},
	"log.level":                   {"info", "towline run --log-level"},
	"enable.git.submodule":        {"true", "reposerver.enable.git.submodule is for sets too"},
	"webhook.parallelism.limit":   {"", "what a push changes is looked at in the queue of sets"},
	"enable.github.api.metrics":   {"false", "there are no such metrics"},
	"repo.server.plaintext":       {"", "there is no repository server"},
	"repo.server.strict.tls":      {"", "there is no repository server"},
	"repo.server.timeout.seconds": {"", "reposerver.git.request.timeout bounds git"},
	"profile.enabled":             {"false", "there are no profiles"},
}

// setReader reads what argocd-cmd-params-cm says about ApplicationSets.
type setReader struct {
	params                map[string]string
	problems, notHonoured []string
}

// parseSets reads what argocd-cmd-params-cm says about ApplicationSets. Rolling
// syncs are on where nobody says otherwise, because a set has to ask for one; by
// the letter they are off.
func parseSets(params map[string]string, byLetter bool) (Sets, setReader) {
	r := setReader{params: params}
	s := Sets{
		Policy: r.policy(), Progressive: !byLetter,
		Namespaces:  words(params[v1alpha1.KeyParamAppSetNamespaces]),
		Annotations: words(params[v1alpha1.KeyParamAppSetKeptAnnotations]),
		Labels:      words(params[v1alpha1.KeyParamAppSetKeptLabels]),
		Forges:      words(params[v1alpha1.KeyParamAppSetAllowedSCMProviders]),
		RootCA:      strings.TrimSpace(params[v1alpha1.KeyParamAppSetRootCAPath]),
		Workers:     r.count(v1alpha1.KeyParamAppSetConcurrency),
		MaxListed:   r.count(v1alpha1.KeyParamAppSetMaxResources),
	}
	enabled := true
	for key, into := range map[string]*bool{
		v1alpha1.KeyParamAppSetPolicyOverride:     &s.Override,
		v1alpha1.KeyParamAppSetNewGitFileGlobbing: &s.StrictGlobs,
		v1alpha1.KeyParamAppSetProgressiveSyncs:   &s.Progressive,
		v1alpha1.KeyParamAppSetEnableSCMProviders: &enabled,
		v1alpha1.KeyParamAppSetTokenRefStrict:     &s.StrictTokens,
		v1alpha1.KeyParamAppSetDryRun:             &s.DryRun,
	} {
		r.flag(key, into)
	}
	s.NoForges = !enabled
	if text := params[v1alpha1.KeyParamAppSetRequeueAfter]; text != "" {
		d, err := duration(text)
		if err != nil {
			r.problem(v1alpha1.KeyParamAppSetRequeueAfter, "%v; looking again when generators ask for it", err)
		}
		s.Requeue = d
	}
	if len(s.Namespaces) > 0 && enabled && len(s.Forges) == 0 {
		r.problem(v1alpha1.KeyParamAppSetNamespaces, "sets outside of the control namespace may not ask forges, because a token could "+
			"be sent anywhere: name those that may be asked in %s, or set %s to false",
			v1alpha1.KeyParamAppSetAllowedSCMProviders, v1alpha1.KeyParamAppSetEnableSCMProviders)
	}
	r.others()
	return s, r
}

func (r *setReader) problem(key, format string, args ...any) {
	r.problems = append(r.problems, key+": "+fmt.Sprintf(format, args...))
}

func (r *setReader) policy() string {
	p := r.params[v1alpha1.KeyParamAppSetPolicy]
	if p == "" || slices.Contains(setPolicies, p) {
		return p
	}
	// A policy that cannot be read must not be read as the widest.
	safe := string(v1alpha1.ApplicationsSyncPolicyCreateOnly)
	r.problem(v1alpha1.KeyParamAppSetPolicy, "%q is none of %s; using %s", p, strings.Join(setPolicies, ", "), safe)
	return safe
}

func (r *setReader) flag(key string, into *bool) {
	text := r.params[key]
	if text == "" {
		return
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.problem(key, "%q is neither true nor false; using %t", text, *into)
		return
	}
	*into = value
}

// count reads a number above zero; zero is that nobody says one.
func (r *setReader) count(key string) int {
	text := r.params[key]
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		r.problem(key, "%q is not a number above zero; using the default", text)
		return 0
	}
	return n
}

// others names the keys that do nothing here, with what does the same.
func (r *setReader) others() {
	for _, key := range slices.Sorted(maps.Keys(r.params)) {
		name, ours := strings.CutPrefix(key, v1alpha1.KeyParamAppSetPrefix)
		if !ours || r.params[key] == "" || slices.Contains(setKeys, key) {
			continue
		}
		known, ok := notSetKeys[name]
		switch {
		case !ok:
			r.notHonoured = append(r.notHonoured, key)
		case r.params[key] != known.same:
			r.notHonoured = append(r.notHonoured, key+" ("+known.instead+")")
		}
	}
}
