package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/status"
)

// pace spreads the first questions after a start without a log of confirmed
// pairs. Until an application's turn comes the verdict in its status stands,
// with the time that it has: nothing newer is claimed.
type pace struct {
	mu sync.Mutex
	// free is when the next turn may begin.
	free time.Time
	// turns are the applications that wait for theirs. One that was looked at,
	// or that something happened to, does not wait again.
	turns map[string]time.Time
	done  map[string]struct{}
}

func newPace() *pace { return &pace{turns: map[string]time.Time{}, done: map[string]struct{}{}} }

// turn says how long an application has to wait for its questions. Whoever
// comes back before the time comes because something happened, and does not
// wait.
func (p *pace) turn(app string, questions int, perSecond float64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, done := p.done[app]; done {
		return 0
	}
	if _, waits := p.turns[app]; waits || perSecond <= 0 {
		delete(p.turns, app)
		p.done[app] = struct{}{}
		return 0
	}
	at := p.free
	if at.Before(now) {
		at = now
	}
	p.free = at.Add(time.Duration(float64(questions) / perSecond * float64(time.Second)))
	if !at.After(now) {
		p.done[app] = struct{}{}
		return 0
	}
	p.turns[app] = at
	return at.Sub(now)
}

func (p *pace) forget(app string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.turns, app)
	delete(p.done, app)
}

// reconfirm says how long the dated verdict of an application stands before its
// objects are asked about again: only after a start without confirmed pairs,
// and only where the status speaks of the spec and the commit at hand.
func (e *Engine) reconfirm(ctx context.Context, app *v1alpha1.Application) time.Duration {
	st := app.Status
	if st.Sync.Status != v1alpha1.SyncStatusCodeSynced || !status.Compared(st.Sync).SameSources(status.ContentOf(app)) ||
		app.Annotations[v1alpha1.AnnotationRefresh] != "" {
		return 0
	}
	d, err := e.knock(ctx, app)
	if err != nil || len(e.knownVerdicts(e.key(app), d.View().Identity)) > 0 {
		return 0
	}
	s := e.Settings()
	revisions, err := e.targets(ctx, app)
	if err != nil || !slices.Equal(revisions, status.Compared(st.Sync).Revisions) {
		return 0
	}
	return e.pace.turn(e.key(app), len(st.Resources), s.ConfirmRate, e.Now())
}
