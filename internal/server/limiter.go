package server

import (
	"sync"
	"time"
)

// How often one source may ask what is open to everybody, in a second and at once. A page of the browser asks for two or
// three of these; a script that does so in a loop is slowed down and nobody else is.
const (
	openRate  = 100
	openBurst = 300
	// mostSources bounds what is remembered.
	mostSources = 10_000
)

// limiter counts by source, in buckets that fill up with time.
type limiter struct {
	rate, burst float64

	mu      sync.Mutex
	buckets map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func newLimiter(rate, burst float64) *limiter {
	return &limiter{rate: rate, burst: burst, buckets: map[string]bucket{}}
}

// take says whether a source may go on.
func (l *limiter) take(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.buckets[source]
	if !known {
		if len(l.buckets) >= mostSources {
			l.sweep(now)
		}
		if len(l.buckets) >= mostSources {
			// Those who are here already are not forgotten for newcomers.
			return false
		}
		b = bucket{left: l.burst, at: now}
	}
	b.left = min(l.burst, b.left+now.Sub(b.at).Seconds()*l.rate)
	b.at = now
	ok := b.left >= 1
	if ok {
		b.left--
	}
	l.buckets[source] = b
	return ok
}

// sweep forgets those who have not asked for a while; the caller holds the lock.
func (l *limiter) sweep(now time.Time) {
	for source, b := range l.buckets {
		if b.left+now.Sub(b.at).Seconds()*l.rate >= l.burst {
			delete(l.buckets, source)
		}
	}
}
