package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// Code is the result of one object in a sync, in Argo CD's words.
type Code string

// The codes.
const (
	CodeSynced       Code = "Synced"
	CodeFailed       Code = "SyncFailed"
	CodePruned       Code = "Pruned"
	CodePruneSkipped Code = "PruneSkipped"
)

// Outcome is what a sync did with one object.
type Outcome struct {
	Code    Code
	Message string
}

// Progress is how far a sync has come. It is read back from the application's
// status each time, so a restart goes on where the last process stopped.
type Progress struct {
	// Prune says whether this sync may delete.
	Prune bool
	// Only restricts the sync to these objects; nil means all.
	Only []object.Key
	// Done holds what was recorded so far.
	Done map[object.Key]Outcome
}

// Observation is what is seen of an object while a sync waits.
type Observation struct {
	// Fresh says that the reading is not older than what this sync wrote.
	Fresh  bool
	Health health.Health
}

// Do is the kind of a step.
type Do string

// The steps.
const (
	DoApply Do = "apply"
	DoPrune Do = "prune"
	DoWait  Do = "wait"
	DoDone  Do = "done"
	DoFail  Do = "fail"
)

// Step is the next thing to do. Apply and prune steps carry items, among them
// such as need no request (unchanged, skipped): they are recorded all the same.
type Step struct {
	Do      Do
	Items   []Item
	Message string
}

// Next decides the next step of a sync. Each step that is executed and
// recorded brings the end nearer: an item is in at most one apply or prune
// step, and when none is left the answer is wait, done or fail.
func Next(p Plan, progress Progress, seen map[object.Key]Observation) Step {
	items := selected(p.Items, progress.Only)
	if s, ok := denied(items); ok {
		return s
	}
	for len(items) > 0 {
		n := waveEnd(items)
		wave, rest := items[:n], items[n:]
		if s, ok := wavePending(wave, progress); ok {
			return s
		}
		if s, ok := waveFailed(wave, progress); ok {
			return s
		}
		if len(rest) == 0 {
			break
		}
		if s, ok := waveUnhealthy(wave, seen); ok {
			return s
		}
		items = rest
	}
	return Step{Do: DoDone, Message: "successfully synced (all tasks run)"}
}

// Settle is the outcome of an item that needs no request, if it is one.
func Settle(it Item, progress Progress) (Outcome, bool) {
	switch {
	case it.Action == Unchanged:
		return Outcome{Code: CodeSynced, Message: lower(it.Key) + " unchanged"}, true
	case it.Action == Skip && it.Prunable:
		return Outcome{Code: CodePruneSkipped, Message: it.Reason}, true
	case it.Action == Prune && !progress.Prune:
		return Outcome{Code: CodePruneSkipped, Message: "ignored (requires pruning)"}, true
	default:
		return Outcome{}, false
	}
}

// lower is how kubectl prints an object: "configmap/web".
func lower(k object.Key) string {
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	return kind + "/" + k.Name
}

func selected(items []Item, only []object.Key) []Item {
	var out []Item
	for _, it := range items {
		if it.Action == Skip && !it.Prunable {
			continue
		}
		if only == nil || it.Aside || slices.Contains(only, it.Key) {
			out = append(out, it)
		}
	}
	return out
}

// denied stops a sync before its first write when the project forbids any
// part of it.
func denied(items []Item) (Step, bool) {
	var reasons []string
	for _, it := range items {
		if it.Action == Deny {
			reasons = append(reasons, it.Reason)
		}
	}
	if len(reasons) == 0 {
		return Step{}, false
	}
	return Step{Do: DoFail, Message: "one or more synchronization tasks are not valid: " + list(reasons)}, true
}

func waveEnd(items []Item) int {
	for i, it := range items {
		if it.Phase != items[0].Phase || it.Wave != items[0].Wave {
			return i
		}
	}
	return len(items)
}

// wavePending is the work of a wave that is not recorded yet. Pruning comes
// before applying, so that a new object may take an old one's port or name.
func wavePending(wave []Item, progress Progress) (Step, bool) {
	var prune, apply []Item
	for _, it := range wave {
		if _, done := progress.Done[it.Key]; done {
			continue
		}
		if it.Prunable {
			prune = append(prune, it)
			continue
		}
		apply = append(apply, it)
	}
	if len(prune) > 0 {
		return Step{Do: DoPrune, Items: prune}, true
	}
	return Step{Do: DoApply, Items: apply}, len(apply) > 0
}

func waveFailed(wave []Item, progress Progress) (Step, bool) {
	var failed []string
	for _, it := range wave {
		if o := progress.Done[it.Key]; o.Code == CodeFailed {
			failed = append(failed, fmt.Sprintf("%s: %s", it.Key, o.Message))
		}
	}
	if len(failed) == 0 {
		return Step{}, false
	}
	return Step{Do: DoFail, Message: "one or more objects failed to apply: " + list(failed)}, true
}

func waveUnhealthy(wave []Item, seen map[object.Key]Observation) (Step, bool) {
	var waiting, degraded []string
	for _, it := range wave {
		if it.Prunable || it.Aside || it.Action == Skip {
			continue
		}
		o := seen[it.Key]
		switch {
		case !o.Fresh:
			waiting = append(waiting, fmt.Sprintf("%s to be seen", it.Key))
		case !o.Health.Source.InArgoCD():
			// Argo CD does not judge this object, so no wave of its users waits for it.
		case o.Health.Status == health.Degraded:
			degraded = append(degraded, fmt.Sprintf("%s is Degraded: %s", it.Key, o.Health.Message))
		case o.Health.Status != "" && o.Health.Status != health.Healthy:
			waiting = append(waiting, fmt.Sprintf("%s, which is %s: %s", it.Key, o.Health.Status, o.Health.Message))
		}
	}
	name := fmt.Sprintf("wave %d", wave[0].Wave)
	if len(degraded) > 0 {
		return Step{Do: DoFail, Message: name + ": " + list(degraded)}, true
	}
	if len(waiting) > 0 {
		return Step{Do: DoWait, Message: name + " waits for " + list(waiting)}, true
	}
	return Step{}, false
}

// list joins up to three causes and counts the rest.
func list(causes []string) string {
	const most = 3
	if len(causes) <= most {
		return strings.Join(causes, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(causes[:most], "; "), len(causes)-most)
}
