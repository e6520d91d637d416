package destination

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// The reasons of the faults about clusters. An unknown one is Terminal; all the
// others are Waiting, for a change of the cluster or of its entry wakes whoever
// waits.
const (
	// Unknown means that there is no such entry, Ambiguous that several could be
	// meant.
	Unknown   = "UnknownCluster"
	Ambiguous = "AmbiguousCluster"
	// Starting means that the cluster is being read for the first time: nothing
	// can be said of it yet, for better or worse.
	Starting = "ClusterStarting"
	// Skipped means that the entry asks to leave the cluster alone.
	Skipped = "ClusterSkipped"
	// Unreachable means that the cluster does not answer. A request that failed
	// before that was known is Transient.
	Unreachable = "ClusterUnreachable"
	// Misconfigured means that the entry cannot be used as it is.
	Misconfigured = "ClusterMisconfigured"
	// Unreadable means that the cluster answers, and does not say what it serves.
	Unreadable = "ClusterUnreadable"
)

// Lost says that an error is about a cluster that does not answer, and not about
// what it was asked.
func Lost(err error) bool {
	for err != nil {
		found, ok := errors.AsType[*fault.Error](err)
		if !ok {
			return false
		}
		if found.Reason == Unreachable {
			return true
		}
		err = found.Err
	}
	return false
}

// Set is all clusters of an installation. It does not change: other secrets are
// another Set.
type Set struct {
	byServer map[string]Cluster
	byName   map[string][]Cluster
	all      []Cluster
	problems []string
	// closed says that the cluster that we run in is not a destination.
	closed bool
}

// NewSet makes a set of entries. inCluster says whether the cluster that we run
// in is a destination: it is one without a secret too. Of two entries for one
// server the one whose secret comes first by name counts.
func NewSet(entries []Cluster, inCluster bool) *Set {
	s := &Set{byServer: map[string]Cluster{}, byName: map[string][]Cluster{}, closed: !inCluster}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Cluster) int { return strings.Compare(a.Secret, b.Secret) })
	own := Key(v1alpha1.InClusterServer)
	for _, c := range entries {
		key := Key(c.Server)
		if first, taken := s.byServer[key]; taken {
			s.problems = append(s.problems, fmt.Sprintf(
				"secret %q is for server %s as secret %q is, and counts for nothing; delete one of them", c.Secret, c.Server, first.Secret))
			continue
		}
		if key == own && !inCluster {
			s.problems = append(s.problems, fmt.Sprintf(
				"secret %q is for the cluster that the controller runs in, which %s: \"false\" turns off",
				c.Secret, v1alpha1.KeyInClusterEnabled))
			continue
		}
		s.byServer[key] = c
	}
	if _, named := s.byServer[own]; inCluster && !named {
		s.byServer[own] = Cluster{Name: v1alpha1.InClusterName, Server: v1alpha1.InClusterServer}
	}
	for _, c := range s.byServer {
		s.all = append(s.all, c)
	}
	slices.SortFunc(s.all, func(a, b Cluster) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Server, b.Server))
	})
	for _, c := range s.all {
		s.byName[c.Name] = append(s.byName[c.Name], c)
	}
	return s
}

// All are all clusters, by name. They are shared: nobody may change them.
func (s *Set) All() []Cluster { return s.all }

// Of are the clusters that belong to a project.
func (s *Set) Of(project string) []Cluster {
	var out []Cluster
	for _, c := range s.all {
		if c.Project != "" && c.Project == project {
			out = append(out, c)
		}
	}
	return out
}

// Problems are the entries that do not count, each with the reason.
func (s *Set) Problems() []string { return s.problems }

// Get is the cluster of a server.
func (s *Set) Get(server string) (Cluster, bool) {
	c, ok := s.byServer[Key(server)]
	return c, ok
}

// Find is the cluster that a destination means. One that is not known is a
// Terminal fault; a name that several have is a Waiting one, for it may be made
// clear, and until then nobody knows what is whose.
func (s *Set) Find(d v1alpha1.ApplicationDestination) (Cluster, error) {
	if d.Server != "" {
		if c, ok := s.Get(d.Server); ok {
			return c, nil
		}
		return Cluster{}, s.unknown(d.Server)
	}
	found := s.byName[d.Name]
	switch len(found) {
	case 0:
		return Cluster{}, s.unknown(d.Name)
	case 1:
		return found[0], nil
	}
	servers := make([]string, len(found))
	for i, c := range found {
		servers[i] = c.Server
	}
	return Cluster{}, fault.Waitingf(Ambiguous, "%d clusters have the name %q: %s; name one by its server, or rename it in its secret",
		len(found), d.Name, strings.Join(servers, ", "))
}

// named is how many of the known clusters a message names.
const named = 10

func (s *Set) unknown(what string) error {
	if s.closed && (Key(what) == Key(v1alpha1.InClusterServer) || what == v1alpha1.InClusterName) {
		return fault.Terminalf(Unknown, "the cluster that the controller runs in is not a destination: %s is \"false\" in %s",
			v1alpha1.KeyInClusterEnabled, v1alpha1.ConfigMapSettings)
	}
	known := make([]string, 0, named+1)
	for i, c := range s.all {
		if i == named {
			known = append(known, fmt.Sprintf("and %d more", len(s.all)-named))
			break
		}
		known = append(known, c.String())
	}
	if len(known) == 0 {
		known = []string{"none"}
	}
	return fault.Terminalf(Unknown, "cluster %q is not known; known are %s. Register it by a secret with the label %s: %s",
		what, strings.Join(known, ", "), v1alpha1.LabelSecretType, v1alpha1.SecretTypeCluster)
}

// Changed are the destinations that mean something else in one set than in the
// other, or whose cluster is reached, looked at or used otherwise. Labels and
// annotations that only others read are no difference. Each has a server or a
// name.
func Changed(old, now *Set) []v1alpha1.ApplicationDestination {
	found := map[v1alpha1.ApplicationDestination]bool{}
	for _, side := range []*Set{old, now} {
		for key, c := range side.byServer {
			was, before := old.byServer[key]
			is, after := now.byServer[key]
			if before != after || !sameUse(was, is) {
				found[v1alpha1.ApplicationDestination{Server: c.Server}] = true
			}
		}
		for name := range side.byName {
			if !slices.EqualFunc(old.byName[name], now.byName[name], sameUse) {
				found[v1alpha1.ApplicationDestination{Name: name}] = true
			}
		}
	}
	out := slices.Collect(maps.Keys(found))
	slices.SortFunc(out, func(a, b v1alpha1.ApplicationDestination) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name, b.Name))
	})
	return out
}

// sameUse says that applications may do the same with both.
func sameUse(a, b Cluster) bool {
	return a.Server == b.Server && a.Name == b.Name && a.Project == b.Project && a.Skip == b.Skip && a.Broken == b.Broken &&
		a.Connection() == b.Connection() && a.Reach() == b.Reach()
}

// Same says that two sets say the same of every cluster, labels and annotations
// included.
func Same(a, b *Set) bool { return reflect.DeepEqual(a.all, b.all) && a.closed == b.closed }
