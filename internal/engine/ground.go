package engine

import (
	"slices"
	"sync"

	"github.com/towline-cd/towline/internal/core/reads"
)

// place is a revision of a repository as applications name it: a branch that
// moves, for those who follow it.
type place struct{ repo, revision string }

// footprints remember what the applications read of each place, so that a push
// wakes those whom it concerns and nobody else.
type footprints struct {
	mu     sync.Mutex
	places map[place]*ground
	apps   map[string][]place
}

func newFootprints() *footprints {
	return &footprints{places: map[place]*ground{}, apps: map[string][]place{}}
}

// footprint is what an application read of a place.
type footprint struct {
	commit string
	reads  []reads.Read
}

// set replaces what is known of an application; nil forgets it.
func (f *footprints) set(app string, prints map[place]footprint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.apps[app] {
		if _, stays := prints[p]; stays {
			continue
		}
		g := f.places[p]
		g.index.Set(app, nil)
		g.take(app)
		if g.index.Len() == 0 {
			delete(f.places, p)
		}
	}
	delete(f.apps, app)
	for p, mark := range prints {
		g, ok := f.places[p]
		if !ok {
			g = &ground{at: map[string]*stand{}, on: map[string][]*stand{}}
			f.places[p] = g
		}
		g.index.Set(app, reads.Of(mark.reads))
		g.put(app, mark.commit)
		f.apps[app] = append(f.apps[app], p)
	}
}

// sort counts the applications that are known to have read the commit that a
// branch came from, and names those of whom that is not known. Those who have
// read the one that it came to are neither.
func (f *footprints) sort(p place, from, to string, apps []string) (others []string, level int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.places[p]
	if !ok {
		return apps, 0
	}
	for _, app := range apps {
		switch s, known := g.at[app]; {
		case known && s.commit == to:
		case known && s.commit == from:
			level++
		default:
			others = append(others, app)
		}
	}
	return others, level
}

// move takes everybody who has read the commit that a place came from to the one
// that it came to, save for those whom the changes concern. It returns those of
// the applications who stay.
func (f *footprints) move(m move, changes []reads.Change, apps []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.places[m.place]
	if !ok {
		return apps
	}
	stay := slices.DeleteFunc(g.index.Touched(changes), func(app string) bool {
		s, known := g.at[app]
		return !known || s.commit != m.from
	})
	for _, app := range stay {
		g.take(app)
	}
	g.move(m.from, m.to)
	for _, app := range stay {
		g.put(app, m.from)
	}
	var out []string
	for _, app := range apps {
		if _, found := slices.BinarySearch(stay, app); found {
			out = append(out, app)
		}
	}
	return out
}

// ground is what was read of one place, and of which commit. Who read the same
// commit stands together, so that a push moves ten thousand by one step.
type ground struct {
	index reads.Index
	at    map[string]*stand
	// on are the stands of each commit. There may be several of one, when some
	// have gone ahead of those who are moved there.
	on map[string][]*stand
}

type stand struct {
	commit string
	apps   int
}

func (g *ground) put(app, commit string) {
	g.take(app)
	if len(g.on[commit]) == 0 {
		g.on[commit] = []*stand{{commit: commit}}
	}
	s := g.on[commit][0]
	s.apps++
	g.at[app] = s
}

func (g *ground) take(app string) {
	s, known := g.at[app]
	if !known {
		return
	}
	delete(g.at, app)
	if s.apps--; s.apps > 0 {
		return
	}
	if g.on[s.commit] = slices.DeleteFunc(g.on[s.commit], func(other *stand) bool { return other == s }); len(g.on[s.commit]) == 0 {
		delete(g.on, s.commit)
	}
}

func (g *ground) move(from, to string) {
	moved := g.on[from]
	delete(g.on, from)
	for _, s := range moved {
		s.commit = to
	}
	if len(moved) > 0 {
		g.on[to] = append(g.on[to], moved...)
	}
}
