package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Facet counts applications by the values of a dimension: those that the caller
// may see and that meet all other filters of the query. A filter by the
// dimension itself does not count, so that its other values can be chosen too.
type Facet struct {
	Name string `json:"name"`
	// Values are those with the most applications, the highest count first.
	Values []Count `json:"values"`
	// More is how many values there are besides.
	More int `json:"more,omitempty"`
}

// Count is how many applications have a value.
type Count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// top is a facet of everything, good until its dimension changes.
type top struct {
	changes uint64
	limit   int
	values  []Count
	more    int
}

// facetValues is how many values of a facet are returned by default.
const facetValues = 100

func (q *Query) facetLimit() int { return cmp.Or(max(q.FacetLimit, 0), facetValues) }

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
	d, single := c.dimensionOf(name)
	if d == nil || total == 0 {
		return f
	}
	if c.whole(base) {
		f.Values, f.More = d.ofAll(limit)
		return f
	}
	counts, done := d.zeros()
	defer done()
	switch {
	case single < 0 || len(d.values) <= 16:
		for _, v := range d.byID {
			if v != nil {
				counts[v.id] = int32(v.slots.within(base))
			}
		}
	case total <= len(c.slots)/2:
		c.tally(counts, single, base, 1)
	default:
		// The fewer are counted: those that are not in it.
		for _, v := range d.byID {
			if v != nil {
				counts[v.id] = int32(v.slots.n)
			}
		}
		rest := slices.Clone(c.live)
		rest.andNot(base)
		c.tally(counts, single, rest, -1)
	}
	f.Values, f.More = d.most(counts, limit)
	return f
}

// others is the result without the filters by one facet.
func (c *Catalog) others(ch choice, name string) bitmap {
	base := ch.visible
	for _, f := range ch.filters {
		if f.facet == name {
			continue
		}
		if len(base) == 0 || len(ch.visible) > 0 && &base[0] == &ch.visible[0] {
			base = slices.Clone(ch.visible)
		}
		base.and(f.slots)
	}
	return base
}

// dimensionOf finds the dimension of a facet, and its number if applications
// have one value each in it.
func (c *Catalog) dimensionOf(name string) (d *dimension, single int) {
	if i := slices.Index(facetNames[:], name); i >= 0 {
		return c.dims[i], i
	}
	switch name {
	case FacetRepo:
		return c.repos, -1
	case FacetLabel:
		return c.labels, -1
	}
	if k := c.labels.values[strings.TrimPrefix(name, labelPrefix)]; k != nil {
		return k.keyed, -1
	}
	return nil, -1
}

// tally adds a number to the count of the value of each slot.
func (c *Catalog) tally(counts []int32, dim int, slots bitmap, n int32) {
	column := c.columns[dim]
	slots.each(func(slot uint32) bool {
		counts[column[slot]] += n
		return true
	})
}

// scratch are counters for one request.
var scratch = sync.Pool{New: func() any { return new([]int32) }}

// zeros are counters for the values by number, to be given back.
func (d *dimension) zeros() (counts []int32, done func()) {
	pooled, ok := scratch.Get().(*[]int32)
	if !ok {
		pooled = new([]int32)
	}
	if cap(*pooled) < len(d.byID) {
		*pooled = make([]int32, len(d.byID), len(d.byID)*2)
	}
	counts = (*pooled)[:len(d.byID)]
	clear(counts)
	return counts, func() { scratch.Put(pooled) }
}

// ofAll counts by everything there is. It is remembered: projects, clusters and
// namespaces stay the same while states come and go.
func (d *dimension) ofAll(limit int) ([]Count, int) {
	if t := d.top.Load(); t != nil && t.changes == d.changes && t.limit == limit {
		return t.values, t.more
	}
	counts, done := d.zeros()
	defer done()
	for _, v := range d.byID {
		if v != nil {
			counts[v.id] = int32(v.slots.n)
		}
	}
	t := &top{changes: d.changes, limit: limit}
	t.values, t.more = d.most(counts, limit)
	d.top.Store(t)
	return t.values, t.more
}

// buckets is how many different counts are told apart without sorting.
const buckets = 1024

// most are the values with the highest counts; of equal ones the first by text.
func (d *dimension) most(counts []int32, limit int) (values []Count, more int) {
	var histogram [buckets]int
	used := 0
	for _, n := range counts {
		if n > 0 {
			histogram[min(n, buckets-1)]++
			used++
		}
	}
	// border is the lowest count of which some get a place: all that are above it
	// do, and equal of it.
	border, equal := buckets-1, 0
	for above := 0; border > 0; border-- {
		if above+histogram[border] > limit {
			equal = limit - above
			break
		}
		above += histogram[border]
	}
	if border == buckets-1 {
		// So many values have so many applications that only sorting tells.
		border, equal = buckets-2, 0
	}
	values = make([]Count, 0, min(limit, used)+equal)
	for id, n := range counts {
		if int(n) > border {
			values = append(values, Count{Value: d.byID[id].text, Count: int(n)})
		}
	}
	if equal > 0 {
		d.sorted.from(nil, func(id uint32) bool {
			if int(counts[id]) == border {
				values = append(values, Count{Value: d.byID[id].text, Count: border})
				equal--
			}
			return equal > 0
		})
	}
	slices.SortFunc(values, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	values = values[:min(limit, len(values))]
	return values, used - len(values)
}
