package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/finding"
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

// Ending is how far a hook is, in Argo CD's words.
type Ending string

// The endings. An object that is no hook has none of its own.
const (
	Running   Ending = "Running"
	Succeeded Ending = "Succeeded"
	Failed    Ending = "Failed"
)

// Task is one object at one point of a sync: a hook may run at several.
type Task struct {
	Phase Phase
	Key   object.Key
}

// Task is the item's place in a sync.
func (it Item) Task() Task { return Task{Phase: it.Phase, Key: it.Key} }

// Outcome is what a sync did with one object.
type Outcome struct {
	Code    Code
	Result  Ending
	Message string
	// Final says that another attempt would end the same, unless something
	// changes first. It is not recorded.
	Final bool
}

// Selector picks objects: by exact group, kind and name, and by namespace if it
// names one.
type Selector struct{ Group, Kind, Namespace, Name string }

func (s Selector) matches(k object.Key) bool {
	return s.Group == k.Group && s.Kind == k.Kind && s.Name == k.Name && (s.Namespace == "" || s.Namespace == k.Namespace)
}

// Progress is how far a sync has come, and how it is made. It is read back
// from the application's status each time, so a restart goes on where the last
// process stopped.
type Progress struct {
	// Prune says whether this sync may delete.
	Prune bool
	// Only restricts the sync to these objects; nil means all.
	Only []Selector
	// NoHooks leaves all hooks out.
	NoHooks bool
	// Done holds what was recorded so far.
	Done map[Task]Outcome
	// Approved says that a person approved the deletions of this sync.
	Approved bool
	// Age is how long ago the sync began; Settle is how old it must be before
	// a deletion that looks like a mistake, and Looked says that a second look
	// at the source found the same.
	Age, Settle time.Duration
	Looked      bool
	// Written are the versions that this process's own writes made. It is a
	// hint: what is at that version shows nothing of the write's effect yet.
	Written map[object.Key]string
	// Gate says what a wave waits for.
	Gate Gate
	// DryRun says that nothing is written, so there is nothing to wait for.
	DryRun bool
}

// Do is the kind of a step.
type Do string

// The steps.
const (
	// DoApply writes objects and starts hooks.
	DoApply Do = "apply"
	DoPrune Do = "prune"
	// DoNote only records: hooks that ended, objects that failed.
	DoNote Do = "note"
	// DoRelease lets hooks go whose result is recorded.
	DoRelease Do = "release"
	// DoClear deletes the objects of hooks.
	DoClear Do = "clear"
	// DoLook looks at the source a second time, before a deletion that looks
	// like a mistake.
	DoLook Do = "look"
	DoWait Do = "wait"
	DoDone Do = "done"
	DoFail Do = "fail"
)

// Step is the next thing to do. Apply and prune steps carry items, among them
// such as need no request (unchanged, skipped): they are recorded all the same.
type Step struct {
	Do      Do
	Items   []Item
	Message string
	// Notes are the outcomes of a note step's items.
	Notes []Outcome
	// After asks for another look then, whatever happens meanwhile.
	After time.Duration
	// Final says of a failure that another attempt would end the same.
	Final bool
	// Mid says of a wait that hooks are running, and Held that deletions wait.
	Mid, Held bool
	// Rule names what deletions wait for.
	Rule string
}

// Refusal is the rule by which an item is not deleted; empty if there is none.
func Refusal(it Item, o Outcome) string {
	switch {
	case o.Code != CodePruneSkipped:
		return ""
	case it.Rule != "":
		return it.Rule
	default:
		return RuleNotAsked
	}
}

// Next decides the next step of a sync. Each step that is executed and
// recorded brings the end nearer: an item is in at most one apply or prune
// step, and when none is left the answer is wait, done or fail.
func Next(p Plan, progress Progress) Step {
	items := selected(p.Items, progress)
	if s, ok := invalid(p, items, progress); ok {
		return s
	}
	var ordinary, onFail []Item
	for _, it := range items {
		if it.Phase == SyncFail {
			onFail = append(onFail, it)
			continue
		}
		ordinary = append(ordinary, it)
	}
	rest := ordinary
	for len(rest) > 0 {
		n := waveEnd(rest)
		// A wave that was passed once is passed: what becomes of it later is told
		// by the application's health.
		passed := slices.ContainsFunc(rest[n:], func(it Item) bool { _, done := progress.Done[it.Task()]; return done })
		g := group{items: rest[:n], all: ordinary, progress: progress, last: n == len(rest) || passed}
		s, ok := g.next()
		if ok && s.Do == DoFail {
			return failing(s, ordinary, onFail, progress)
		}
		if ok {
			return s
		}
		rest = rest[n:]
	}
	if hooks := toClear(ordinary, func(p Policy) bool { return p.Succeeded }); len(hooks) > 0 {
		return Step{Do: DoClear, Items: hooks}
	}
	return Step{Do: DoDone, Message: "successfully synced (all tasks run)"}
}

// failing is the way to the end of a sync that failed: what failed is noted,
// hooks that are not kept after a failure go, those that wait for one run.
func failing(cause Step, ordinary, onFail []Item, progress Progress) Step {
	if len(onFail) > 0 && len(cause.Items) > 0 {
		return Step{Do: DoNote, Items: cause.Items, Notes: cause.Notes}
	}
	if hooks := toClear(ordinary, func(p Policy) bool { return p.Failed }); len(hooks) > 0 {
		return Step{Do: DoClear, Items: hooks}
	}
	for len(onFail) > 0 {
		n := waveEnd(onFail)
		g := group{items: onFail[:n], all: onFail, progress: progress, last: n == len(onFail)}
		s, ok := g.next()
		if ok && s.Do == DoFail {
			return Step{Do: DoFail, Message: cause.Message + "; and after that " + s.Message, Final: cause.Final}
		}
		if ok {
			return s
		}
		onFail = onFail[n:]
	}
	return Step{Do: DoFail, Message: cause.Message, Final: cause.Final}
}

// Terminate is the next step of a sync that a person ended: running hooks go,
// then it is over.
func Terminate(p Plan, progress Progress) Step {
	var running []Item
	for _, it := range selected(p.Items, progress) {
		o, recorded := progress.Done[it.Task()]
		if it.Hook && it.ours() && !it.Live.Deleting && (!recorded || o.Result == Running) {
			running = append(running, it)
		}
	}
	if len(running) > 0 {
		return Step{Do: DoClear, Items: running}
	}
	return Step{Do: DoFail, Message: "Operation terminated", Final: true}
}

// toClear are the hooks of this run whose objects are to go now that it ends.
func toClear(items []Item, asks func(Policy) bool) []Item {
	var out []Item
	for _, it := range items {
		if it.Hook && asks(it.Policy) && it.ours() && !it.Live.Deleting {
			out = append(out, it)
		}
	}
	return out
}

// ours says that the live object was made by this very run.
func (it Item) ours() bool { return it.Live != nil && it.Live.Run == it.Run }

// Settle is the outcome of an item that needs no request, if it is one.
func Settle(it Item, progress Progress) (Outcome, bool) {
	switch {
	case progress.DryRun && it.Missing() && it.Expected:
		return Outcome{Code: CodeSynced, Message: lower(it.Key) + " created, once its kind is served (dry run)"}, true
	case it.Hook && it.ours():
		// Whoever started it did not come to record it.
		return Outcome{Code: CodeSynced, Result: Running, Message: lower(it.Key) + " created"}, true
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

func selected(items []Item, progress Progress) []Item {
	var out []Item
	for _, it := range items {
		switch {
		case it.Action == Skip && !it.Prunable && !it.Unread:
		case it.Hook && (progress.NoHooks || progress.Only != nil):
		case progress.Only == nil || it.Aside || picked(progress.Only, it.Key):
			out = append(out, it)
		}
	}
	return out
}

func picked(only []Selector, k object.Key) bool {
	for _, s := range only {
		if s.matches(k) {
			return true
		}
	}
	return false
}

// invalid stops a sync before its first write when a part of it cannot be
// done. What lacks its kind is noted, so that the next look knows what to wait
// for.
func invalid(p Plan, items []Item, progress Progress) (Step, bool) {
	var reasons []string
	note := Step{Do: DoNote}
	for _, it := range items {
		why := it.Misfit
		switch {
		case it.Action == Deny:
			reasons = append(reasons, it.Reason)
			continue
		case it.Missing() && !it.Handling.Late && !it.Expected:
			why = NotServed
		}
		if why == "" {
			continue
		}
		reasons = append(reasons, fmt.Sprintf("%s: %s", it.Key, why))
		if _, done := progress.Done[it.Task()]; !done {
			note.Items, note.Notes = append(note.Items, it), append(note.Notes, Outcome{Code: CodeFailed, Message: why})
		}
	}
	if len(note.Items) > 0 {
		return note, true
	}
	if len(reasons) > 0 {
		return Step{Do: DoFail, Message: "one or more synchronization tasks are not valid: " + list(reasons), Final: true}, true
	}
	if !p.Exclusive {
		return Step{}, false
	}
	for _, f := range p.Findings {
		if f.Reason == finding.SharedResource {
			reasons = append(reasons, f.Message)
		}
	}
	return Step{
		Do: DoFail, Message: "Shared resource found, and FailOnSharedResource is set: " + list(reasons), Final: true,
	}, len(reasons) > 0
}

// NotServed is why an object cannot be made yet.
const NotServed = "the cluster does not serve its kind; install its CRD first, or set SkipDryRunOnMissingResource=true " +
	"if something in an earlier wave brings it"

// Missing says that the object's kind is not served, and the object not there.
func (it Item) Missing() bool {
	return !it.Served && it.Live == nil && (it.Action == Create || it.Action == RunHook)
}

func waveEnd(items []Item) int {
	for i, it := range items {
		if it.Phase != items[0].Phase || it.Wave != items[0].Wave {
			return i
		}
	}
	return len(items)
}

// list joins up to three causes and counts the rest.
func list(causes []string) string {
	const most = 3
	if len(causes) <= most {
		return strings.Join(causes, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(causes[:most], "; "), len(causes)-most)
}
