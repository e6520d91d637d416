package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Automation is an application's wish to be synced without being asked.
type Automation struct {
	Enabled    bool
	Prune      bool
	SelfHeal   bool
	AllowEmpty bool
}

// Backoff spaces the attempts to heal the same revision: the first is
// immediate, the next after First, then Factor times longer each, up to Cap.
type Backoff struct {
	First  time.Duration
	Factor float64
	Cap    time.Duration
}

// DefaultBackoff is Argo CD's.
var DefaultBackoff = Backoff{First: 2 * time.Second, Factor: 3, Cap: 300 * time.Second}

// wait is the pause before attempt n, counted from 0.
func (b Backoff) wait(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	d := float64(b.First) * math.Pow(b.Factor, float64(n-1))
	return time.Duration(min(d, float64(b.Cap)))
}

// Attempt is the last sync, as the application's status tells it.
type Attempt struct {
	// Same says that it was made for the revision and the source at hand.
	Same      bool
	Succeeded bool
	Finished  time.Time
	// Heals counts the attempts to heal this revision so far.
	Heals   int
	Message string
}

// AutoInput is all that the decision to sync depends on. Now is a value: the
// core has no clock.
type AutoInput struct {
	Plan    Plan
	Policy  Automation
	Busy    bool
	Last    *Attempt
	Backoff Backoff
	Now     time.Time
}

// Decision says whether to sync now, with the reason either way.
type Decision struct {
	Sync bool
	// Only restricts the sync to these objects; nil means all.
	Only  []object.Key
	Heals int
	// After asks to be reconsidered then: the answer is "later", not "no".
	After    time.Duration
	Reason   string
	Findings []finding.Finding
}

// AutoSync decides whether the application is synced without being asked.
// A revision gets one attempt; after a success only self-heal may follow, and
// after a failure something has to change first.
func AutoSync(in AutoInput) Decision {
	switch {
	case !in.Policy.Enabled:
		return Decision{Reason: "automated sync is off"}
	case in.Busy:
		return Decision{Reason: "an operation is in progress"}
	case in.Plan.Status() != OutOfSync:
		return Decision{Reason: "nothing to do: " + string(in.Plan.Status())}
	case len(todo(in)) == 0:
		return Decision{Reason: "nothing that an automated sync may do is left"}
	case in.Policy.Prune && !in.Policy.AllowEmpty && prunesAll(in.Plan):
		return Decision{
			Reason: "refused to delete everything",
			Findings: []finding.Finding{{
				Reason: finding.Sync, Severity: finding.Error,
				Message: "automated sync would delete every object of the application, since its source has none; " +
					"set syncPolicy.automated.allowEmpty, or sync by hand, if that is meant",
			}},
		}
	case in.Last == nil || !in.Last.Same:
		return Decision{Sync: true, Reason: "the source changed"}
	case !in.Last.Succeeded:
		return Decision{
			Reason: "the last attempt failed",
			Findings: []finding.Finding{{
				Reason: finding.Sync, Severity: finding.Error,
				Message: fmt.Sprintf(
					"Failed last sync attempt: %s; a new commit, a changed spec or a manual sync tries again", in.Last.Message),
			}},
		}
	case !in.Policy.SelfHeal:
		return Decision{Reason: "this revision was synced already, and automated.selfHeal is off"}
	}
	return heal(in)
}

func heal(in AutoInput) Decision {
	if wait := in.Backoff.wait(in.Last.Heals) - in.Now.Sub(in.Last.Finished); wait > 0 {
		return Decision{After: wait, Reason: "healing waits for its backoff"}
	}
	return Decision{Sync: true, Only: todo(in), Heals: in.Last.Heals + 1, Reason: "the cluster drifted"}
}

// todo are the objects that an automated sync would write or delete.
func todo(in AutoInput) []object.Key {
	var out []object.Key
	for _, it := range in.Plan.Items {
		switch it.Action {
		case Create, Update:
			if it.Sync == OutOfSync {
				out = append(out, it.Key)
			}
		case Prune:
			if in.Policy.Prune {
				out = append(out, it.Key)
			}
		case Unchanged, Skip, Deny, RunHook:
		}
	}
	return out
}

// prunesAll compares the sets themselves, not flags on their members: nothing
// desired, and something live.
func prunesAll(p Plan) bool {
	any := false
	for _, it := range p.Items {
		if it.Hook {
			continue
		}
		if !it.Prunable {
			return false
		}
		any = true
	}
	return any
}
