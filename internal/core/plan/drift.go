package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Episode is one field that was not what Git says, and what became of it.
type Episode struct {
	Key object.Key
	// Path is the field; "" means the object itself, which was missing.
	Path string
	// Manager holds the field in the live object; "" where nobody can be named.
	Manager  string
	Revision string
	Seen     time.Time
	// Healed is zero while it was not.
	Healed time.Time
}

// Drifts are the fields of a plan that differ from a revision that was synced
// already: somebody changed the cluster.
func Drifts(p Plan, only []object.Key, revision string, now time.Time) []Episode {
	var out []Episode
	for _, it := range p.Items {
		if !slices.Contains(only, it.Key) || it.Prunable {
			continue
		}
		e := Episode{Key: it.Key, Revision: revision, Seen: now}
		if it.Live == nil {
			out = append(out, e)
			continue
		}
		for _, c := range it.Verdict.Changes {
			e.Path, e.Manager = c.Path, holder(c)
			out = append(out, e)
		}
	}
	return out
}

// holder is the one who wrote a field last.
func holder(c diff.Change) string {
	if len(c.Holders) == 0 {
		return ""
	}
	last := slices.MaxFunc(c.Holders, func(a, b diff.Holder) int { return cmp.Compare(a.Time, b.Time) })
	return last.Manager
}

// A fight is over a field that somebody set back this often in that time.
const (
	fightRounds = 5
	fightTime   = time.Hour
)

// Fight is a field that we and somebody else keep changing.
type Fight struct {
	Key     object.Key
	Path    string
	Manager string
	Rounds  int
}

// Fights finds the fields that were healed again and again. Who holds a field
// and nothing else is a fight with nobody: a removal has no author.
func Fights(episodes []Episode, revision string, now time.Time) []Fight {
	rounds := map[Fight]int{}
	for _, e := range episodes {
		if e.Revision == revision && e.Path != "" && !e.Healed.IsZero() && now.Sub(e.Seen) < fightTime {
			rounds[Fight{Key: e.Key, Path: e.Path, Manager: e.Manager}]++
		}
	}
	var out []Fight
	for f, n := range rounds {
		if n >= fightRounds {
			f.Rounds = n
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Fight) int {
		return cmp.Or(object.Compare(a.Key, b.Key), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Manager, b.Manager))
	})
	return out
}

// fought says that all that differs of an object is fought over: to write it
// once more would change nothing.
func fought(fights []Fight, it Item) bool {
	if len(fights) == 0 || len(it.Verdict.Changes) == 0 {
		return false
	}
	for _, c := range it.Verdict.Changes {
		if !slices.ContainsFunc(fights, func(f Fight) bool { return f.Key == it.Key && f.Path == c.Path }) {
			return false
		}
	}
	return true
}

func fightFindings(in AutoInput) []finding.Finding {
	var out []finding.Finding
	for _, f := range in.Fights {
		it, ok := in.Plan.Item(f.Key)
		if !ok || !fought(in.Fights, it) {
			continue
		}
		out = append(out, finding.Finding{
			Reason: finding.Fight, Severity: finding.Warning, Key: f.Key,
			Message: fmt.Sprintf("%s of %s was set back %d times, each time by %s; it is left alone now. "+
				"Stop the other writer, or let it have the field by committing this rule: %s",
				f.Path, f.Key, f.Rounds, cmp.Or(f.Manager, "somebody who left no name"),
				strings.Join(strings.Fields(diff.SuggestRule(f.Key, []string{f.Path})), " ")),
		})
	}
	return out
}
