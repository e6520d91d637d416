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
const facetValues = 50

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
func (c *Catalog) facet(name string, ch *choice, limit int) Facet {
	f := Facet{Name: name, Values: []Count{}}
	of := &ch.found
	if slices.ContainsFunc(ch.filters, func(f filter) bool { return f.facet == name }) {
		of = c.found(c.others(ch, name))
	}
	a := c.axisOf(name)
	if a.dimension == nil || of.total == 0 {
		return f
	}
	if c.whole(of.slots) {
		f.Values, f.More = a.ofAll(c.live, limit)
		return f
	}
	t := &top{limit: limit}
	c.count(a, of, t)
	f.Values, f.More = t.finish()
	return f
}

// count counts in the way that costs least.
func (c *Catalog) count(a axis, of *found, t *top) {
	base, rest := of.slots, len(c.slots)-of.total
	if list := of.list(); list != nil {
		a.countList(list, base, t)
		return
	}
	switch {
	case a.column == nil || len(a.shared)*len(base)/2 < min(of.total, rest):
		for _, v := range a.shared {
			t.add(v.text, v.slots.within(base))
		}
	case of.total <= rest:
		tally(a, func(s *scratch) {
			for i, w := range base {
				s.word(a, i, w)
			}
			for _, id := range s.touched {
				t.add(a.byID[id].text, int(s.counts[id]))
			}
		})
	default:
		// The fewer are counted: those that are not in it.
		tally(a, func(s *scratch) {
			for i, w := range base {
				s.word(a, i, c.live[i]&^w)
			}
			for _, v := range a.shared {
				t.add(v.text, v.slots.n-int(s.counts[v.id]))
			}
		})
	}
	a.alone(base, t)
}

// countList counts a few slots one by one: what is not among them costs nothing.
func (a axis) countList(list []uint32, base bitmap, t *top) {
	if a.column == nil {
		for _, v := range a.shared {
			n := 0
			if v.slots.dense == nil || len(v.slots.dense) < len(list) {
				n = v.slots.within(base)
			} else {
				for _, slot := range list {
					if v.slots.dense.has(slot) {
						n++
					}
				}
			}
			t.add(v.text, n)
		}
		a.alone(base, t)
		return
	}
	tally(a, func(s *scratch) {
		for _, slot := range list {
			s.one(a.column[slot])
		}
		for _, id := range s.touched {
			t.add(a.byID[id].text, int(s.counts[id]))
		}
	})
}

// others is the result without the filters by one facet.
func (c *Catalog) others(ch *choice, name string) bitmap {
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

// tally hands out counters for the values of a dimension.
func tally(a axis, count func(*scratch)) {
	s, ok := scratches.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	if len(s.counts) < len(a.byID) {
		s.counts = make([]int32, len(a.byID)*5/4)
	}
	count(s)
	for _, id := range s.touched {
		s.counts[id] = 0
	}
	s.touched = s.touched[:0]
	scratches.Put(s)
}

func (s *scratch) one(id uint32) {
	if s.counts[id] == 0 {
		s.touched = append(s.touched, id)
	}
	s.counts[id]++
}

// word counts the slots of a word of a bitmap, but for those that are alone with
// their value.
func (s *scratch) word(a axis, i int, w uint64) {
	if i < len(a.lone) {
		w &^= a.lone[i]
	}
	for ; w != 0; w &= w - 1 {
		s.one(a.column[i<<6|bits.TrailingZeros64(w)])
	}
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
	limit int
	// values are twice as many as wanted at most; worst is the last that has a
	// place, once there are enough.
	values []Count
	worst  Count
	// used is how many values have any.
	used int
	// changes says what it was computed from.
	changes uint64
}

func compareCounts(a, b Count) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}

func (t *top) add(text string, n int) {
	if n <= 0 {
		return
	}
	t.used++
	one := Count{Value: text, Count: n}
	if t.worst.Count > 0 && compareCounts(one, t.worst) > 0 {
		return
	}
	if t.values = append(t.values, one); len(t.values) >= 2*t.limit {
		nearest(t.values, t.limit-1)
		t.worst = t.values[t.limit-1]
		t.values = t.values[:t.limit]
	}
}

// finish sorts what is left, and says how many values are not in it.
func (t *top) finish() ([]Count, int) {
	slices.SortFunc(t.values, compareCounts)
	t.values = t.values[:min(t.limit, len(t.values))]
	return t.values, t.used - len(t.values)
}

// nearest puts the value in its place that belongs there, with all before it
// that come before it.
func nearest(list []Count, place int) {
	for low, high := 0, len(list)-1; low < high; {
		pivot := list[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for compareCounts(list[i], pivot) < 0 {
				i++
			}
			for compareCounts(list[j], pivot) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case place <= j:
			high = j
		case place >= i:
			low = i
		default:
			return
		}
	}
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
	values, more := t.finish()
	a.top.Store(t)
	return values, more
}
