package catalog

import (
	"slices"
	"strings"
	"sync/atomic"
)

// value is one value of a dimension, and the slots that have it.
type value struct {
	// lower is the text in lower case.
	text, lower string
	id          uint32
	slots       set
	// named is how many slots have the value although it is not their name; term is
	// its number among the texts that a search looks through, if there are such.
	named int
	term  uint32
	// keyed are the values of a label's key.
	keyed *dimension
}

// dimension is something that applications are told apart by, such as their
// project. It knows the values that are in use and no others.
type dimension struct {
	values map[string]*value
	// byID has the values by number, nil where one is free.
	byID []*value
	free []uint32
	// single says that a slot has one value at most. Then lone are the slots whose
	// value nobody else has, and shared the values of all others by text: many a
	// fleet has a namespace for each application, and a cost for each value would be
	// one for each application.
	single bool
	lone   bitmap
	shared []*value
	// changes counts: what was computed from the dimension is good while it
	// stays the same.
	changes uint64
	top     atomic.Pointer[top]
	terms   *terms
}

// newDimension makes one. Its texts are searched if there are terms.
func newDimension(single bool, terms *terms) *dimension {
	return &dimension{values: map[string]*value{}, single: single, terms: terms}
}

// add notes that a slot has a value, which it did not have before; own says that
// the value is the name of the application, by which it is found anyway.
func (d *dimension) add(text string, slot uint32, own bool) *value {
	v := d.values[text]
	if v == nil {
		v = d.make(text)
	}
	v.slots.add(slot)
	d.changes++
	if !own {
		if v.named++; v.named == 1 && d.terms != nil {
			d.terms.add(v)
		}
	}
	switch {
	case !d.single && v.slots.n == 1:
		d.share(v)
	case d.single && v.slots.n == 1:
		d.lone = d.lone.with(slot)
	case d.single && v.slots.n == 2:
		v.slots.each(func(slot uint32) bool {
			if d.lone.has(slot) {
				d.lone.drop(slot)
			}
			return true
		})
		d.share(v)
	}
	return v
}

func (d *dimension) make(text string) *value {
	v := &value{text: text, lower: strings.ToLower(text)}
	if n := len(d.free); n > 0 {
		v.id, d.free = d.free[n-1], d.free[:n-1]
		d.byID[v.id] = v
	} else {
		v.id = uint32(len(d.byID))
		d.byID = append(d.byID, v)
	}
	d.values[text] = v
	return v
}

// drop notes that a slot has a value no more. A value that nobody has is
// forgotten.
func (d *dimension) drop(v *value, slot uint32, own bool) {
	d.changes++
	v.slots.remove(slot)
	if !own {
		if v.named--; v.named == 0 && d.terms != nil {
			d.terms.remove(v)
		}
	}
	switch {
	case d.single && v.slots.n == 1:
		v.slots.each(func(slot uint32) bool {
			d.lone = d.lone.with(slot)
			return true
		})
		d.unshare(v)
	case d.single && v.slots.n == 0:
		d.lone.drop(slot)
	case v.slots.n == 0:
		d.unshare(v)
	}
	if v.slots.n > 0 {
		return
	}
	delete(d.values, v.text)
	d.byID[v.id] = nil
	d.free = append(d.free, v.id)
}

func (d *dimension) share(v *value) {
	at, _ := slices.BinarySearchFunc(d.shared, v.text, compareValue)
	d.shared = slices.Insert(d.shared, at, v)
}

func (d *dimension) unshare(v *value) {
	if at, found := slices.BinarySearchFunc(d.shared, v.text, compareValue); found {
		d.shared = slices.Delete(d.shared, at, at+1)
	}
}

func compareValue(v *value, text string) int { return strings.Compare(v.text, text) }

// any are the slots that have one of the values.
func (d *dimension) any(slots int, texts ...string) bitmap {
	b := newBitmap(slots)
	for _, text := range texts {
		if v := d.values[text]; v != nil {
			v.slots.into(b)
		}
	}
	return b
}

func newBitmap(slots int) bitmap { return make(bitmap, (slots+63)/64) }

// terms are the texts that a search looks through, besides the names.
type terms struct {
	grams grams
	byID  []*value
	free  []uint32
}

func (t *terms) add(v *value) {
	if n := len(t.free); n > 0 {
		v.term, t.free = t.free[n-1], t.free[:n-1]
		t.byID[v.term] = v
	} else {
		v.term = uint32(len(t.byID))
		t.byID = append(t.byID, v)
	}
	t.grams.add(v.term, v.lower)
}

func (t *terms) remove(v *value) {
	t.grams.remove(v.term, v.lower)
	t.byID[v.term] = nil
	t.free = append(t.free, v.term)
}

// find adds the slots to a bitmap whose terms contain a word.
func (t *terms) find(word string, into bitmap) {
	t.grams.each(word, func(id uint32, sure bool) {
		v := t.byID[id]
		if sure || strings.Contains(v.lower, word) {
			v.slots.into(into)
		}
	})
}
