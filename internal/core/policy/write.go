package policy

import (
	"github.com/towline-cd/towline/internal/core/object"
)

// Place is a cluster.
type Place struct {
	Server, Name string
	// Project is the only project that the cluster is for; "" is for all.
	Project string
}

// Write says whether the project allows an application to touch an object: to make, change or delete it, or to ask the
// server what would come of that. It is the one question before every such request, whatever the request is for.
func Write(p Project, at Place, k object.Key, namespaced bool) Verdict {
	if !p.admitted(at) {
		return Cluster(p, at)
	}
	v := Object(p, k.Group, k.Kind, k.Name, namespaced)
	if !v.Allowed || !namespaced || p.reaches(target{server: trimServer(at.Server), name: at.Name, namespace: k.Namespace}) {
		return v
	}
	return DestinationOf(p, at.Server, at.Name, k.Namespace)
}

// Cluster says whether a cluster is another project's own. Argo CD lets others use it where their destinations say so.
func Cluster(p Project, at Place) Verdict {
	if p.admitted(at) {
		return allowed("cluster %q is not for another project", at.Name)
	}
	return refused("%s is for project %q alone (the key project of its secret), and not for %s; choose another destination",
		target{server: at.Server, name: at.Name}, at.Project, p.called())
}

func (p Project) admitted(at Place) bool {
	return at.Project == "" || at.Project == p.Name || p.SharesClusters
}
