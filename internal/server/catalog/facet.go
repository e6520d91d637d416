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

// count counts in the way that costs least. Values come in the order of their
// texts.
func (c *Catalog) count(a axis, of *found, t *top) {
	base, rest := of.slots, len(c.slots)-of.total
	switch {
	case a.column == nil || len(a.shared)*len(base)/2 < min(of.total, rest):
		for _, v := range a.shared {
			t.add(v, v.slots.within(base))
		}
	case of.total <= rest:
		tally(a, func(s *scratch) {
			s.found(a, of)
			for _, v := range s.counted(a) {
				t.add(v, int(s.counts[v.id]))
			}
		})
	default:
		// The fewer are counted: those that are not in it.
		tally(a, func(s *scratch) {
			for i, w := range base {
				s.word(a, i, c.live[i]&^w)
			}
			for _, v := range a.shared {
				t.add(v, v.slots.n-int(s.counts[v.id]))
			}
		})
	}
	if list := of.list(); list != nil {
		a.aloneOf(list, t)
		return
	}
	a.alone(base, t)
}

// found counts all that was found.
func (s *scratch) found(a axis, of *found) {
	if list := of.list(); list != nil {
		s.list(a, list)
		return
	}
	for i, w := range of.slots {
		s.word(a, i, w)
	}
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

// list counts the slots of a list, but for those that are alone with their
// value.
func (s *scratch) list(a axis, slots []uint32) {
	for _, slot := range slots {
		if !a.lone.has(slot) {
			s.one(a.column[slot])
		}
	}
}

// counted are the values that were counted, and maybe others, by text.
func (s *scratch) counted(a axis) []*value {
	if len(s.touched)*8 > len(a.shared) {
		return a.shared
	}
	out := make([]*value, len(s.touched))
	for i, id := range s.touched {
		out[i] = a.byID[id]
	}
	slices.SortFunc(out, func(a, b *value) int { return strings.Compare(a.text, b.text) })
	return out
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
	to.alone += n
	wanted := min(n, to.limit)
	for i := 0; wanted > 0; i++ {
		for w := base[i] & a.lone[i]; w != 0 && wanted > 0; w &= w - 1 {
			to.singles = append(to.singles, a.text(uint32(i<<6|bits.TrailingZeros64(w))))
			wanted--
		}
	}
}

// aloneOf is the same for a list.
func (a axis) aloneOf(slots []uint32, to *top) {
	if !a.single {
		return
	}
	for _, slot := range slots {
		if a.lone.has(slot) {
			if to.alone++; to.alone <= to.limit {
				to.singles = append(to.singles, a.text(slot))
			}
		}
	}
}

// top are the values with the highest counts; of equal ones the first by text.
type top struct {
	limit int
	// all are the values that several applications have, or might have, by text.
	all []tallied
	// alone is how many values only one application has, and singles are some of
	// them.
	alone   int
	singles []string
	// values are the result, and more is how many are not in it.
	values []Count
	more   int
	// changes says what it was computed from.
	changes uint64
}

type tallied struct {
	value *value
	count int
}

func (t *top) add(v *value, n int) {
	if n > 0 {
		t.all = append(t.all, tallied{v, n})
	}
}

// buckets is how many different counts are told apart without sorting.
const buckets = 256

// finish picks the highest.
func (t *top) finish() ([]Count, int) {
	border, equal := t.border()
	for _, one := range t.all {
		if one.count <= border {
			if one.count < border || equal == 0 {
				continue
			}
			equal--
		}
		t.values = append(t.values, Count{Value: one.value.text, Count: one.count})
	}
	used := len(t.all) + t.alone
	slices.Sort(t.singles)
	for _, text := range t.singles {
		t.values = append(t.values, Count{Value: text, Count: 1})
	}
	slices.SortFunc(t.values, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	t.values = append(make([]Count, 0, min(t.limit, used)), t.values[:min(t.limit, len(t.values))]...)
	t.more = used - len(t.values)
	t.all, t.singles = nil, nil
	return t.values, t.more
}

// border is the lowest count of which some get a place, and how many of it do.
// Values that come by text get theirs in that order.
func (t *top) border() (border, equal int) {
	if len(t.all) <= t.limit {
		return 0, 0
	}
	highest := 0
	for _, one := range t.all {
		highest = max(highest, one.count)
	}
	// Large counts share a bucket; what is picked too many is sorted out.
	width := highest/buckets + 1
	var histogram [buckets + 1]int
	for _, one := range t.all {
		histogram[one.count/width]++
	}
	above := 0
	for bucket := buckets; bucket >= 0; bucket-- {
		if above+histogram[bucket] > t.limit {
			if width > 1 {
				return bucket*width - 1, 0
			}
			return bucket, t.limit - above
		}
		above += histogram[bucket]
	}
	return 0, 0
}

// ofAll counts by everything there is. It is remembered: projects, clusters and
// namespaces stay the same while states come and go.
func (a axis) ofAll(live bitmap, limit int) ([]Count, int) {
	if t := a.top.Load(); t != nil && t.changes == a.changes && t.limit == limit {
		return t.values, t.more
	}
	t := &top{limit: limit, changes: a.changes}
	for _, v := range a.shared {
		t.add(v, v.slots.n)
	}
	a.alone(live, t)
	t.finish()
	a.top.Store(t)
	return t.values, t.more
}
