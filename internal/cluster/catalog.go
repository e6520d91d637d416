package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/plan"
)

// confined is why an object without a namespace is left out.
const confined = "only some namespaces of the cluster are managed; clusterResources: \"true\" in its secret adds what has no namespace"

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
	// version is that of the server, and kube what renders may know.
	version string
	kube    *manifest.Kube
}

// discover asks the cluster what it serves. A group that does not answer is a
// gap, not an error: the rest of the cluster is known.
func discover(d discovery.DiscoveryInterface, filters filters) (catalog, error) {
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
	if v, err := d.ServerVersion(); err == nil {
		c.version = strings.TrimPrefix(v.GitVersion, "v")
	}
	preferred := map[string]string{}
	for _, g := range groups {
		preferred[g.Name] = g.PreferredVersion.Version
	}
	watched := map[schema.GroupKind]kind{}
	for _, list := range lists {
		c.add(list, preferred, watched)
	}
	for gk, k := range watched {
		delete(c.blind, gk)
		if why := filters.why(gk); why != "" {
			c.blind[gk] = why
			continue
		}
		if filters.confined && !k.Namespaced {
			c.blind[gk] = confined
			continue
		}
		c.watched = append(c.watched, k)
	}
	slices.SortFunc(c.watched, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	c.describe()
	return c, nil
}

// describe makes what renders may know: the versions of the groups, and the
// kinds in them.
func (c *catalog) describe() {
	k := &manifest.Kube{Version: c.version}
	for gvk := range c.kinds {
		gv := gvk.GroupVersion().String()
		k.APIs = append(k.APIs, gv, gv+"/"+gvk.Kind)
	}
	slices.Sort(k.APIs)
	k.APIs = slices.Compact(k.APIs)
	sum := sha256.Sum256([]byte(strings.Join(k.APIs, "\n")))
	k.Digest = hex.EncodeToString(sum[:])
	c.kube = k
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
		if !slices.Contains(r.Verbs, "watch") || !slices.Contains(r.Verbs, "list") {
			c.blind[gk] = "its kind cannot be watched"
			continue
		}
		if _, seen := watched[gk]; !seen || preferred[gv.Group] == gv.Version {
			watched[gk] = k
		}
	}
}

// keep takes over what an earlier look knew of the groups that did not answer
// this time: a group that does not answer is not a group that is gone.
func (c *catalog) keep(before catalog) {
	lost := func(group string) bool { return slices.Contains(c.gaps, group) }
	for gvk, k := range before.kinds {
		if _, known := c.scopes[gvk.GroupKind()]; lost(gvk.Group) && !known {
			c.kinds[gvk] = k
		}
	}
	for _, k := range before.watched {
		if _, known := c.scopes[k.GroupKind()]; lost(k.Group) && !known {
			c.watched = append(c.watched, k)
		}
	}
	for gk, why := range before.blind {
		if _, known := c.scopes[gk]; lost(gk.Group) && !known {
			c.blind[gk] = why
		}
	}
	// Last, for it is what tells the known from the lost.
	for gk, scope := range before.scopes {
		if _, known := c.scopes[gk]; lost(gk.Group) && !known {
			c.scopes[gk] = scope
		}
	}
	slices.SortFunc(c.watched, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	c.version = cmp.Or(c.version, before.version)
	c.describe()
}
