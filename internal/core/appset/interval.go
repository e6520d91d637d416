package appset

import (
	"encoding/json"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// asking is how often forges, services and objects are asked where a generator does not say.
const asking = 30 * time.Minute

// Interval is how soon the generators of a set want to be asked again by themselves; zero is never: what they depend on
// is watched, or polled like every repository.
func Interval(set *v1alpha1.ApplicationSet) time.Duration {
	var out time.Duration
	for _, g := range set.Spec.Generators {
		out = sooner(out, ofLeaves(leavesOf{g.Git, g.SCMProvider, g.PullRequest, g.Plugin, g.ClusterDecisionResource}))
		var nested []v1alpha1.ApplicationSetNestedGenerator
		if g.Matrix != nil {
			nested = append(nested, g.Matrix.Generators...)
		}
		if g.Merge != nil {
			nested = append(nested, g.Merge.Generators...)
		}
		for _, n := range nested {
			out = sooner(out, ofNested(n))
		}
	}
	return out
}

func ofNested(n v1alpha1.ApplicationSetNestedGenerator) time.Duration {
	out := ofLeaves(leavesOf{n.Git, n.SCMProvider, n.PullRequest, n.Plugin, n.ClusterDecisionResource})
	if n.Matrix != nil {
		var m v1alpha1.NestedMatrixGenerator
		if json.Unmarshal(n.Matrix.Raw, &m) == nil {
			out = sooner(out, ofTerminal(m.Generators))
		}
	}
	if n.Merge != nil {
		var m v1alpha1.NestedMergeGenerator
		if json.Unmarshal(n.Merge.Raw, &m) == nil {
			out = sooner(out, ofTerminal(m.Generators))
		}
	}
	return out
}

func ofTerminal(all []v1alpha1.ApplicationSetTerminalGenerator) time.Duration {
	var out time.Duration
	for _, t := range all {
		out = sooner(out, ofLeaves(leavesOf{t.Git, t.SCMProvider, t.PullRequest, t.Plugin, t.ClusterDecisionResource}))
	}
	return out
}

// leavesOf are the generators that say when they want to be asked again.
type leavesOf struct {
	git      *v1alpha1.GitGenerator
	scm      *v1alpha1.SCMProviderGenerator
	pr       *v1alpha1.PullRequestGenerator
	plugin   *v1alpha1.PluginGenerator
	decision *v1alpha1.DuckTypeGenerator
}

func ofLeaves(l leavesOf) time.Duration {
	var out time.Duration
	if l.git != nil {
		out = sooner(out, seconds(l.git.RequeueAfterSeconds, 0))
	}
	if l.scm != nil {
		out = sooner(out, seconds(l.scm.RequeueAfterSeconds, asking))
	}
	if l.pr != nil {
		out = sooner(out, seconds(l.pr.RequeueAfterSeconds, asking))
	}
	if l.plugin != nil {
		out = sooner(out, seconds(l.plugin.RequeueAfterSeconds, asking))
	}
	if l.decision != nil {
		out = sooner(out, seconds(l.decision.RequeueAfterSeconds, 3*time.Minute))
	}
	return out
}

func seconds(n *int64, otherwise time.Duration) time.Duration {
	if n == nil || *n <= 0 {
		return otherwise
	}
	return time.Duration(*n) * time.Second
}

// sooner is the smaller of two times to wait, of which zero is for ever.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ProjectOf is the project of the Applications of a set; empty where the template leaves it open.
func ProjectOf(set *v1alpha1.ApplicationSet) string {
	project := set.Spec.Template.Spec.Project
	if templated(project) {
		return ""
	}
	return project
}
