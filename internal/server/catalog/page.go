package catalog

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
)

// place is where a page ended: what its last row was ordered by. The next page
// begins after it, whatever has come and gone since, the row itself included.
type place struct {
	Sort       Sort   `json:"s"`
	Descending bool   `json:"d,omitempty"`
	Number     int64  `json:"v,omitempty"`
	Class      string `json:"c,omitempty"`
	Namespace  string `json:"ns"`
	Name       string `json:"n"`
}

func (p place) token() string {
	// A place has only texts and numbers, so it can be encoded.
	data, _ := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(data)
}

func parsePlace(token string, sort Sort, descending bool) (*place, error) {
	var p place
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return nil, invalidf("the token to continue with is none that was given out; begin again without it")
	}
	if p.Sort != sort || p.Descending != descending {
		return nil, invalidf("the token to continue with is of another order; begin again without it")
	}
	return &p, nil
}

func (p place) key() Key { return Key{Namespace: p.Namespace, Name: p.Name} }

// page takes the rows of a page. The caller holds the lock.
func (c *Catalog) page(q Query, ch *choice, after *place) (rows []*Row, token string) {
	if ch.total == 0 {
		return nil, ""
	}
	want := ch.total
	if q.Limit > 0 {
		// One more tells whether there is a next page.
		want = min(want, q.Limit+1)
	}
	var slots []uint32
	if q.Sort == ByHealth || q.Sort == BySync {
		slots = c.classes(q, ch.slots, after, want)
	} else {
		slots = c.walk(q, &ch.found, after, want)
	}
	more := q.Limit > 0 && len(slots) > q.Limit
	if more {
		slots = slots[:q.Limit]
	}
	rows = make([]*Row, len(slots))
	for i, slot := range slots {
		rows[i] = c.rows[slot]
	}
	if more {
		token = c.placeOf(q, rows[len(rows)-1]).token()
	}
	return rows, token
}

func (c *Catalog) placeOf(q Query, r *Row) place {
	p := place{Sort: q.Sort, Descending: q.Descending, Namespace: r.Key.Namespace, Name: r.Key.Name}
	switch q.Sort {
	case ByCreate:
		p.Number = r.created
	case BySynced:
		p.Number = r.synced
	case ByHealth:
		p.Class = r.health
	case BySync:
		p.Class = r.sync
	case ByName:
	}
	return p
}

// few is how many rows are sorted faster than they are met on a walk.
const few = 192

// walk goes along an order and takes what is in the result.
func (c *Catalog) walk(q Query, f *found, after *place, want int) []uint32 {
	o := c.orderOf(q.Sort)
	var past func(uint32) bool
	if after != nil {
		past = func(slot uint32) bool {
			n := c.compareTo(slot, after)
			return n > 0 || n == 0 && q.Descending
		}
	}
	if f.total <= few {
		return c.sorted(q, o, f.slots, past, want)
	}
	if q.Descending {
		return o.takeBack(past, f.slots, want)
	}
	return o.take(past, f.slots, want)
}

// sorted sorts what is in the result.
func (c *Catalog) sorted(q Query, o *order, result bitmap, past func(uint32) bool, want int) []uint32 {
	var slots []uint32
	result.each(func(slot uint32) bool {
		if past == nil || past(slot) != q.Descending {
			slots = append(slots, slot)
		}
		return true
	})
	slices.SortFunc(slots, func(a, b uint32) int {
		if q.Descending {
			a, b = b, a
		}
		return o.compare(a, b)
	})
	return slots[:min(want, len(slots))]
}

func (c *Catalog) orderOf(s Sort) *order {
	switch s {
	case ByCreate:
		return &c.byCreated
	case BySynced:
		return &c.bySynced
	case ByName, ByHealth, BySync:
	}
	return &c.byName
}

// compareTo says whether a slot comes before or after a place.
func (c *Catalog) compareTo(slot uint32, p *place) int {
	r := c.rows[slot]
	names := compareKeys(r.Key, p.key())
	switch p.Sort {
	case ByCreate:
		return cmp.Or(cmp.Compare(r.created, p.Number), names)
	case BySynced:
		return cmp.Or(cmp.Compare(r.synced, p.Number), names)
	case ByName, ByHealth, BySync:
	}
	return names
}

// classes takes one value of a dimension after the other, the best first, and
// names in order within each.
func (c *Catalog) classes(q Query, result bitmap, after *place, want int) []uint32 {
	dim, texts := c.dims[health], slices.Clone(healths)
	if q.Sort == BySync {
		dim, texts = c.dims[syncStatus], slices.Clone(syncs)
	}
	if q.Descending {
		slices.Reverse(texts)
	}
	var slots []uint32
	begun := after == nil
	for _, text := range texts {
		var from *place
		if !begun && text == after.Class {
			begun, from = true, after
		}
		v := dim.values[text]
		if !begun || v == nil {
			continue
		}
		class := newBitmap(len(c.rows))
		v.slots.into(class)
		class.and(result)
		part := &found{slots: class, total: class.count()}
		if part.total == 0 {
			continue
		}
		// Names go upwards in every class, also when the worst comes first.
		slots = append(slots, c.walk(Query{Sort: ByName}, part, from, want-len(slots))...)
		if len(slots) >= want {
			break
		}
	}
	return slots
}
