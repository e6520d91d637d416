package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// episodesKept is how many episodes of drift are kept of each application.
const episodesKept = 20

// drifts keeps the last episodes of drift, so that healing within milliseconds
// does not hide that somebody edited the cluster. They are also Kubernetes
// Events, which outlive this process.
type drifts struct {
	mu  sync.Mutex
	app map[string][]plan.Episode
}

func newDrifts() *drifts { return &drifts{app: map[string][]plan.Episode{}} }

// see notes what a heal is about to mend.
func (d *drifts) see(app string, episodes []plan.Episode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := append(slices.Clone(d.app[app]), episodes...)
	d.app[app] = all[max(0, len(all)-episodesKept):]
}

// healed notes that objects are as Git says again.
func (d *drifts) healed(app string, keys []object.Key, now time.Time) []plan.Episode {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.app[app])
	var out []plan.Episode
	for i, e := range all {
		if e.Healed.IsZero() && slices.Contains(keys, e.Key) {
			all[i].Healed = now
			out = append(out, all[i])
		}
	}
	d.app[app] = all
	return out
}

func (d *drifts) of(app string) []plan.Episode {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.app[app]
}

func (d *drifts) forget(app string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.app, app)
}

// Drift are the last episodes of drift of an application, the oldest first.
func (e *Engine) Drift(app string) []plan.Episode { return slices.Clone(e.drifts.of(app)) }
