package controller

import (
	"context"
	"log/slog"
	"time"

	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/webhook"
)

const (
	// provedWindow is how soon after a look that a webhook asked for there is the
	// next one, however many ask for it. strangeWindow is the same where nobody can
	// tell who asks.
	provedWindow  = time.Second
	strangeWindow = 10 * time.Second
	// strangePace is how far apart the looks are, whatever they are at, that are
	// made because somebody said so who proved nothing.
	strangePace = 200 * time.Millisecond
)

// turns say when a name that webhooks speak of is looked at: at once, or when the
// window is over that its last look began. What comes meanwhile is one look, and
// that begins after the last of it came. Whoever has turns keeps them by a lock.
type turns struct {
	of map[string]*turn
	// strange is when the next look may be that a stranger asks for.
	strange time.Time
}

type turn struct {
	begun time.Time
	// due is when the next look is; zero is that nobody asked for one.
	due time.Time
}

func newTurns() turns { return turns{of: map[string]*turn{}} }

// ask asks for a look, and says how long it is until then; false is that one is
// coming already.
func (t *turns) ask(name string, proved bool, now time.Time) (wait time.Duration, ok bool) {
	u, known := t.of[name]
	if !known {
		u = &turn{}
		t.of[name] = u
	}
	coming := u.due.After(now)
	if coming && !proved {
		return 0, false
	}
	due := later(now, u.begun.Add(provedWindow))
	if !proved {
		due = later(later(now, u.begun.Add(strangeWindow)), t.strange)
		t.strange = due.Add(strangePace)
	}
	if coming && !due.Before(u.due) {
		return 0, false
	}
	u.due = due
	return due.Sub(now), true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// due says whether a look was asked for, and how long it is until then.
func (t *turns) due(name string, now time.Time) (wait time.Duration, asked bool) {
	u, known := t.of[name]
	if !known || u.due.IsZero() {
		return 0, false
	}
	return u.due.Sub(now), true
}

// begin says that a look begins now, whoever asked for it: it is all that was
// asked for so far.
func (t *turns) begin(name string, now time.Time) {
	if u, known := t.of[name]; known {
		u.begun, u.due = now, time.Time{}
	}
}

func (t *turns) forget(name string) { delete(t.of, name) }

// settle counts the origins by where their repositories are; the caller holds the
// lock.
func (p *poller) settle(o manifest.Origin, by int) {
	for _, place := range webhook.PlacesOf(o.RepoURL, o.Chart) {
		at := p.places[place]
		if at == nil {
			at = map[string]int{}
			p.places[place] = at
		}
		if at[o.RepoURL] += by; at[o.RepoURL] <= 0 {
			delete(at, o.RepoURL)
		}
		if len(at) == 0 {
			delete(p.places, place)
		}
	}
}

// hear has the repositories looked at that a webhook speaks of, if anybody
// follows what moved there. It says how many looks that is more.
func (p *poller) hear(h webhook.Hint) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, now := 0, time.Now()
	for _, place := range h.Places {
		for repo := range p.places[place] {
			origin, ok := p.concerned(repo, h)
			if !ok {
				continue
			}
			if h.Proved && origin.Chart == "" {
				p.tips[repo] = tip{origin, h.From, h.To}
			}
			wait, ok := p.turns.ask(repo, h.Proved, now)
			if !ok {
				continue
			}
			asked++
			p.queue.AddAfter(repo, wait)
		}
	}
	return asked
}

// concerned is the first origin of a repository whom a webhook concerns.
func (p *poller) concerned(repo string, h webhook.Hint) (first manifest.Origin, ok bool) {
	for origin := range p.repos[repo] {
		if h.Concerns(origin.Revision) && (!ok || compareOrigins(origin, first) < 0) {
			first, ok = origin, true
		}
	}
	return first, ok
}

// tip is where a proved webhook says that an origin came from, and to.
type tip struct {
	origin   manifest.Origin
	from, to string
}

// foresee has fetched what the last webhook says that a look will find, while the
// look is made: the one does not wait for the other, and only the look is
// believed. A webhook must be right about where the origin stood; one that is
// wrong about where it stands costs a request for nothing, and no more than one
// with each look.
func (p *poller) foresee(ctx context.Context, repo string) {
	p.mu.Lock()
	next, told := p.tips[repo]
	delete(p.tips, repo)
	f := p.repos[repo][next.origin]
	told = told && next.to != "" && f != nil && f.commit == next.from
	p.mu.Unlock()
	if !told || p.foreseer == nil {
		return
	}
	go func() {
		if err := p.foreseer.Foresee(ctx, next.origin, next.to); err != nil {
			slog.DebugContext(ctx, "what a webhook speaks of could not be fetched", "repository", repo, "commit", next.to, "error", err)
		}
	}()
}

// listen has a set told of topics, instead of those of the last time.
func (s *sets) listen(name string, topics []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, topic := range s.topics[name] {
		delete(s.listeners[topic], name)
		if len(s.listeners[topic]) == 0 {
			delete(s.listeners, topic)
		}
	}
	delete(s.topics, name)
	for _, topic := range topics {
		if s.listeners[topic] == nil {
			s.listeners[topic] = map[string]struct{}{}
		}
		s.listeners[topic][name] = struct{}{}
		s.topics[name] = topics
	}
}

// hearSets has the sets generated that wait for what a webhook says.
func (c *Controller) hearSets(h webhook.Hint) int {
	if c.Sets == nil {
		return 0
	}
	s := c.sets
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, now := 0, time.Now()
	for _, topic := range appset.Topics(h) {
		for name := range s.listeners[topic] {
			wait, ok := s.turns.ask(name, h.Proved, now)
			if !ok {
				continue
			}
			asked++
			s.whole[name] = struct{}{}
			s.queue.AddAfter(name, wait)
		}
	}
	return asked
}
