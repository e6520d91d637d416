package catalog

import (
	"math/bits"
	"slices"
)

// bitmap has a bit for each slot. Bits past its end are unset.
type bitmap []uint64

func (b bitmap) has(i uint32) bool {
	w := int(i >> 6)
	return w < len(b) && b[w]&(1<<(i&63)) != 0
}

// put sets a bit within the length of the bitmap.
func (b bitmap) put(i uint32) { b[i>>6] |= 1 << (i & 63) }

func (b bitmap) drop(i uint32) { b[i>>6] &^= 1 << (i & 63) }

// with is the bitmap with a bit set, grown if it must be.
func (b bitmap) with(i uint32) bitmap {
	for int(i>>6) >= len(b) {
		b = append(b, 0)
	}
	b.put(i)
	return b
}

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// and keeps what is in the other too.
func (b bitmap) and(other bitmap) {
	n := min(len(b), len(other))
	for i := range n {
		b[i] &= other[i]
	}
	clear(b[n:])
}

// andNot takes away what is in the other.
func (b bitmap) andNot(other bitmap) {
	for i := range min(len(b), len(other)) {
		b[i] &^= other[i]
	}
}

// or adds what is in the other, which is not longer.
func (b bitmap) or(other bitmap) {
	for i, w := range other {
		b[i] |= w
	}
}

// each tells of every bit that is set, in order, until it is told to stop.
func (b bitmap) each(yield func(uint32) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(uint32(i)<<6 | uint32(bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// set is a set of slots: a sorted list while it has few of them, and a bitmap
// when that takes less room. Most values of an installation belong to few
// applications and some to nearly all.
type set struct {
	n      int
	sparse []uint32
	dense  bitmap
}

// smallest is how many slots are always kept as a list.
const smallest = 64

func (s *set) has(i uint32) bool {
	if s.dense != nil {
		return s.dense.has(i)
	}
	_, found := slices.BinarySearch(s.sparse, i)
	return found
}

func (s *set) add(i uint32) {
	if s.dense != nil {
		if !s.dense.has(i) {
			s.dense = s.dense.with(i)
			s.n++
		}
		return
	}
	at, found := slices.BinarySearch(s.sparse, i)
	if found {
		return
	}
	s.sparse = slices.Insert(s.sparse, at, i)
	s.n++
	last := s.sparse[len(s.sparse)-1]
	// A slot takes four bytes of a list, and 64 of them eight bytes of a bitmap.
	if s.n > smallest && s.n > 2*(int(last>>6)+1) {
		dense := make(bitmap, last>>6+1)
		for _, slot := range s.sparse {
			dense.put(slot)
		}
		s.dense, s.sparse = dense, nil
	}
}

func (s *set) remove(i uint32) {
	if s.dense == nil {
		if at, found := slices.BinarySearch(s.sparse, i); found {
			s.sparse = slices.Delete(s.sparse, at, at+1)
			s.n--
		}
		return
	}
	if !s.dense.has(i) {
		return
	}
	s.dense.drop(i)
	s.n--
	// A wide gap to the other border, so that nothing goes back and forth.
	if s.n < smallest/2 || s.n < len(s.dense)/2 {
		s.sparse = make([]uint32, 0, s.n)
		s.dense.each(func(slot uint32) bool {
			s.sparse = append(s.sparse, slot)
			return true
		})
		s.dense = nil
	}
}

// each tells of every slot, in order, until it is told to stop.
func (s *set) each(yield func(uint32) bool) {
	if s.dense != nil {
		s.dense.each(yield)
		return
	}
	for _, i := range s.sparse {
		if !yield(i) {
			return
		}
	}
}

// into adds the slots to a bitmap that is long enough.
func (s *set) into(b bitmap) {
	if s.dense != nil {
		b.or(s.dense)
		return
	}
	for _, i := range s.sparse {
		b.put(i)
	}
}

// within counts the slots that are in a bitmap too.
func (s *set) within(b bitmap) int {
	n := 0
	if s.dense != nil {
		for i := range min(len(b), len(s.dense)) {
			n += bits.OnesCount64(b[i] & s.dense[i])
		}
		return n
	}
	for _, i := range s.sparse {
		if b.has(i) {
			n++
		}
	}
	return n
}
