package controller

import (
	"maps"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
)

// target is a destination as applications write it, without the namespace.
type target struct{ server, name string }

func targetOf(d v1alpha1.ApplicationDestination) target {
	if d.Server != "" {
		return target{server: destination.Key(d.Server)}
	}
	return target{name: d.Name}
}

// remember keeps the applications that there are, and where they are deployed
// to.
func (c *Controller) remember(old, app *v1alpha1.Application) {
	var name string
	if app != nil {
		name = c.key(app)
	} else {
		name = c.key(old)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, known := c.apps[name]; known {
		at := targetOf(last)
		delete(c.to[at], name)
		if len(c.to[at]) == 0 {
			delete(c.to, at)
		}
	}
	if app == nil {
		delete(c.apps, name)
		c.lanes.move(name, "", false)
		return
	}
	c.apps[name] = app.Spec.Destination
	at := targetOf(app.Spec.Destination)
	if c.to[at] == nil {
		c.to[at] = map[string]struct{}{}
	}
	c.to[at][name] = struct{}{}
	c.lanes.move(name, c.placeOf(app.Spec.Destination), true)
}

// spare is how many workers there are besides, where there may be several places.
func (c *Controller) spare() int {
	if c.Place == nil {
		return 0
	}
	return half(c.Workers)
}

// half is the share of one place, if there are others.
func half(workers int) int { return max(1, workers/2) }

func (c *Controller) placeOf(d v1alpha1.ApplicationDestination) string {
	if c.Place == nil {
		return ""
	}
	return c.Place(d)
}

// ClustersChanged looks at the applications of destinations: what they mean, or
// whether their clusters can be worked with, is another thing than before.
func (c *Controller) ClustersChanged(which []v1alpha1.ApplicationDestination) {
	for _, name := range c.deployed(which) {
		c.Enqueue(name, Drift)
	}
}

// deployed are the applications of destinations. What those mean may have
// changed, so they are put where they belong now.
func (c *Controller) deployed(which []v1alpha1.ApplicationDestination) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]struct{}{}
	for _, d := range which {
		maps.Copy(found, c.to[targetOf(d)])
	}
	for name := range found {
		c.lanes.move(name, c.placeOf(c.apps[name]), true)
	}
	return slices.Sorted(maps.Keys(found))
}

// move says where the work of an item is done, or that there is none any more.
func (l *lanes) move(item, place string, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places.move(item, place, there)
}

// done says that an item that was taken is not worked on any more.
func (l *lanes) done(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.working, item)
	l.end(item)
}

// places count who works where.
type places struct {
	// workers is how many there are; zero means that nobody counts.
	workers int
	// place is where the work of each item is done, and crowd how many items a
	// place has.
	place map[string]string
	crowd map[string]int
	// at is where the items are worked on that were taken, and busy how many
	// those are.
	at   map[string]string
	busy map[string]int
}

func newPlaces() places {
	return places{place: map[string]string{}, crowd: map[string]int{}, at: map[string]string{}, busy: map[string]int{}}
}

func (p *places) move(item, place string, there bool) {
	if last, known := p.place[item]; known {
		if p.crowd[last]--; p.crowd[last] == 0 {
			delete(p.crowd, last)
		}
	}
	delete(p.place, item)
	if there {
		p.place[item] = place
		p.crowd[place]++
	}
}

func (p *places) begin(item, place string) {
	p.at[item] = place
	p.busy[place]++
}

func (p *places) end(item string) {
	place, known := p.at[item]
	if !known {
		return
	}
	delete(p.at, item)
	if p.busy[place]--; p.busy[place] == 0 {
		delete(p.busy, place)
	}
}

// free says that a place has not its share of the workers yet: all of them if it
// is the only one, else half of them. One that is held up has no more than the
// spare ones.
func (p *places) free(place string) bool {
	share := p.workers
	if len(p.crowd) > 1 {
		share = half(p.workers)
	}
	return p.workers == 0 || p.busy[place] < share
}
