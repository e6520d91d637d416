package cluster

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/plan"
)

// kind is a kind that the cluster serves in one version.
type kind struct {
	schema.GroupVersionKind
	Resource   string
	Namespaced bool
}

func (k kind) gvr() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// catalog is what the cluster serves, as far as it told.
type catalog struct {
	kinds map[schema.GroupVersionKind]kind
	// watched has one version of each kind that can be watched.
	watched []kind
	scopes  map[schema.GroupKind]plan.Scope
	// blind are the kinds that are served and not watched, with the reason.
	blind map[schema.GroupKind]string
	// gaps are the groups that did not answer.
	gaps []string
}

// unwatched are the kinds that nobody manages by hand and that change all the
// time: watching them costs much and tells nothing.
var unwatched = []schema.GroupKind{
	{Group: "", Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Group: "", Kind: "Endpoints"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"},
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"},
	{Group: "cert-manager.io", Kind: "CertificateRequest"},
	{Group: "", Kind: "ComponentStatus"},
}

// unwatchedGroups hold answers to questions, not state.
var unwatchedGroups = []string{"authentication.k8s.io", "authorization.k8s.io", "metrics.k8s.io"}

// discover asks the cluster what it serves. A group that does not answer is a
// gap, not an error: the rest of the cluster is known.
func discover(d discovery.DiscoveryInterface) (catalog, error) {
	groups, lists, err := d.ServerGroupsAndResources()
	c := catalog{
		kinds:  map[schema.GroupVersionKind]kind{},
		scopes: map[schema.GroupKind]plan.Scope{},
		blind:  map[schema.GroupKind]string{},
	}
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		for gv := range partial.Groups {
			c.gaps = append(c.gaps, gv.Group)
		}
		slices.Sort(c.gaps)
		c.gaps = slices.Compact(c.gaps)
	case err != nil:
		return catalog{}, fault.Transientf("Discovery", "discovering the kinds of the cluster: %w", err)
	}
	preferred := map[string]string{}
	for _, g := range groups {
		preferred[g.Name] = g.PreferredVersion.Version
	}
	watched := map[schema.GroupKind]kind{}
	for _, list := range lists {
		c.add(list, preferred, watched)
	}
	for _, k := range watched {
		c.watched = append(c.watched, k)
	}
	slices.SortFunc(c.watched, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	return c, nil
}

func (c *catalog) add(list *metav1.APIResourceList, preferred map[string]string, watched map[schema.GroupKind]kind) {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return
	}
	for _, r := range list.APIResources {
		if strings.Contains(r.Name, "/") {
			continue
		}
		k := kind{GroupVersionKind: gv.WithKind(r.Kind), Resource: r.Name, Namespaced: r.Namespaced}
		gk := k.GroupKind()
		c.kinds[k.GroupVersionKind] = k
		c.scopes[gk] = plan.ScopeCluster
		if r.Namespaced {
			c.scopes[gk] = plan.ScopeNamespaced
		}
		if why := blindness(gk, r.Verbs); why != "" {
			c.blind[gk] = why
			continue
		}
		if _, seen := watched[gk]; !seen || preferred[gv.Group] == gv.Version {
			watched[gk] = k
		}
	}
}

// blindness says why a kind is not watched, or nothing.
func blindness(gk schema.GroupKind, verbs []string) string {
	switch {
	case slices.Contains(unwatched, gk), slices.Contains(unwatchedGroups, gk.Group):
		return "its kind is excluded from what is managed, since it changes all the time by itself"
	case !slices.Contains(verbs, "watch"), !slices.Contains(verbs, "list"):
		return "its kind cannot be watched"
	default:
		return ""
	}
}
