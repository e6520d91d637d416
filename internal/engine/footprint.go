package engine

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
	"github.com/towline-cd/towline/internal/core/status"
)

// Changer tells what differs between two commits.
type Changer interface {
	Changes(ctx context.Context, of manifest.Origin, from, to string) ([]reads.Change, error)
}

// Touched are those of the applications that follow a revision of a repository
// whom its move from one commit to another concerns. Whoever is not known to
// have read the former is among them.
func (e *Engine) Touched(ctx context.Context, of manifest.Origin, from, to string, apps []string) []string {
	p := place{repo: of.RepoURL, revision: of.Revision}
	e.recall(ctx, p, from, apps)
	others, level := e.footprints.sort(p, from, to, apps)
	if level == 0 {
		return others
	}
	if e.Changer == nil {
		return apps
	}
	changes, err := e.moves.of(ctx, move{p, from, to}, func() ([]reads.Change, error) {
		changes, err := e.Changer.Changes(ctx, of, from, to)
		if err != nil {
			slog.WarnContext(ctx, "comparing commits failed; all applications of the repository are looked at",
				"repository", of.RepoURL, "from", short(from), "to", short(to), "error", err)
		}
		return changes, err
	})
	if err != nil {
		return apps
	}
	return append(others, e.footprints.move(move{p, from, to}, changes, apps)...)
}

// move is one of a place from one commit to another.
type move struct {
	place
	from, to string
}

// moves remembers what differs between commits, for many applications that ask
// one after the other, or that it cannot be told.
type moves struct {
	mu    sync.Mutex
	known map[move]func() ([]reads.Change, error)
}

// mostMoves is how many are remembered.
const mostMoves = 64

func newMoves() *moves { return &moves{known: map[move]func() ([]reads.Change, error){}} }

func (m *moves) of(ctx context.Context, which move, compare func() ([]reads.Change, error)) ([]reads.Change, error) {
	m.mu.Lock()
	found, ok := m.known[which]
	if !ok {
		if len(m.known) >= mostMoves {
			clear(m.known)
		}
		found = sync.OnceValues(compare)
		m.known[which] = found
	}
	m.mu.Unlock()
	changes, err := found()
	if err != nil && ctx.Err() != nil {
		m.mu.Lock()
		delete(m.known, which)
		m.mu.Unlock()
	}
	return changes, err
}

// stand notes what an application read. What it read of a place that it names
// twice, or whose revision is part of the answer, is not known well enough.
func (e *Engine) stand(o *observation, revisions []string) {
	prints := map[place]footprint{}
	for i, s := range o.content.Sources {
		if s.Chart != "" {
			continue
		}
		p := place{repo: s.RepoURL, revision: s.TargetRevision}
		mark, known := o.footprint(i)
		if before, twice := prints[p]; twice {
			mark.reads = append(before.reads, mark.reads...)
			known = known && before.commit != ""
		}
		mark.commit = ""
		if known {
			mark.commit = revisions[i]
		}
		prints[p] = mark
	}
	maps.DeleteFunc(prints, func(_ place, mark footprint) bool { return mark.commit == "" })
	e.footprints.set(e.key(o.app), prints)
}

// footprint is what was read of the content of a source, by itself and by those who
// refer to it.
func (o *observation) footprint(i int) (footprint, bool) {
	var out footprint
	s := o.content.Sources[i]
	for j, r := range o.rendered {
		if r == nil {
			continue
		}
		if r.Result.Reads == nil || r.Revision != "" {
			return out, false
		}
		if j == i {
			out.reads = append(out.reads, readsOf(r, "")...)
		}
		if s.Ref != "" {
			out.reads = append(out.reads, readsOf(r, refTree(s))...)
		}
	}
	return out, true
}

// hold keeps the revision that the status speaks of, where the one at hand is
// the same to the application: that is not worth a write.
func (e *Engine) hold(o *observation, l look) {
	last := compared(o)
	if l.asked || l.op != nil || l.removing || last.Same(o.content) || !e.equal(o, last) {
		return
	}
	o.content.Revisions = last.Revisions
}

// equal says whether the content at hand is the same to the application as
// another one of the same sources: the same revisions, or such as are known to
// render the same. Then it is not a new thing to sync.
func (e *Engine) equal(o *observation, other status.Content) bool {
	if other.Same(o.content) {
		return true
	}
	if !other.Known() || !other.SameSources(o.content) || len(o.rendered) != len(o.content.Sources) {
		return false
	}
	for i, r := range o.rendered {
		if r == nil {
			continue
		}
		ask, err := question(e.request(o, i))
		if err != nil || !e.renders.knows(r, ask+o.revisionsFor(i, other.Revisions)) {
			return false
		}
	}
	return true
}
