package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Tenancy is what an installation says of all its projects.
type Tenancy struct {
	// Globals are the projects whose rules others get too.
	Globals []Global
	// Impersonate says that what is written is written as the service account that the project names, and by nobody where
	// it names none. Optional has that written by ourselves.
	Impersonate, Optional bool
	// ByLetter is the profile in which everything is as Argo CD has it.
	ByLetter bool
}

// Global says that the projects with certain labels get the rules of another project too.
type Global struct {
	Project  string
	Selector metav1.LabelSelector
}

// GlobalsOf names the global projects of a project, in the order of the setting, each once. faults are the entries that
// cannot be understood; whether the project should have got their rules is not known.
func (t Tenancy) GlobalsOf(p *v1alpha1.AppProject) (names, faults []string) {
	for i, g := range t.Globals {
		selector, err := metav1.LabelSelectorAsSelector(&g.Selector)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s[%d] of argocd-cm has a labelSelector that cannot be read: %v; correct it",
				v1alpha1.KeyGlobalProjects, i, err))
			continue
		}
		// A project is not its own global one.
		if g.Project != p.Name && selector.Matches(labels.Set(p.Labels)) && !slices.Contains(names, g.Project) {
			names = append(names, g.Project)
		}
	}
	return names, faults
}

// Extends says whether a project's rules are among those of others.
func (t Tenancy) Extends(project string) bool {
	return slices.ContainsFunc(t.Globals, func(g Global) bool { return g.Project == project })
}

// Owned is what a project has for itself: what secrets say is for it alone. It needs no rule to be allowed.
type Owned struct {
	// Repositories are URLs, as they are written.
	Repositories []string
	Clusters     []OwnCluster
}

// OwnCluster is a cluster of one project.
type OwnCluster struct {
	Server, Name string
	// Namespaces are those that we look after; none are all.
	Namespaces []string
}

func (c OwnCluster) is(t target) bool {
	return t.server != "" && trimServer(c.Server) == t.server || t.name != "" && c.Name == t.name
}

func (c OwnCluster) has(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// Effective are the rules that count for a project: its own, those of its global projects, and what it has for itself.
// The lists are put together, so that a deny of a global project denies, and what it allows is allowed.
func Effective(p *v1alpha1.AppProject, globals []*v1alpha1.AppProject, own Owned) Project {
	out := Of(p)
	out.OwnRepos, out.OwnClusters = own.Repositories, own.Clusters
	for _, g := range globals {
		more := Of(g)
		out.Globals = append(out.Globals, g.Name)
		out.SourceRepos = slices.Concat(out.SourceRepos, more.SourceRepos)
		out.Destinations = slices.Concat(out.Destinations, more.Destinations)
		out.ClusterWhitelist = slices.Concat(out.ClusterWhitelist, more.ClusterWhitelist)
		out.ClusterBlacklist = slices.Concat(out.ClusterBlacklist, more.ClusterBlacklist)
		out.NamespaceWhitelist = slices.Concat(out.NamespaceWhitelist, more.NamespaceWhitelist)
		out.NamespaceBlacklist = slices.Concat(out.NamespaceBlacklist, more.NamespaceBlacklist)
		out.ServiceAccounts = slices.Concat(out.ServiceAccounts, more.ServiceAccounts)
		// Kinds that the global project lists make a list where there was none.
		out.NamespaceWhitelistNil = out.NamespaceWhitelistNil && len(more.NamespaceWhitelist) == 0
	}
	return out
}

// EffectiveWindows are the sync windows of a project and of its global projects.
func EffectiveWindows(p *v1alpha1.AppProject, globals []*v1alpha1.AppProject) []Window {
	out := WindowsOf(p)
	for _, g := range globals {
		out = append(out, WindowsOf(g)...)
	}
	return out
}

// title is a project in a sentence, with those whose rules are among its own: one of them is the one to change.
type title struct {
	name    string
	globals []string
}

func (p Project) called() title { return title{name: p.Name, globals: p.Globals} }

// String shows the projects by their names.
func (t title) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "project %q", t.name)
	for i, g := range t.globals {
		word := " and"
		if i == 0 {
			word = " with its global project"
		}
		fmt.Fprintf(&text, "%s %q", word, g)
	}
	return text.String()
}
