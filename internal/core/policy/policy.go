// Package policy decides what an AppProject lets an application do: from which repository, to which destination, with
// which kinds and when; it must not look anything up, so whoever asks brings the project, the facts and the time.
//
// Every rule fails closed. A deny always wins, and a rule that cannot be understood allows nothing and denies all.
package policy

import "fmt"

// Project is the part of an AppProject that the verdicts need.
type Project struct {
	Name        string
	SourceRepos []string
	// Destinations allow; a pattern that begins with "!" in any of its fields denies.
	Destinations []Destination
	// ClusterWhitelist lists the cluster-scoped kinds that are allowed. Empty allows none.
	ClusterWhitelist []Kind
	ClusterBlacklist []Kind
	// NamespaceWhitelist lists the namespaced kinds that are allowed. Empty allows none, unless NamespaceWhitelistNil.
	NamespaceWhitelist []Kind
	// NamespaceWhitelistNil says that the project does not have the list at all, which allows all namespaced kinds. It
	// is a field of its own because a nil slice does not survive every copy, and losing it must not open the project.
	NamespaceWhitelistNil bool
	NamespaceBlacklist    []Kind
	// Orphans is nil where the project does not ask to hear of objects that no application has.
	Orphans *Orphans
	// Integrity says which commits must be signed; the first rule that matches decides.
	Integrity []IntegrityRule
	// Globals are the projects whose rules are among these.
	Globals []string
	// OwnRepos and OwnClusters are for the project alone, and allowed without a rule. OnlyOwnClusters allows no others.
	OwnRepos        []string
	OwnClusters     []OwnCluster
	OnlyOwnClusters bool
	// SourceNamespaces are those, besides the control namespace, that its applications may live in.
	SourceNamespaces []string
	// ServiceAccounts say as whom to write; the first that fits the destination counts.
	ServiceAccounts []ServiceAccount
	// SharesClusters lets the project use clusters that are another project's own. It is for adopted installations.
	SharesClusters bool
	// DenyAllowsRest makes a repository or destination that no deny rule hits allowed by that very rule, as Argo CD's
	// code does (its documentation asks for an allow rule too). It is for adopted installations.
	DenyAllowsRest bool
}

// Destination is one rule on clusters and namespaces. A cluster matches by its server or by its name.
type Destination struct {
	Server    string
	Name      string
	Namespace string
}

// Kind is one rule on kinds; the fields are shell patterns. An empty Name stands for every name.
type Kind struct {
	Group string
	Kind  string
	Name  string
}

// Verdict says whether something is allowed.
type Verdict struct {
	Allowed bool
	// Reason of a refusal names what was asked, the rule that decided and the way out.
	Reason string
	// because is the sentence of what is allowed. Few ask for it, and to write it takes longer than to decide.
	because func() string
}

// Why names what was asked and the rule that decided, of what is allowed too. Object and Write, which are asked for every
// object, only say why not.
func (v Verdict) Why() string {
	if v.because == nil {
		return v.Reason
	}
	return v.because()
}

// allowed keeps the parts of its sentence as they are: give it what has a String, not the text.
func allowed(format string, args ...any) Verdict {
	return Verdict{Allowed: true, because: func() string { return fmt.Sprintf(format, args...) }}
}

func refused(format string, args ...any) Verdict {
	return Verdict{Reason: fmt.Sprintf(format, args...)}
}
