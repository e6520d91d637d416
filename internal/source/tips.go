package source

import (
	"slices"
	"sync"
)

// tips are the commits of a repository that were last asked for, the newest first. A server is told of these alone: it
// goes through the trees of all that it is told we have, which for a large folder costs more with every commit that is
// kept.
type tips struct {
	mu   sync.Mutex
	last []string
}

// mostTips is how many a server is told of: some branches, and what they were before.
const mostTips = 4

func (t *tips) use(commit string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) > 0 && t.last[0] == commit {
		return
	}
	t.last = slices.DeleteFunc(t.last, func(other string) bool { return other == commit })
	t.last = slices.Insert(t.last, 0, commit)[:min(len(t.last)+1, mostTips)]
}

// known are the options of a fetch that name those of the commits that are still here. Without any of them the server is
// told of everything.
func (r *repository) known() (options []string) {
	r.tips.mu.Lock()
	defer r.tips.mu.Unlock()
	for _, commit := range r.tips.last {
		if r.has(commit) {
			options = append(options, "--negotiation-tip="+commit)
		}
	}
	return options
}
