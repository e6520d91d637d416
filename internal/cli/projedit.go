package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// This file is what people do to projects, each as a function that changes a
// project and says what it did. It is idempotent where Argo CD is: what is so
// already is then told and is no mistake.

// projEdit changes a project.
type projEdit func(p *v1alpha1.AppProject) (said string, err error)

// without removes the first item that fits.
func without[T any](list []T, fits func(T) bool) (out []T, found bool) {
	i := slices.IndexFunc(list, fits)
	if i < 0 {
		return list, false
	}
	return slices.Delete(slices.Clone(list), i, i+1), true
}

// refusef is a mistake of the user that names the project and the way out.
func refusef(p *v1alpha1.AppProject, format string, args ...any) error {
	return fmt.Errorf("project %q %s; %q shows it", p.Name, fmt.Sprintf(format, args...), "towline proj get "+p.Name)
}

func addSource(repo string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		if slices.ContainsFunc(p.Spec.SourceRepos, func(have string) bool { return sameRepo(have, repo) }) {
			return fmt.Sprintf("repository %q is allowed already", repo), nil
		}
		p.Spec.SourceRepos = append(p.Spec.SourceRepos, repo)
		return fmt.Sprintf("repository %q is allowed", repo), nil
	}
}

// sameRepo compares two addresses as people write them.
func sameRepo(a, b string) bool {
	plain := func(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "/"), ".git") }
	return strings.EqualFold(plain(a), plain(b))
}

func removeSource(repo string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.SourceRepos, found = without(p.Spec.SourceRepos, func(have string) bool { return have == repo })
		if !found {
			return fmt.Sprintf("repository %q was not in the list", repo), nil
		}
		return fmt.Sprintf("repository %q is in the list no more", repo), nil
	}
}

func addSourceNamespace(namespace string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		for _, have := range p.Spec.SourceNamespaces {
			if have == "*" || have == namespace {
				return fmt.Sprintf("applications in namespace %q are allowed already, by %q", namespace, have), nil
			}
		}
		p.Spec.SourceNamespaces = append(p.Spec.SourceNamespaces, namespace)
		return fmt.Sprintf("applications in namespace %q are allowed", namespace), nil
	}
}

func removeSourceNamespace(namespace string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.SourceNamespaces, found = without(p.Spec.SourceNamespaces, func(have string) bool { return have == namespace })
		if !found {
			return fmt.Sprintf("namespace %q was not in the list", namespace), nil
		}
		return fmt.Sprintf("namespace %q is in the list no more", namespace), nil
	}
}

func destinationWords(d v1alpha1.ApplicationDestination) string {
	if d.Name != "" {
		return fmt.Sprintf("cluster %q, namespace %q", d.Name, d.Namespace)
	}
	return fmt.Sprintf("server %q, namespace %q", d.Server, d.Namespace)
}

func addDestination(d v1alpha1.ApplicationDestination) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		for _, have := range p.Spec.Destinations {
			if have.Namespace == d.Namespace && (d.Server != "" && have.Server == d.Server || d.Name != "" && have.Name == d.Name) {
				return "", refusef(p, "has this destination already: %s", destinationWords(have))
			}
		}
		p.Spec.Destinations = append(p.Spec.Destinations, d)
		return destinationWords(d) + " is a destination", nil
	}
}

// removeDestination takes the server or the name of a cluster.
func removeDestination(where, namespace string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.Destinations, found = without(p.Spec.Destinations, func(d v1alpha1.ApplicationDestination) bool {
			return d.Namespace == namespace && (d.Server == where || d.Server == "" && d.Name == where)
		})
		if !found {
			return "", refusef(p, "has no destination %q, namespace %q", where, namespace)
		}
		return fmt.Sprintf("%q, namespace %q is a destination no more", where, namespace), nil
	}
}

func addDestinationAccount(a v1alpha1.ApplicationDestinationServiceAccount) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		for _, have := range p.Spec.DestinationServiceAccounts {
			if have.Server == a.Server && have.Namespace == a.Namespace {
				return "", refusef(p, "has an account for server %q, namespace %q already: %q",
					a.Server, a.Namespace, have.DefaultServiceAccount)
			}
		}
		p.Spec.DestinationServiceAccounts = append(p.Spec.DestinationServiceAccounts, a)
		return fmt.Sprintf("syncs to server %q, namespace %q are done as %q", a.Server, a.Namespace, a.DefaultServiceAccount), nil
	}
}

func removeDestinationAccount(a v1alpha1.ApplicationDestinationServiceAccount) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.DestinationServiceAccounts, found = without(p.Spec.DestinationServiceAccounts,
			func(have v1alpha1.ApplicationDestinationServiceAccount) bool { return have == a })
		if !found {
			return "", refusef(p, "has no account %q for server %q, namespace %q", a.DefaultServiceAccount, a.Server, a.Namespace)
		}
		return fmt.Sprintf("account %q for server %q, namespace %q is in the list no more",
			a.DefaultServiceAccount, a.Server, a.Namespace), nil
	}
}

func addOrphanedIgnore(k v1alpha1.OrphanedResourceKey) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		if p.Spec.OrphanedResources == nil {
			p.Spec.OrphanedResources = &v1alpha1.OrphanedResourcesMonitorSettings{}
		}
		o := p.Spec.OrphanedResources
		if slices.Contains(o.Ignore, k) {
			return "", refusef(p, "ignores %s among orphans already", orphanWords(k))
		}
		o.Ignore = append(o.Ignore, k)
		return orphanWords(k) + " is ignored among orphans", nil
	}
}

func removeOrphanedIgnore(k v1alpha1.OrphanedResourceKey) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		o, found := p.Spec.OrphanedResources, false
		if o != nil {
			o.Ignore, found = without(o.Ignore, func(have v1alpha1.OrphanedResourceKey) bool { return have == k })
		}
		if !found {
			return "", refusef(p, "does not ignore %s among orphans", orphanWords(k))
		}
		return orphanWords(k) + " is not ignored among orphans any more", nil
	}
}

func orphanWords(k v1alpha1.OrphanedResourceKey) string {
	return restriction(v1alpha1.ClusterResourceRestriction(k))
}

var keyID = regexp.MustCompile(`^([0-9a-fA-F]{16}|[0-9a-fA-F]{40}|SHA256:\S+)$`)

func checkKey(key string) error {
	if !keyID.MatchString(key) {
		return usagef("%q is no key: write the 16 or 40 digits of a GnuPG key, or SHA256:… of an SSH key", key)
	}
	return nil
}

func addSignatureKey(key string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		if slices.Contains(p.Spec.SignatureKeys, v1alpha1.SignatureKey{KeyID: key}) {
			return "", refusef(p, "takes signatures of key %q already", key)
		}
		p.Spec.SignatureKeys = append(p.Spec.SignatureKeys, v1alpha1.SignatureKey{KeyID: key})
		return fmt.Sprintf("commits must be signed, and key %q may", key), nil
	}
}

func removeSignatureKey(key string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.SignatureKeys, found = without(p.Spec.SignatureKeys, func(have v1alpha1.SignatureKey) bool { return have.KeyID == key })
		switch {
		case !found:
			return "", refusef(p, "has no signature key %q", key)
		case len(p.Spec.SignatureKeys) == 0:
			return fmt.Sprintf("key %q is in the list no more, and commits need not be signed", key), nil
		}
		return fmt.Sprintf("key %q is in the list no more", key), nil
	}
}

// restriction is a kind as people write it, with the name if there is one.
func restriction(r v1alpha1.ClusterResourceRestriction) string {
	out := r.Kind
	if r.Group != "" {
		out = r.Group + "/" + r.Kind
	}
	if r.Name != "" {
		out += " " + r.Name
	}
	return out
}

// kindList names one of the four lists of kinds.
type kindList struct{ namespaced, denied bool }

func (l kindList) words() string {
	of, scope := "allowed", "cluster"
	if l.denied {
		of = "denied"
	}
	if l.namespaced {
		scope = "namespaced"
	}
	return of + " " + scope + " resources"
}

// items are the kinds of a list, and put replaces them.
func (l kindList) items(s *v1alpha1.AppProjectSpec) []v1alpha1.ClusterResourceRestriction {
	switch {
	case !l.namespaced && l.denied:
		return s.ClusterResourceBlacklist
	case !l.namespaced:
		return s.ClusterResourceWhitelist
	}
	from := s.NamespaceResourceWhitelist
	if l.denied {
		from = s.NamespaceResourceBlacklist
	}
	var out []v1alpha1.ClusterResourceRestriction
	for _, gk := range from {
		out = append(out, v1alpha1.ClusterResourceRestriction{Group: gk.Group, Kind: gk.Kind})
	}
	return out
}

func (l kindList) put(s *v1alpha1.AppProjectSpec, items []v1alpha1.ClusterResourceRestriction) {
	switch {
	case !l.namespaced && l.denied:
		s.ClusterResourceBlacklist = items
		return
	case !l.namespaced:
		s.ClusterResourceWhitelist = items
		return
	}
	// Not nil: a list of allowed kinds that was emptied allows none, and one
	// that is not there allows all.
	kinds := []metav1.GroupKind{}
	for _, r := range items {
		kinds = append(kinds, metav1.GroupKind{Group: r.Group, Kind: r.Kind})
	}
	if l.denied {
		s.NamespaceResourceBlacklist = kinds
	} else {
		s.NamespaceResourceWhitelist = kinds
	}
}

func addKind(l kindList, r v1alpha1.ClusterResourceRestriction) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		items := l.items(&p.Spec)
		if slices.Contains(items, r) {
			return fmt.Sprintf("%s is among the %s already", restriction(r), l.words()), nil
		}
		l.put(&p.Spec, append(items, r))
		return fmt.Sprintf("%s is among the %s", restriction(r), l.words()), nil
	}
}

func removeKind(l kindList, r v1alpha1.ClusterResourceRestriction) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		items, found := without(l.items(&p.Spec), func(have v1alpha1.ClusterResourceRestriction) bool { return have == r })
		if !found {
			return fmt.Sprintf("%s was not among the %s", restriction(r), l.words()), nil
		}
		l.put(&p.Spec, items)
		if l.namespaced && !l.denied && len(items) == 0 {
			return fmt.Sprintf("%s is among the %s no more, and none is left: an empty list allows none", restriction(r), l.words()), nil
		}
		return fmt.Sprintf("%s is among the %s no more", restriction(r), l.words()), nil
	}
}
