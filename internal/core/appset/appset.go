// Package appset turns an ApplicationSet into Applications: its generators into sets of parameters, these and the
// template into what there should be, and that, beside what there is, into what to write. It must not look anything up:
// what a generator has to know comes in as an answer, and what it still lacks goes out as a need.
package appset

import (
	"io/fs"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Cluster is a cluster that generators know of.
type Cluster struct {
	Name, Server, Project string
	Labels, Annotations   map[string]string
	// Local says that there is no secret for it: it is the cluster that we run in.
	Local bool
}

// World is what is known when Applications are generated.
type World struct {
	// Clusters are in the order of their names.
	Clusters []Cluster
	// Answers are what was needed in earlier rounds, by Need.Key.
	Answers map[string]Answer
	// StrictGlobs makes "*" in the paths of files stay within one folder.
	StrictGlobs bool
	// Now is the time that templates may ask for.
	Now time.Time
}

// Need is something that a generator has to know. Exactly one of its fields is set.
type Need struct {
	// Git is a commit with its content.
	Git *GitNeed
	// PullRequest and SCMProvider are questions to a forge, with their parameters filled in.
	PullRequest *v1alpha1.PullRequestGenerator
	SCMProvider *v1alpha1.SCMProviderGenerator
	// Plugin is a question to a service.
	Plugin *v1alpha1.PluginGenerator
	// Decision is an object that lists clusters in its status.
	Decision *v1alpha1.DuckTypeGenerator
}

// GitNeed is a revision of a repository, read with what the project may read.
type GitNeed struct {
	RepoURL, Revision, Project string
}

// Answer is what a need turned out to be; it is complete, or it is an error and there is no answer.
type Answer struct {
	// Commit and Tree answer a need of Git. The tree is traced: what is read of it is written down.
	Commit string
	Tree   fs.FS
	// Sets are the parameters that a forge, a service or an object gave. For clusterDecisionResource they are the
	// entries of the status list.
	Sets []map[string]any
	// MatchKey is the field of an entry that names a cluster, for clusterDecisionResource.
	MatchKey string
}

// Result is what a set stands for.
type Result struct {
	// Needs is what has to be known first; if there are any, nothing else is said.
	Needs []Need
	// Apps are the Applications, in the order in which they were generated; each has a name of its own.
	Apps []*v1alpha1.Application
	// Problems are of single Applications: they are not written, and not taken away either.
	Problems []Problem
	// Failure says why nothing can be said of the whole set; nothing is then written or taken away.
	Failure string
	// Sets is how many sets of parameters there were.
	Sets int
	// Notes are what in the set has no effect, and what to write instead.
	Notes []string
}

// Problem is why one Application is left as it is.
type Problem struct {
	// Name is empty where the name is what is wrong.
	Name    string
	Message string
}
