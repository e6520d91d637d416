// Package stream tells clients of changes while they happen, over HTTP:
// applications as Argo CD's clients read them, the resource tree of one, and all
// that a browser needs in one stream. It must not hold anybody up: whoever feeds
// it never waits, and a client that does not read costs a bounded amount of
// memory.
package stream

import (
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
)

// Limits bound what clients can make us keep. Zero takes the default.
type Limits struct {
	// Clients is how many streams may be open, and PerCaller how many of one
	// caller.
	Clients, PerCaller int
	// Ring is how many changes a client may be behind when it comes back.
	Ring int
	// Whole is how many changes are kept for a client with what they were about;
	// past it only the last state of each application is.
	Whole int
	// Keys is how many applications may wait for a client; past it the client is
	// told to begin again.
	Keys int
}

func (l Limits) orDefaults() Limits {
	for _, d := range []struct {
		at    *int
		value int
	}{{&l.Clients, 1000}, {&l.PerCaller, 32}, {&l.Ring, 4096}, {&l.Whole, 64}, {&l.Keys, 1024}} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	return l
}

// Hub hands changes on to the streams that are open.
type Hub struct {
	epoch  string
	limits Limits

	mu      sync.Mutex
	clients map[*client]struct{}
	callers map[string]int
	ring    []*event // the last ones, oldest first from at
	at      int
	// floor is the last change that the ring does not have.
	floor  place
	seq    uint64
	closed bool
}

// place is where a client is: the number of the last change that it knows of,
// or else the resource version that it has read.
type place struct {
	seq, version uint64
	byVersion    bool
}

// before tells whether a change came after the place.
func (p place) before(e *event) bool {
	if p.byVersion {
		return e.version > p.version
	}
	return e.seq > p.seq
}

// reached tells whether everything after the place is remembered.
func (p place) reached(floor place) bool {
	if p.byVersion {
		return p.version >= floor.version
	}
	return p.seq >= floor.seq
}

// NewHub makes a hub. The epoch names the run of this process: what a client
// knows of another is worth nothing here.
func NewHub(epoch string, l Limits) *Hub {
	return &Hub{epoch: epoch, limits: l.orDefaults(), clients: map[*client]struct{}{}, callers: map[string]int{}}
}

// event is a change, shared by all who must hear of it.
type event struct {
	seq, version  uint64
	before, after *catalog.Row
	same          bool
	// body is the whole application; nil in the ring, which must not keep it.
	body *body
}

func (e *event) key() catalog.Key {
	if e.after != nil {
		return e.after.Key
	}
	return e.before.Key
}

// Changed takes in a change of the catalog. It is what the catalog's option of
// that name wants.
func (h *Hub) Changed(c catalog.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq = c.Seq
	if c.Type == catalog.Reset {
		h.ring, h.at, h.floor = nil, 0, place{seq: c.Seq, version: c.Version + 1}
		for cl := range h.clients {
			cl.lose(c.Seq)
		}
		return
	}
	e := &event{seq: c.Seq, version: c.Version, before: c.Before, after: c.After, same: c.Same}
	h.remember(e)
	if len(h.clients) == 0 {
		return
	}
	whole := *e
	if c.App != nil {
		whole.body = &body{app: c.App}
	}
	for cl := range h.clients {
		cl.push(&whole)
	}
}

func (h *Hub) remember(e *event) {
	if len(h.ring) < h.limits.Ring {
		h.ring = append(h.ring, e)
		return
	}
	h.floor = place{seq: h.ring[h.at].seq, version: h.ring[h.at].version}
	h.ring[h.at] = e
	h.at = (h.at + 1) % len(h.ring)
}

// Touch says that the resource tree of an application may look different.
func (h *Hub) Touch(key catalog.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cl := range h.clients {
		cl.touch(key)
	}
}

// Notify says that something else changed that clients may want to read again,
// such as the projects.
func (h *Hub) Notify(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cl := range h.clients {
		cl.notify(topic)
	}
}

// Recheck has every stream ask at once whether it may still be open, as after a
// change of the policy or the end of a session.
func (h *Hub) Recheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cl := range h.clients {
		cl.doubt()
	}
}

// Close ends all streams and lets none begin.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for cl := range h.clients {
		cl.end()
	}
}

// Open is how many streams are open.
func (h *Hub) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// join begins a stream. What is behind is what the client has missed, as far as
// it said where it was and that is remembered; else found is false.
func (h *Hub) join(cl *client, since *place) (behind []entry, found bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, false, errClosing
	case len(h.clients) >= h.limits.Clients, h.callers[cl.caller] >= h.limits.PerCaller:
		return nil, false, errTooMany
	}
	cl.limits = h.limits
	cl.seen = h.seq
	h.clients[cl] = struct{}{}
	h.callers[cl.caller]++
	if since == nil || !since.reached(h.floor) {
		return nil, false, nil
	}
	return h.replay(*since), true, nil
}

func (h *Hub) leave(cl *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, found := h.clients[cl]; !found {
		return
	}
	delete(h.clients, cl)
	if h.callers[cl.caller]--; h.callers[cl.caller] <= 0 {
		delete(h.callers, cl.caller)
	}
}

// replay gathers what came after a place, the last state of each application
// alone.
func (h *Hub) replay(since place) []entry {
	q := queue{limits: Limits{Keys: len(h.ring) + 1}}
	for i := range h.ring {
		if e := h.ring[(h.at+i)%len(h.ring)]; since.before(e) {
			q.push(e)
		}
	}
	return q.take()
}

// body is an application as it is sent, encoded when the first client wants it.
type body struct {
	app *v1alpha1.Application
	mu  sync.Mutex
	// cuts has the JSON by the fields that were asked for.
	cuts map[string][]byte
}

// maxCuts bounds how many selections of fields share their work.
const maxCuts = 8

// encoded returns the JSON of a selection of fields, made once for all.
func (b *body) encoded(fields string, encode func(*v1alpha1.Application) ([]byte, error)) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if data, found := b.cuts[fields]; found {
		return data, nil
	}
	data, err := encode(b.app)
	if err != nil {
		return nil, err
	}
	if b.cuts == nil {
		b.cuts = map[string][]byte{}
	}
	if len(b.cuts) < maxCuts {
		b.cuts[fields] = data
	}
	return data, nil
}
