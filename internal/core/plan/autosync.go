package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
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
	// Unserved are the objects that it could not make, because the cluster did
	// not serve their kinds then.
	Unserved []object.Key
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
	// Revision is what would be synced, and Rejected what a rollback left: that
	// one is not synced again by itself.
	Revision, Rejected string
	// Hold is a person's wish that nothing happens by itself.
	Hold Hold
	// Window says whether the project's windows allow a sync now.
	Window policy.WindowVerdict
	// Fights are the objects that somebody else keeps changing back.
	Fights []Fight
}

// Hold is a person's wish that nothing happens by itself for a while.
type Hold struct {
	Until  time.Time
	Reason string
}

// HoldOf reads the hold on an application.
func HoldOf(app *v1alpha1.Application) Hold {
	until, err := time.Parse(time.RFC3339, app.Annotations[v1alpha1.AnnotationHoldUntil])
	if err != nil {
		return Hold{}
	}
	return Hold{Until: until, Reason: app.Annotations[v1alpha1.AnnotationHoldReason]}
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
	case in.Now.Before(in.Hold.Until):
		return resting(in)
	case in.Plan.Status() != OutOfSync:
		return Decision{Reason: "nothing to do: " + string(in.Plan.Status())}
	case len(todo(in)) == 0:
		return Decision{Reason: "nothing that an automated sync may do is left", Findings: fightFindings(in)}
	case in.Rejected != "" && in.Rejected == in.Revision:
		return Decision{
			Reason: "this revision was rolled back",
			Findings: []finding.Finding{{
				Reason: finding.Held, Severity: finding.Warning,
				Message: fmt.Sprintf("%s was rolled back and is not synced again by itself; a newer commit is, and a manual sync may",
					shortened(in.Revision)),
			}},
		}
	case in.Policy.Prune && !in.Policy.AllowEmpty && prunesAll(in.Plan):
		return refused("automated sync would delete every object of the application, since its source has none; " +
			"set syncPolicy.automated.allowEmpty, or sync by hand, if that is meant")
	}
	return in.attempt()
}

// attempt decides when nothing stands against a sync as such.
func (in AutoInput) attempt() Decision {
	d := Decision{Sync: true, Reason: "the source changed"}
	switch {
	case in.Last == nil || !in.Last.Same:
	case !in.Last.Succeeded && in.servedNow():
		d.Reason = "the cluster serves the kinds that the last attempt lacked"
	case !in.Last.Succeeded:
		d = refused(fmt.Sprintf(
			"Failed last sync attempt: %s; a new commit, a changed spec or a manual sync tries again", in.Last.Message))
	case !in.Policy.SelfHeal:
		return Decision{Reason: "this revision was synced already, and automated.selfHeal is off"}
	default:
		d = heal(in)
	}
	if d.Sync && !in.Window.Allowed {
		// What is not allowed now is meant all the same: it runs when it may.
		d = Decision{Reason: in.Window.Reason, After: until(in.Window.Next, in.Now)}
		d.Findings = append(d.Findings, finding.Finding{
			Reason: finding.Held, Severity: finding.Warning, Message: "a sync is due and " + in.Window.Reason,
		})
	}
	d.Findings = append(d.Findings, fightFindings(in)...)
	return d
}

func refused(message string) Decision {
	return Decision{Reason: message, Findings: []finding.Finding{{Reason: finding.Sync, Severity: finding.Error, Message: message}}}
}

// resting is the answer while a person holds the application.
func resting(in AutoInput) Decision {
	message := "held until " + in.Hold.Until.UTC().Format(time.RFC3339)
	if in.Hold.Reason != "" {
		message += ": " + in.Hold.Reason
	}
	return Decision{
		Reason: message, After: in.Hold.Until.Sub(in.Now),
		Findings: []finding.Finding{{
			Reason: finding.Held, Severity: finding.Warning, Message: message + "; nothing is synced by itself till then",
		}},
	}
}

func until(next, now time.Time) time.Duration {
	if next.IsZero() || !next.After(now) {
		return 0
	}
	return next.Sub(now)
}

// servedNow says that what the last attempt lacked has come: a boot goes on by
// itself when another application brought the kinds.
func (in AutoInput) servedNow() bool {
	if len(in.Last.Unserved) == 0 {
		return false
	}
	for _, k := range in.Last.Unserved {
		if it, ok := in.Plan.Item(k); ok && it.Missing() {
			return false
		}
	}
	return true
}

func heal(in AutoInput) Decision {
	since := in.Now.Sub(in.Last.Finished)
	heals := in.Last.Heals
	if since > in.Backoff.Cap+cooldown {
		// It stayed healed for so long that this is a new story.
		heals = 0
	}
	if wait := in.Backoff.wait(heals) - since; wait > 0 {
		return Decision{After: wait, Reason: "healing waits for its backoff"}
	}
	return Decision{Sync: true, Only: todo(in), Heals: heals + 1, Reason: "the cluster drifted"}
}

// cooldown is how long past its longest wait healing must have rested for the
// waits to begin anew.
const cooldown = 30 * time.Second

// todo are the objects that an automated sync would write or delete.
func todo(in AutoInput) []object.Key {
	var out []object.Key
	for _, it := range in.Plan.Items {
		switch it.Action {
		case Create, Update:
			if it.Sync == OutOfSync && !fought(in.Fights, it) {
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
	some := false
	for _, it := range p.Items {
		if it.Hook {
			continue
		}
		if !it.Prunable {
			return false
		}
		some = true
	}
	return some
}
