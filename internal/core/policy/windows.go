package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// WindowOp is the sync that asks for permission.
type WindowOp struct {
	// Manual says that a person asked for it.
	Manual bool
	// Started is when it began; zero if it has not.
	Started time.Time
}

// WindowVerdict says whether a sync may run, or go on, at a time. Reason names the windows that decide.
type WindowVerdict struct {
	Allowed bool
	Reason  string
	// Next is when the answer may be another; until then it stands, unless the project changes. Zero is never.
	Next time.Time
}

// Windows decides for one application at one time. What no window selects is allowed. An open deny window blocks; else an
// open allow window allows; else allow windows that are shut block. Windows that block let a sync through if all of them
// let people sync and a person asked, or if all of them let syncs overrun and this one was allowed when it began.
func Windows(windows []Window, s WindowSubject, at time.Time, op WindowOp) WindowVerdict {
	m := matching(windows, s)
	d := decide(m, at, op)
	v := WindowVerdict{Allowed: d.allowed, Reason: d.reason(at)}
	certain := false
	if d.rule != ruleBroken {
		v.Next, certain = nextAnswer(m, at, op)
	}
	switch {
	case d.allowed || d.rule == ruleBroken:
	case certain:
		v.Reason += "; next opening " + v.Next.Format(fullTime)
	default:
		v.Reason += "; no opening is in sight"
	}
	if !d.allowed && !op.Manual && decide(m, at, WindowOp{Manual: true, Started: op.Started}).allowed {
		v.Reason += "; a manual sync is let through"
	}
	return v
}

// rule is what decided.
type rule int

const (
	ruleNone rule = iota
	ruleBroken
	ruleDeny
	ruleManual
	ruleOverrun
	ruleAllow
	ruleShut
	ruleQuiet
)

// decision is an answer with the windows that it rests on.
type decision struct {
	allowed bool
	rule    rule
	windows []Window
}

func decide(matching []Window, at time.Time, op WindowOp) decision {
	if len(matching) == 0 {
		return decision{allowed: true, rule: ruleNone}
	}
	if broken := those(matching, func(w Window) bool { return w.problem != "" }); len(broken) > 0 {
		return decision{rule: ruleBroken, windows: broken}
	}
	var denies, allows, shut []Window
	for _, w := range matching {
		deny, open := w.Spec.Kind == v1alpha1.SyncWindowKindDeny, w.openAt(at)
		switch {
		case deny && open:
			denies = append(denies, w)
		case !deny && open:
			allows = append(allows, w)
		case !deny:
			shut = append(shut, w)
		}
	}
	switch {
	case len(denies) > 0:
		return blocked(matching, denies, op, ruleDeny)
	case len(allows) > 0:
		return decision{allowed: true, rule: ruleAllow, windows: allows}
	case len(shut) > 0:
		return blocked(matching, shut, op, ruleShut)
	}
	return decision{allowed: true, rule: ruleQuiet, windows: matching}
}

// blocked looks for a way past the windows that block.
func blocked(matching, by []Window, op WindowOp, as rule) decision {
	if op.Manual {
		strict := those(by, func(w Window) bool { return !w.Spec.ManualSync })
		if len(strict) == 0 {
			return decision{allowed: true, rule: ruleManual, windows: by}
		}
	}
	if !op.Started.IsZero() && decide(matching, op.Started, WindowOp{Manual: op.Manual}).allowed {
		strict := those(by, func(w Window) bool { return !w.Spec.SyncOverrun })
		if len(strict) == 0 {
			return decision{allowed: true, rule: ruleOverrun, windows: by}
		}
		return decision{rule: as, windows: strict}
	}
	if op.Manual {
		by = those(by, func(w Window) bool { return !w.Spec.ManualSync })
	}
	return decision{rule: as, windows: by}
}

func those(in []Window, fits func(Window) bool) []Window {
	var out []Window
	for _, w := range in {
		if fits(w) {
			out = append(out, w)
		}
	}
	return out
}

// nextAnswer is when the decision becomes another. If that is not certain, it stays at least until then.
func nextAnswer(matching []Window, at time.Time, op WindowOp) (when time.Time, certain bool) {
	now := decide(matching, at, op).allowed
	type turn struct {
		when    time.Time
		certain bool
	}
	turns := make([]turn, len(matching))
	due, left := at, effort(maxLooks)
	for {
		soonest := turn{certain: true}
		for i, w := range matching {
			// Those that turned, and at first all, turn again; the zero time is never.
			if due.Equal(at) || turns[i].when.Equal(due) {
				turns[i].when, turns[i].certain = w.turns(due, &left)
			}
			if t := turns[i]; !t.when.IsZero() && (soonest.when.IsZero() || t.when.Before(soonest.when)) {
				soonest = t
			}
		}
		due = soonest.when
		if due.IsZero() || !soonest.certain {
			return due, false
		}
		if decide(matching, due, op).allowed != now {
			return due, true
		}
		if left.spent() || due.Sub(at) > horizon {
			return due, false
		}
	}
}

// reason words the decision.
func (d decision) reason(at time.Time) string {
	names := d.names()
	switch d.rule {
	case ruleBroken:
		w := d.windows[0]
		return fmt.Sprintf("blocked by %s, %s; correct syncWindows[%d] of project %q", w, w.problem, w.index, w.project)
	case ruleDeny:
		return "blocked by " + names + d.until(at)
	case ruleShut:
		return "blocked outside " + names
	case ruleManual:
		return "allowed by " + names + ", which lets people sync (manualSync)"
	case ruleOverrun:
		return "allowed by " + names + ", which lets a sync go on that was allowed when it began (syncOverrun)"
	case ruleAllow:
		return "allowed by " + names + d.until(at)
	case ruleQuiet:
		return "allowed outside " + names
	case ruleNone:
	}
	return "no sync window selects the application"
}

// maxNamed is how many windows a sentence names.
const maxNamed = 3

func (d decision) names() string {
	var out []string
	for _, w := range d.windows[:min(len(d.windows), maxNamed)] {
		out = append(out, w.String())
	}
	if more := len(d.windows) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, " and ")
}

const (
	fullTime  = "2006-01-02 15:04 MST"
	shortTime = "15:04 MST"
)

// until says when an open window closes, in its own zone. Of several, each has its own end, and the next opening tells
// what comes of them.
func (d decision) until(at time.Time) string {
	if len(d.windows) != 1 {
		return ""
	}
	w := d.windows[0]
	when, certain := w.turns(at, new(effort(maxLooks)))
	if !certain || when.IsZero() {
		return ""
	}
	layout := shortTime
	if when.Sub(at) >= 24*time.Hour {
		layout = fullTime
	}
	return " until " + when.In(w.zone).Format(layout)
}

// String is the window in a sentence.
func (w Window) String() string {
	kind := w.Spec.Kind
	if kind != v1alpha1.SyncWindowKindAllow && kind != v1alpha1.SyncWindowKindDeny {
		kind = "sync"
	}
	text := fmt.Sprintf("the %s window %q", kind, w.Spec.Schedule)
	if w.Spec.Duration != "" {
		text += " for " + w.Spec.Duration
	}
	if w.Spec.TimeZone != "" && w.zone != time.UTC {
		text += " in " + w.Spec.TimeZone
	}
	if d := w.description(); d != "" {
		text += " (" + d + ")"
	}
	return text
}

// description is on one line and of bounded length.
func (w Window) description() string {
	d := []rune(strings.Join(strings.Fields(w.Spec.Description), " "))
	return string(d[:min(len(d), maxDescription)])
}

// WindowState is what a person should know of a window that selects an application.
type WindowState struct {
	// Index is the place in the project's list.
	Index       int                     `json:"index"`
	Kind        v1alpha1.SyncWindowKind `json:"kind"`
	Schedule    string                  `json:"schedule"`
	Duration    string                  `json:"duration"`
	TimeZone    string                  `json:"timeZone"`
	Description string                  `json:"description,omitempty"`
	ManualSync  bool                    `json:"manualSync"`
	SyncOverrun bool                    `json:"syncOverrun"`
	// SelectedBy are the entries of its lists that select the application.
	SelectedBy []string `json:"selectedBy"`
	Open       bool     `json:"open"`
	// Turns is when it closes, or opens; zero if that is never, or too far to tell.
	Turns time.Time `json:"turns,omitzero"`
	// Problem says why it cannot be understood, and so blocks; Note what is read otherwise than it is written.
	Problem string `json:"problem,omitempty"`
	Note    string `json:"note,omitempty"`
}

// ExplainWindows tells of every window that selects the application, in the project's order.
func ExplainWindows(windows []Window, s WindowSubject, at time.Time) []WindowState {
	out := []WindowState{}
	for _, w := range matching(windows, s) {
		out = append(out, w.State(at))
	}
	return out
}

// State is what a person should know of a window at a time.
func (w Window) State(at time.Time) WindowState {
	state := WindowState{
		Index: w.index, Kind: w.Spec.Kind, Schedule: w.Spec.Schedule, Duration: w.Spec.Duration,
		Description: w.description(), ManualSync: w.Spec.ManualSync, SyncOverrun: w.Spec.SyncOverrun,
		TimeZone: w.zone.String(), SelectedBy: w.by, Problem: w.problem, Note: w.note,
	}
	if w.problem == "" {
		state.Open = w.openAt(at)
		if when, certain := w.turns(at, new(effort(maxLooks))); certain {
			state.Turns = when
		}
	}
	return state
}

// WindowFaults are the mistakes in a project's windows, whatever they select: for whoever writes the project.
func WindowFaults(windows []Window) []string {
	var out []string
	for _, w := range windows {
		if w.problem != "" {
			out = append(out, fmt.Sprintf("syncWindows[%d]: %s, %s", w.index, w, w.problem))
		}
		if w.note != "" {
			out = append(out, fmt.Sprintf("syncWindows[%d]: of %s, %s", w.index, w, w.note))
		}
	}
	return out
}
