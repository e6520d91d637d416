package cluster

import (
	"slices"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Filter picks kinds: each list is of globs, and an empty one means all.
// Clusters are compared with the address of the cluster's API server.
type Filter struct {
	APIGroups []string
	Kinds     []string
	Clusters  []string
}

// DefaultExclusions are the kinds that are left out unless somebody says
// otherwise: nobody keeps them in Git, and they change all the time.
func DefaultExclusions() []Filter {
	return []Filter{
		{APIGroups: []string{"", "discovery.k8s.io"}, Kinds: []string{"Endpoints", "EndpointSlice"}},
		{
			APIGroups: []string{"authentication.k8s.io", "authorization.k8s.io"},
			Kinds: []string{
				"SelfSubjectReview", "TokenReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview",
				"SelfSubjectRulesReview", "SubjectAccessReview",
			},
		},
		{APIGroups: []string{"certificates.k8s.io"}, Kinds: []string{"CertificateSigningRequest"}},
		{APIGroups: []string{"cert-manager.io"}, Kinds: []string{"CertificateRequest"}},
		{APIGroups: []string{"cilium.io"}, Kinds: []string{"CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"}},
		{
			APIGroups: []string{"kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"},
			Kinds: []string{
				"PolicyReport", "ClusterPolicyReport", "EphemeralReport", "ClusterEphemeralReport", "AdmissionReport",
				"ClusterAdmissionReport", "BackgroundScanReport", "ClusterBackgroundScanReport", "UpdateRequest",
			},
		},
	}
}

// neverWatched are left out whatever anybody says.
func neverWatched() []Filter {
	return []Filter{
		{APIGroups: []string{"events.k8s.io", "metrics.k8s.io"}},
		{APIGroups: []string{""}, Kinds: []string{"Event"}},
		{APIGroups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease", "LeaseCandidate"}},
	}
}

// filters decide which kinds of one cluster are left out.
type filters struct {
	never, exclusions, inclusions []matcher
	// confined leaves out everything that has no namespace.
	confined bool
}

// matcher is a Filter that applies to this cluster, ready for use.
type matcher struct {
	groups, kinds []pattern
}

// newFilters prepares the lists for the cluster at this address. Exclusions
// that are nil are the default ones.
func newFilters(server string, exclusions, inclusions []Filter) filters {
	if exclusions == nil {
		exclusions = DefaultExclusions()
	}
	return filters{
		never:      compile(server, neverWatched()),
		exclusions: compile(server, exclusions),
		inclusions: compile(server, inclusions),
	}
}

func compile(server string, list []Filter) []matcher {
	var out []matcher
	for _, f := range list {
		if matchAny(patterns(f.Clusters), server) {
			out = append(out, matcher{groups: patterns(f.APIGroups), kinds: patterns(f.Kinds)})
		}
	}
	return out
}

// why says why a kind is left out, or nothing.
func (f filters) why(gk schema.GroupKind) string {
	picks := func(m matcher) bool { return matchAny(m.groups, gk.Group) && matchAny(m.kinds, gk.Kind) }
	switch {
	case slices.ContainsFunc(f.never, picks):
		return "its kind is excluded from what is managed, since it changes all the time by itself"
	case slices.ContainsFunc(f.exclusions, picks):
		return "its kind is excluded by resource.exclusions"
	case len(f.inclusions) > 0 && !slices.ContainsFunc(f.inclusions, picks):
		return "its kind is not among resource.inclusions"
	default:
		return ""
	}
}

// pattern is a glob. One that cannot be read matches its own text only.
type pattern struct {
	text string
	glob *glob.Pattern
}

func patterns(texts []string) []pattern {
	out := make([]pattern, len(texts))
	for i, t := range texts {
		out[i].text = t
		if g, err := glob.Compile(t); err == nil {
			out[i].glob = g
		}
	}
	return out
}

func matchAny(list []pattern, s string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(p pattern) bool {
		return p.text == s || p.glob != nil && p.glob.Match(s)
	})
}
