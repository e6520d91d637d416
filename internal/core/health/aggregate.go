package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// causesNamed bounds the message of a group: past three names a reader looks at the list anyway.
const causesNamed = 3

// Part is one member of a group. Key names it to the user, as in "Deployment web".
type Part struct {
	Key    string
	Health Health
}

// IsWorse says whether candidate is a worse status than current. The empty status, that of a kind without health, is
// better than all others; a status that nobody defined counts as Unknown.
func IsWorse(current, candidate Status) bool {
	return rank(candidate) > rank(current)
}

// Worst returns the worse of two statuses.
func Worst(a, b Status) Status {
	if IsWorse(a, b) {
		return b
	}
	return a
}

// Aggregate gives the worst status of the parts and names up to three parts that have it, in order of their keys. Parts
// without health are ignored; nothing to judge is Healthy.
//
// It counts every part, whatever its verdict came from. A caller that keeps to Argo CD leaves out those whose source is
// not InArgoCD: there such an object has no health, and so cannot make its application worse.
func Aggregate(parts []Part) Health {
	worst := Healthy
	for _, p := range parts {
		worst = Worst(worst, p.Health.Status)
	}
	if worst == Healthy {
		return Health{Status: Healthy}
	}
	var causes []string
	for _, p := range parts {
		if rank(p.Health.Status) == rank(worst) {
			causes = append(causes, p.Key+": "+cmp.Or(p.Health.Message, string(p.Health.Status)))
		}
	}
	// The order of the parts must not show in the message, or an unchanged group would look changed.
	slices.Sort(causes)
	if more := len(causes) - causesNamed; more > 0 {
		causes = append(causes[:causesNamed], fmt.Sprintf("and %d more", more))
	}
	if rank(worst) == rank(Unknown) {
		worst = Unknown
	}
	return Health{Status: worst, Message: strings.Join(causes, "; ")}
}

func rank(s Status) int {
	switch s {
	case "":
		return 0
	case Healthy:
		return 1
	case Suspended:
		return 2
	case Progressing:
		return 3
	case Missing:
		return 4
	case Degraded:
		return 5
	case Unknown:
		return 6
	}
	return 6
}
