package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Of reads a project's rules out of its resource.
func Of(p *v1alpha1.AppProject) Project {
	out := Project{
		Name:                  p.Name,
		SourceRepos:           p.Spec.SourceRepos,
		ClusterWhitelist:      restrictions(p.Spec.ClusterResourceWhitelist),
		ClusterBlacklist:      restrictions(p.Spec.ClusterResourceBlacklist),
		NamespaceWhitelist:    groupKinds(p.Spec.NamespaceResourceWhitelist),
		NamespaceWhitelistNil: p.Spec.NamespaceResourceWhitelist == nil,
		NamespaceBlacklist:    groupKinds(p.Spec.NamespaceResourceBlacklist),
		Integrity:             integrityOf(p.Spec),
		OnlyOwnClusters:       p.Spec.PermitOnlyProjectScopedClusters,
		SourceNamespaces:      p.Spec.SourceNamespaces,
	}
	if o := p.Spec.OrphanedResources; o != nil {
		// Asking is asking to be warned, unless it says otherwise.
		out.Orphans = &Orphans{Warn: o.Warn == nil || *o.Warn}
		for _, k := range o.Ignore {
			out.Orphans.Ignore = append(out.Orphans.Ignore, Kind{Group: k.Group, Kind: k.Kind, Name: k.Name})
		}
	}
	for _, d := range p.Spec.Destinations {
		out.Destinations = append(out.Destinations, Destination{Server: d.Server, Name: d.Name, Namespace: d.Namespace})
	}
	for _, a := range p.Spec.DestinationServiceAccounts {
		out.ServiceAccounts = append(out.ServiceAccounts, ServiceAccount{
			Server: a.Server, Namespace: a.Namespace, Account: a.DefaultServiceAccount,
		})
	}
	return out
}

func restrictions(in []v1alpha1.ClusterResourceRestriction) []Kind {
	out := make([]Kind, len(in))
	for i, r := range in {
		out[i] = Kind{Group: r.Group, Kind: r.Kind, Name: r.Name}
	}
	return out
}

func groupKinds(in []metav1.GroupKind) []Kind {
	out := make([]Kind, len(in))
	for i, gk := range in {
		out[i] = Kind{Group: gk.Group, Kind: gk.Kind}
	}
	return out
}
