// Package catalog is the index of applications in memory that lists and streams
// are answered from: filters, search, orders, counts and pages whose cost is
// that of the page and hardly that of the fleet. It must not do I/O nor know of
// HTTP, and it keeps small rows, never applications: who wants a whole one asks
// the hub for it by its key.
package catalog

import (
	"bytes"
	"cmp"
	"strings"
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Options are what a catalog is made of. The zero value is good.
type Options struct {
	// Cluster is what a destination is called in filters and counts; by default
	// its name, or else its server.
	Cluster func(v1alpha1.ApplicationDestination) string
	// Changed is told of every change, one after the other, in the order of their
	// numbers. It must not block, and it may ask the catalog.
	Changed func(Change)
}

// Type is the kind of a change.
type Type string

// The kinds of changes, in the words of a watch.
const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"
	// Reset says that everything was forgotten.
	Reset Type = "RESET"
)

// Change is something that happened to one application.
type Change struct {
	Type Type
	// Seq counts changes, from one.
	Seq uint64
	// Version is the highest resource version that was seen until then.
	Version uint64
	// Before and After are nil where there was or is no application.
	Before, After *Row
	// App is the whole application after the change, nil if it is gone. It is
	// shared: whoever keeps it keeps an old one alive.
	App *v1alpha1.Application
	// Same says that the row shows what it showed before.
	Same bool
}

// The dimensions in which an application has exactly one value.
const (
	project = iota
	appNamespace
	cluster
	target
	health
	syncStatus
	operation
	automated
	dimensions
)

// Catalog is the index. It can be used by many at once.
type Catalog struct {
	cluster func(v1alpha1.ApplicationDestination) string
	changed func(Change)

	// feed has writers wait for each other until the last change was told, so that
	// changes are told in order while readers read on.
	feed sync.Mutex
	mu   sync.RWMutex
	state
	// memos outlive nothing: they are good for the state they were made from.
	memos memos
}

// state is everything that a reset forgets, but for the counters.
type state struct {
	seq, version uint64

	slots map[Key]uint32
	rows  []*Row // by slot, nil where one is free
	free  []uint32
	live  bitmap

	dims    [dimensions]*dimension
	columns [dimensions][]uint32 // by slot: the number of the value
	repos   *dimension
	labels  *dimension // the keys; their values are below them

	names grams // by slot
	terms *terms

	byName, byCreated, bySynced order

	// moved are the slots whose application came, went or changed its project, as
	// a ring; moves counts them.
	moved []uint32
	moves uint64
}

// remembered is how many moves a memo may be behind.
const remembered = 1024

// New makes an empty catalog.
func New(o Options) *Catalog {
	c := &Catalog{cluster: o.Cluster, changed: o.Changed}
	if c.cluster == nil {
		c.cluster = func(d v1alpha1.ApplicationDestination) string { return cmp.Or(d.Name, PlainURL(d.Server), none) }
	}
	if c.changed == nil {
		c.changed = func(Change) {}
	}
	c.clear()
	return c
}

func (c *Catalog) clear() {
	t := &terms{}
	c.state = state{seq: c.seq, version: c.version, moves: c.moves, slots: map[Key]uint32{}, terms: t}
	c.moved = make([]uint32, remembered)
	for i := range c.dims {
		c.dims[i] = newDimension(true, nil)
	}
	c.dims[project] = newDimension(true, t)
	c.repos = newDimension(false, t)
	c.labels = newDimension(false, nil)
	c.byName.compare = c.compareNames
	c.byCreated.compare = func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.rows[a].created, c.rows[b].created), c.compareNames(a, b))
	}
	c.bySynced.compare = func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.rows[a].synced, c.rows[b].synced), c.compareNames(a, b))
	}
}

func (c *Catalog) compareNames(a, b uint32) int { return compareKeys(c.rows[a].Key, c.rows[b].Key) }

// compareKeys orders by name first, as lists of applications always were.
func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
}

// Upsert takes in an application as it is now.
func (c *Catalog) Upsert(app *v1alpha1.Application) error {
	// Encoding takes longer than everything else, and needs no lock.
	row, err := c.rowOf(app)
	if err != nil {
		return err
	}
	c.feed.Lock()
	defer c.feed.Unlock()
	change := c.put(row)
	change.App = app
	c.changed(change)
	return nil
}

func (c *Catalog) put(row *Row) Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.version = max(c.version, row.Version)
	change := Change{Type: Added, Seq: c.seq, Version: c.version, After: row}
	slot, found := c.slots[row.Key]
	if !found {
		c.add(row)
		return change
	}
	change.Type, change.Before = Modified, c.rows[slot]
	change.Same = bytes.Equal(change.Before.JSON, row.JSON)
	if change.Same {
		row.JSON = change.Before.JSON
	}
	c.replace(slot, row)
	return change
}

// Remove forgets an application.
func (c *Catalog) Remove(key Key) {
	c.feed.Lock()
	defer c.feed.Unlock()
	if change, found := c.take(key); found {
		c.changed(change)
	}
}

func (c *Catalog) take(key Key) (Change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slot, found := c.slots[key]
	if !found {
		return Change{}, false
	}
	c.seq++
	row := c.rows[slot]
	c.remove(slot)
	return Change{Type: Deleted, Seq: c.seq, Version: c.version, Before: row}, true
}

// Reset forgets everything.
func (c *Catalog) Reset() {
	c.feed.Lock()
	defer c.feed.Unlock()
	c.changed(c.empty())
}

func (c *Catalog) empty() Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	// No memo may think that it can catch up.
	c.moves += remembered + 1
	c.clear()
	return Change{Type: Reset, Seq: c.seq, Version: c.version}
}

// Row finds an application.
func (c *Catalog) Row(key Key) (*Row, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	slot, found := c.slots[key]
	if !found {
		return nil, false
	}
	return c.rows[slot], true
}

// Position is where the catalog is: the number of the last change, and the
// highest resource version that it has seen.
func (c *Catalog) Position() (seq, version uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.seq, c.version
}
