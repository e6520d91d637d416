package stream

import (
	"sync"

	"github.com/towline-cd/towline/internal/server/catalog"
)

// entry is an application that a client must hear of: what it was before the
// first change that waits, and the last change.
type entry struct {
	key    catalog.Key
	seq    uint64
	before *catalog.Row
	// event is nil where only the key was kept: what is sent is what is then.
	event *event
	gone  bool
}

// queue is what waits for a client, in the order of the numbers.
type queue struct {
	limits  Limits
	entries []entry
	// last is where the last entry of an application is; filled is how many
	// entries wait, and whole how many of them have their event.
	last          map[catalog.Key]int
	filled, whole int
}

// push adds a change; it is false when there is no room.
func (q *queue) push(e *event) bool {
	key := e.key()
	next := entry{key: key, seq: e.seq, before: e.before, event: e}
	at, waits := q.last[key]
	if waits && q.whole >= q.limits.Whole {
		// The client is slow: of each application the last state is enough. It goes to
		// the end, so that a client that is cut off in between has missed nothing
		// before the number that it got last.
		old := &q.entries[at]
		next.before = old.before
		if old.event != nil {
			q.whole--
		}
		old.gone = true
		old.event, old.before = nil, nil
		q.filled--
	}
	if q.filled >= q.limits.Keys {
		return false
	}
	if q.whole >= q.limits.Whole {
		next.event = nil
	} else {
		q.whole++
	}
	q.tidy()
	if q.last == nil {
		q.last = map[catalog.Key]int{}
	}
	q.last[key] = len(q.entries)
	q.entries = append(q.entries, next)
	q.filled++
	return true
}

// tidy closes the gaps once they are the most of it.
func (q *queue) tidy() {
	if len(q.entries) < 2*q.filled+64 {
		return
	}
	kept := q.entries[:0]
	for _, e := range q.entries {
		if !e.gone {
			q.last[e.key] = len(kept)
			kept = append(kept, e)
		}
	}
	clear(q.entries[len(kept):])
	q.entries = kept
}

// take empties the queue.
func (q *queue) take() []entry {
	out := q.entries[:0]
	for _, e := range q.entries {
		if !e.gone {
			out = append(out, e)
		}
	}
	q.entries, q.filled, q.whole = nil, 0, 0
	clear(q.last)
	return out
}

// client is the side of a stream that the hub knows.
type client struct {
	caller string
	// wants tells early what surely does not concern this client. It must be quick.
	wants func(*event) bool
	// wake has a token while there is something to do.
	wake chan struct{}
	over chan struct{}
	once sync.Once

	mu sync.Mutex
	queue
	// seen is the number of the last change, wanted or not.
	seen uint64
	// from leaves out what a first answer has already told.
	from    uint64
	lost    bool
	doubted bool
	trees   map[catalog.Key]bool
	topics  map[string]bool
}

func newClient(caller string) *client {
	return &client{caller: caller, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// batch is what a client must do next.
type batch struct {
	entries []entry
	seen    uint64
	// lost says that changes were left out.
	lost bool
	// doubted says that the right to listen must be asked for again.
	doubted bool
	trees   []catalog.Key
	topics  []string
}

// take empties all that waits.
func (c *client) take() batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := batch{entries: c.queue.take(), seen: c.seen, lost: c.lost, doubted: c.doubted}
	c.lost, c.doubted = false, false
	for key, dirty := range c.trees {
		if dirty {
			b.trees = append(b.trees, key)
			c.trees[key] = false
		}
	}
	for topic, dirty := range c.topics {
		if dirty {
			b.topics = append(b.topics, topic)
			c.topics[topic] = false
		}
	}
	return b
}

func (c *client) push(e *event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = e.seq
	if c.wants == nil || c.lost || e.seq <= c.from || !c.wants(e) {
		return
	}
	if !c.queue.push(e) {
		c.lost = true
		c.queue.take()
	}
	c.rouse()
}

// lose has the client begin again.
func (c *client) lose(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.lost = seq, true
	c.queue.take()
	c.rouse()
}

// skip leaves out the changes up to a number.
func (c *client) skip(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = seq
	for i, e := range c.entries {
		if e.seq <= seq && !e.gone {
			c.entries[i].gone = true
			c.filled--
			if e.event != nil {
				c.whole--
			}
			if c.last[e.key] == i {
				delete(c.last, e.key)
			}
		}
	}
}

// The marks of what is only known to have changed.

func (c *client) touch(key catalog.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, wanted := c.trees[key]; wanted {
		c.trees[key] = true
		c.rouse()
	}
}

func (c *client) notify(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, wanted := c.topics[topic]; wanted {
		c.topics[topic] = true
		c.rouse()
	}
}

func (c *client) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubted = true
	c.rouse()
}

func (c *client) end() { c.once.Do(func() { close(c.over) }) }

// rouse never waits: one token is enough for all that waits.
func (c *client) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// place is the number of the last change.
func (c *client) place() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}
