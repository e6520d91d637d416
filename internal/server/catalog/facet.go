package catalog

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Facet counts applications by the values of a dimension: those that the caller
// may see and that meet all other filters of the query. A filter by the
// dimension itself does not count, so that its other values can be chosen too.
type Facet struct {
	Name string `json:"name"`
	// Values are those with the most applications, the highest count first. Of
	// those with a single one there may be too many; then it is some of them.
	Values []Count `json:"values"`
	// More is how many values there are besides.
	More int `json:"more,omitempty"`
}

// Count is how many applications have a value.
type Count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// facetValues is how many values of a facet are returned by default.
const facetValues = 100

func (q *Query) facetLimit() int { return cmp.Or(max(q.FacetLimit, 0), facetValues) }

// axis is a dimension to count by.
type axis struct {
	*dimension
	// column has the number of the value by slot, where there is one.
	column []uint32
	// text is the value of a slot whose value nobody else has.
	text func(slot uint32) string
}

// axisOf finds the dimension of a facet; there may be none.
func (c *Catalog) axisOf(name string) axis {
	if i := slices.Index(facetNames[:], name); i >= 0 {
		d, column := c.dims[i], c.columns[i]
		return axis{dimension: d, column: column, text: func(slot uint32) string { return d.byID[column[slot]].text }}
	}
	switch name {
	case FacetRepo:
		return axis{dimension: c.repos}
	case FacetLabel:
		return axis{dimension: c.labels}
	}
	key := strings.TrimPrefix(name, labelPrefix)
	if k := c.labels.values[key]; k != nil {
		return axis{dimension: k.keyed, text: func(slot uint32) string { return c.rows[slot].Labels[key] }}
	}
	return axis{}
}

// facet counts. The caller holds the lock.
func (c *Catalog) facet(name string, ch choice, limit int) Facet {
	f := Facet{Name: name, Values: []Count{}}
	base, total := ch.result, ch.total
	if slices.ContainsFunc(ch.filters, func(f filter) bool { return f.facet == name }) {
		base = c.others(ch, name)
		total = len(c.slots)
		if !c.whole(base) {
			total = base.count()
		}
	}
	a := c.axisOf(name)
	if a.dimension == nil || total == 0 {
		return f
	}
	if c.whole(base) {
		f.Values, f.More = a.ofAll(c.live, limit)
		return f
	}
	t := &top{limit: limit}
	rest := len(c.slots) - total
	switch {
	case a.column == nil || len(a.shared)*len(base)/2 < min(total, rest):
		for _, v := range a.shared {
			t.add(v.text, v.slots.within(base))
		}
	case total <= rest:
		tally(a, func(i int) uint64 { return base[i] }, len(base), func(s *scratch) {
			for _, id := range s.touched {
				t.add(a.byID[id].text, int(s.counts[id]))
			}
		})
	default:
		// The fewer are counted: those that are not in it.
		tally(a, func(i int) uint64 { return c.live[i] &^ base[i] }, len(base), func(s *scratch) {
			for _, v := range a.shared {
				t.add(v.text, v.slots.n-int(s.counts[v.id]))
			}
		})
	}
	a.alone(base, t)
	f.Values, f.More = t.values, t.used-len(t.values)
	return f
}

// others is the result without the filters by one facet.
func (c *Catalog) others(ch choice, name string) bitmap {
	base, cloned := ch.visible, false
	for _, f := range ch.filters {
		if f.facet == name {
			continue
		}
		if !cloned {
			base, cloned = slices.Clone(base), true
		}
		base.and(f.slots)
	}
	return base
}

// scratch are counters for one request, all zero in between.
type scratch struct {
	counts []int32
	// touched are the values that were counted.
	touched []uint32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// tally counts the values of slots, but for those that are alone with theirs.
// The slots come as words of a bitmap.
func tally(a axis, word func(int) uint64, words int, then func(*scratch)) {
	s, ok := scratches.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	if len(s.counts) < len(a.byID) {
		s.counts = make([]int32, len(a.byID)*5/4)
	}
	for i := range words {
		w := word(i)
		if i < len(a.lone) {
			w &^= a.lone[i]
		}
		for ; w != 0; w &= w - 1 {
			id := a.column[i<<6|bits.TrailingZeros64(w)]
			if s.counts[id] == 0 {
				s.touched = append(s.touched, id)
			}
			s.counts[id]++
		}
	}
	then(s)
	for _, id := range s.touched {
		s.counts[id] = 0
	}
	s.touched = s.touched[:0]
	scratches.Put(s)
}

// alone adds the slots that are alone with their value.
func (a axis) alone(base bitmap, to *top) {
	if !a.single {
		return
	}
	n := 0
	for i := range min(len(base), len(a.lone)) {
		n += bits.OnesCount64(base[i] & a.lone[i])
	}
	wanted := min(n, to.limit)
	for i := 0; wanted > 0; i++ {
		for w := base[i] & a.lone[i]; w != 0 && wanted > 0; w &= w - 1 {
			to.add(a.text(uint32(i<<6|bits.TrailingZeros64(w))), 1)
			n--
			wanted--
		}
	}
	to.used += n
}

// top are the values with the highest counts; of equal ones the first by text.
type top struct {
	limit  int
	values []Count
	// used is how many values have any.
	used int
	// changes says what it was computed from.
	changes uint64
}

func (t *top) add(text string, n int) {
	if n <= 0 {
		return
	}
	t.used++
	if len(t.values) == t.limit {
		if last := t.values[t.limit-1]; n < last.Count || n == last.Count && text > last.Value {
			return
		}
		t.values = t.values[:t.limit-1]
	}
	one := Count{Value: text, Count: n}
	at, _ := slices.BinarySearchFunc(t.values, one, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	t.values = slices.Insert(t.values, at, one)
}

// ofAll counts by everything there is. It is remembered: projects, clusters and
// namespaces stay the same while states come and go.
func (a axis) ofAll(live bitmap, limit int) ([]Count, int) {
	if t := a.top.Load(); t != nil && t.changes == a.changes && t.limit == limit {
		return t.values, t.used - len(t.values)
	}
	t := &top{limit: limit, changes: a.changes}
	for _, v := range a.shared {
		t.add(v.text, v.slots.n)
	}
	a.alone(live, t)
	a.top.Store(t)
	return t.values, t.used - len(t.values)
}
