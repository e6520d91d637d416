package cluster

import (
	"time"

	"github.com/towline-cd/towline/internal/core/object"
)

// mostStamps is how many writes are remembered until the watch tells of them.
const mostStamps = 256

// lag measures how late the watches of a cluster are: by how long after the server's answer to a write of ours they tell of
// it. Whoever holds the index uses it.
type lag struct {
	stamps map[object.Key]stamp
	last   time.Duration
}

type stamp struct {
	version string
	at      time.Time
}

func (l *lag) wrote(k object.Key, version string) {
	if l.stamps == nil {
		l.stamps = map[object.Key]stamp{}
	}
	if len(l.stamps) < mostStamps {
		l.stamps[k] = stamp{version, time.Now()}
	}
}

// saw takes what the watch tells of an object.
func (l *lag) saw(k object.Key, version string) {
	if s, ok := l.stamps[k]; ok && !older(version, s.version) {
		l.last = time.Since(s.at)
		delete(l.stamps, k)
	}
}
