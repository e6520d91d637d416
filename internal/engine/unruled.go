//go:build faults

package engine

import (
	"sync/atomic"

	"github.com/towline-cd/towline/internal/core/policy"
)

// unruled says that projects forbid nothing. It exists for tests of what holds
// behind our own rules, and only in builds with the tag "faults".
var unruled atomic.Bool

// Unrule makes every project forbid nothing.
func Unrule() { unruled.Store(true) }

// ruled are the rules that count. Without rules it still counts as whom things
// are written.
func ruled(p policy.Project) policy.Project {
	if !unruled.Load() {
		return p
	}
	all := policy.Kind{Group: "*", Kind: "*"}
	return policy.Project{
		Name: p.Name, SourceRepos: []string{"*"}, Destinations: []policy.Destination{{Server: "*", Namespace: "*"}},
		ClusterWhitelist: []policy.Kind{all}, NamespaceWhitelist: []policy.Kind{all}, SourceNamespaces: []string{"*"},
		ServiceAccounts: p.ServiceAccounts,
	}
}
