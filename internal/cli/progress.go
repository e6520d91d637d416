package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The marks of a result; the words beside them say the same.
const (
	markDone    = "✔"
	markFailed  = "✗"
	markRunning = "◌"
	markSkipped = "-"
)

func mark(r v1alpha1.ResourceResult) string {
	switch {
	case r.Status == v1alpha1.ResultCodeSyncFailed, r.HookPhase == v1alpha1.OperationFailed, r.HookPhase == v1alpha1.OperationError:
		return markFailed
	case r.HookType != "" && (r.HookPhase == v1alpha1.OperationRunning || r.HookPhase == v1alpha1.OperationTerminating):
		// An ordinary object is done when it is applied; that its wave waits for
		// its health is said by the operation's message.
		return markRunning
	case r.Status == v1alpha1.ResultCodePruneSkipped:
		return markSkipped
	}
	return markDone
}

// tracker follows the operation that we asked for on one application.
type tracker struct {
	name string
	user string
	// begun is when we asked, and since the version that our wish made; empty is not known.
	begun time.Time
	since string
	// before is the operation before ours.
	before *v1alpha1.OperationState
	// app and state are the newest that were seen; state is ours alone.
	app   *v1alpha1.Application
	state *v1alpha1.OperationState
	// lost says why the end will never be seen.
	lost error
}

// see takes in the newest state of the application; nil means that it is gone.
func (t *tracker) see(app *v1alpha1.Application) {
	if t.ended() {
		return
	}
	if app != nil && older(app.ResourceVersion, t.since) {
		return // a server may tell of it a little later than it is
	}
	if app == nil {
		t.lost = fmt.Errorf("syncing application %q: it was deleted meanwhile", t.name)
		return
	}
	t.app = app
	o := app.Status.OperationState
	switch {
	case o != nil && t.old(app):
	case o != nil && t.ours(o):
		t.state = o
	case o != nil:
		t.lost = fmt.Errorf("syncing application %q: an operation by %s took its place", t.name, initiator(o.Operation.InitiatedBy))
	case o == nil && app.Operation == nil:
		t.lost = fmt.Errorf("syncing application %q: the operation was taken away before it ended", t.name)
	}
}

// started takes in what became of our wish: a server knows us by another name.
func (t *tracker) started(made *v1alpha1.Application) {
	t.since = made.ResourceVersion
	if made.Operation != nil && made.Operation.InitiatedBy.Username != "" {
		t.user = made.Operation.InitiatedBy.Username
	}
}

func (t *tracker) ours(o *v1alpha1.OperationState) bool {
	return o.Operation.InitiatedBy.Username == t.user && !o.Operation.InitiatedBy.Automated
}

// old recognises the operation before ours, which may be seen once more while
// our wish still stands. Its times alone do not tell it from ours: they have no
// parts of a second, and two syncs may fit into one.
func (t *tracker) old(app *v1alpha1.Application) bool {
	o := app.Status.OperationState
	return t.before != nil && app.Operation != nil && o.StartedAt.Equal(&t.before.StartedAt) && o.FinishedAt.Equal(t.before.FinishedAt)
}

func (t *tracker) ended() bool {
	return t.lost != nil || t.state != nil && t.state.Phase.Completed()
}

// urgency orders what a person should look at first.
func (t *tracker) urgency() int {
	switch {
	case t.ended() && t.verdict() != nil:
		return 0
	case !t.ended():
		return 1
	}
	return 2
}

func allEnded(all []*tracker) bool {
	return !slices.ContainsFunc(all, func(t *tracker) bool { return !t.ended() })
}

// verdict is the error of an operation that did not succeed.
func (t *tracker) verdict() error {
	switch {
	case t.lost != nil:
		return t.lost
	case t.state.Phase == v1alpha1.OperationSucceeded:
		return nil
	}
	return fmt.Errorf("syncing application %q: %s; %q shows its objects",
		t.name, explained(string(t.state.Phase), t.state.Message), "towline app get "+t.name)
}

// phase and message are how far the operation is.
func (t *tracker) phase() (v1alpha1.OperationPhase, string) {
	if t.state == nil {
		return "Pending", "waiting for the controller to begin"
	}
	return t.state.Phase, clean(t.state.Message)
}

func (t *tracker) results() v1alpha1.ResourceResults {
	if t.state == nil || t.state.SyncResult == nil {
		return nil
	}
	return t.state.SyncResult.Resources
}

// reporter tells the user how the operations go on.
type reporter interface {
	update()
	say(notice string)
	close()
}

func (c *syncing) reporter(trackers []*tracker) reporter {
	if c.env.ErrIsTerminal {
		return &live{session: c.session, trackers: trackers}
	}
	return &lines{session: c.session, trackers: trackers, printed: map[string]string{}}
}

// lines is the reporter for logs: one line for each transition.
type lines struct {
	*session
	trackers []*tracker
	// printed has the last line about each thing.
	printed map[string]string
}

func (l *lines) update() {
	for _, t := range l.trackers {
		for _, r := range t.results() {
			l.line(t.name+"\x00"+resultKey(r).String()+string(r.SyncPhase), t.name, resultLine(r))
		}
		phase, message := t.phase()
		l.line(t.name, t.name, explained(string(phase), message))
	}
}

func (l *lines) line(key, name, text string) {
	if l.printed[key] == text {
		return
	}
	l.printed[key] = text
	fmt.Fprintf(l.env.Err, "%s  %s  %s\n", l.env.Now().UTC().Format(time.TimeOnly), clean(name), text)
}

func (l *lines) say(notice string) { l.note("%s", notice) }

func (l *lines) close() {}

func resultLine(r v1alpha1.ResourceResult) string {
	return explained(mark(r)+" "+clean(resultKey(r).String())+" "+outcome(r), r.Message)
}

// outcome is the word for what happened to an object, with that of the hook.
func outcome(r v1alpha1.ResourceResult) string {
	words := []string{string(r.Status)}
	if r.HookType != "" {
		words = []string{string(r.HookType), "hook", string(r.HookPhase)}
	}
	return clean(strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
}
