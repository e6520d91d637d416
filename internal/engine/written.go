package engine

import (
	"maps"
	"sync"

	"github.com/towline-cd/towline/internal/core/object"
)

// writes remembers, for each application, the versions that the running sync's
// own writes made. It is a hint that a restart may lose: without it a health
// that is older than the write counts as Argo CD would count it.
type writes struct {
	mu   sync.Mutex
	made map[string]map[object.Key]string
}

func newWrites() *writes { return &writes{made: map[string]map[object.Key]string{}} }

func (w *writes) note(app string, k object.Key, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made[app] == nil {
		w.made[app] = map[object.Key]string{}
	}
	w.made[app][k] = version
}

func (w *writes) of(app string) map[object.Key]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.made[app])
}

func (w *writes) forget(app string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.made, app)
}
