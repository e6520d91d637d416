package catalog

import (
	"slices"
	"strings"
	"sync"
)

// Eye says what a caller may see. The zero value sees nothing.
type Eye struct {
	// All sees everything.
	All bool
	// Projects are those of which the caller may see everything: no question needs
	// to be asked about their applications.
	Projects map[string]bool
	// May is asked about all others; nil says that the caller may see none of them.
	May func(project, namespace, name string) bool
	// Key names the eye for as long as May gives the same answers, such as a
	// subject with the number of the policy. What May said is kept under it; with
	// no key it is asked about every application each time.
	Key string
}

// Sees tells whether the caller may see an application.
func (e Eye) Sees(project, namespace, name string) bool {
	return e.All || e.Projects[project] || e.May != nil && e.May(project, namespace, name)
}

// SeesRow tells whether the caller may see the application of a row; there is
// nothing to see in nil.
func (e Eye) SeesRow(r *Row) bool {
	return r != nil && e.Sees(r.Project, r.Key.Namespace, r.Key.Name)
}

// memo is a question that was asked about every application, whose answer
// depends on its project and its name alone. It is shared and not changed.
type memo struct {
	// moves is how many moves there were until then.
	moves uint64
	yes   bitmap
}

// memos keeps the memos that were used last.
type memos struct {
	mu    sync.Mutex
	clock uint64
	kept  map[string]*kept
}

type kept struct {
	memo *memo
	used uint64
}

// maxMemos bounds what is kept: one is a bit for each application.
const maxMemos = 128

func (m *memos) get(key string) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kept[key]
	if k == nil {
		return nil
	}
	m.clock++
	k.used = m.clock
	return k.memo
}

func (m *memos) put(key string, of *memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]*kept{}
	}
	m.clock++
	m.kept[key] = &kept{memo: of, used: m.clock}
	if len(m.kept) <= maxMemos {
		return
	}
	oldest, used := "", m.clock
	for key, k := range m.kept {
		if k.used < used {
			oldest, used = key, k.used
		}
	}
	delete(m.kept, oldest)
}

// The first letters of the keys of memos.
const (
	eyeMemo  = "e"
	wordMemo = "w"
)

// prepare asks an eye about every application, if that was not done yet. It
// needs no lock while it asks: the answers may take long.
func (c *Catalog) prepare(e Eye) *memo {
	if e.All || e.May == nil {
		return nil
	}
	if e.Key != "" {
		if m := c.memos.get(eyeMemo + e.Key); m != nil {
			return m
		}
	}
	c.mu.RLock()
	rows, moves := slices.Clone(c.rows), c.moves
	c.mu.RUnlock()
	m := &memo{moves: moves, yes: newBitmap(len(rows))}
	for slot, row := range rows {
		if e.SeesRow(row) {
			m.yes.put(uint32(slot))
		}
	}
	if e.Key != "" {
		c.memos.put(eyeMemo+e.Key, m)
	}
	return m
}

// visible is what an eye sees. The caller holds the lock, and does not change
// what it gets.
func (c *Catalog) visible(e Eye, m *memo) bitmap {
	if e.All {
		return c.live
	}
	if m == nil {
		b := newBitmap(len(c.rows))
		for p := range e.Projects {
			if v := c.dims[project].values[p]; v != nil {
				v.slots.into(b)
			}
		}
		return b
	}
	m, changed := c.catchUp(m, e.SeesRow)
	if changed && e.Key != "" {
		c.memos.put(eyeMemo+e.Key, m)
	}
	return m.yes
}

// catchUp asks again about what has moved since. The caller holds the lock.
func (c *Catalog) catchUp(m *memo, yes func(*Row) bool) (now *memo, changed bool) {
	behind := c.moves - m.moves
	if behind == 0 {
		return m, false
	}
	b := newBitmap(len(c.rows))
	answer := func(slot uint32) {
		if row := c.rows[slot]; row != nil && yes(row) {
			b.put(slot)
		}
	}
	if behind > remembered {
		for slot := range c.rows {
			answer(uint32(slot))
		}
		return &memo{moves: c.moves, yes: b}, true
	}
	copy(b, m.yes)
	for i := m.moves; i != c.moves; i++ {
		slot := c.moved[i%remembered]
		b.drop(slot)
		answer(slot)
	}
	return &memo{moves: c.moves, yes: b}, true
}

// named are the applications whose name contains a word. The caller holds the
// lock, and does not change what it gets.
func (c *Catalog) named(word string) bitmap {
	has := func(r *Row) bool { return strings.Contains(strings.ToLower(r.Key.Name), word) }
	m := c.memos.get(wordMemo + word)
	if m != nil && c.moves-m.moves <= remembered {
		now, changed := c.catchUp(m, has)
		if changed {
			c.memos.put(wordMemo+word, now)
		}
		return now.yes
	}
	m = &memo{moves: c.moves, yes: newBitmap(len(c.rows))}
	looked := 0
	c.names.each(word, func(slot uint32, sure bool) {
		looked++
		if sure || has(c.rows[slot]) {
			m.yes.put(slot)
		}
	})
	// What was found at once is found at once again.
	if looked > keepAfter {
		c.memos.put(wordMemo+word, m)
	}
	return m.yes
}

// keepAfter is how many names must have been looked at for the result to be
// worth keeping.
const keepAfter = 200
