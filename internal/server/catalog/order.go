package catalog

import "slices"

// order keeps slots sorted, in pieces that are short enough to move about. A
// change costs a search and the moving of one piece, and a walk reads memory in
// a row.
type order struct {
	compare func(a, b uint32) int
	pieces  [][]uint32
}

// piece is the length at which a piece is cut in two.
const piece = 512

// find returns where a slot is, or belongs: the first place whose slot is not
// before it.
func (o *order) find(slot uint32) (at, in int) {
	at, _ = slices.BinarySearchFunc(o.pieces, slot, func(p []uint32, slot uint32) int {
		return o.compare(p[len(p)-1], slot)
	})
	if at == len(o.pieces) {
		return at, 0
	}
	in, _ = slices.BinarySearchFunc(o.pieces[at], slot, o.compare)
	return at, in
}

func (o *order) insert(slot uint32) {
	if len(o.pieces) == 0 {
		o.pieces = append(o.pieces, append(make([]uint32, 0, piece), slot))
		return
	}
	at, in := o.find(slot)
	if at == len(o.pieces) {
		at--
		in = len(o.pieces[at])
	}
	p := slices.Insert(o.pieces[at], in, slot)
	if len(p) < piece {
		o.pieces[at] = p
		return
	}
	// What comes in order leaves full pieces behind.
	half := len(p) / 2
	if at == len(o.pieces)-1 && in == len(p)-1 {
		half = len(p) - 1
	}
	o.pieces[at] = p[:half:half]
	o.pieces = slices.Insert(o.pieces, at+1, append(make([]uint32, 0, piece), p[half:]...))
}

func (o *order) remove(slot uint32) {
	at, in := o.find(slot)
	if at == len(o.pieces) || in == len(o.pieces[at]) || o.pieces[at][in] != slot {
		return
	}
	if p := slices.Delete(o.pieces[at], in, in+1); len(p) > 0 {
		o.pieces[at] = p
		return
	}
	o.pieces = slices.Delete(o.pieces, at, at+1)
}

// from walks on from the first slot for which past is true; for all after it
// past is true as well. A nil past means all.
func (o *order) from(past func(uint32) bool, yield func(uint32) bool) {
	at, in := o.seek(past)
	for ; at < len(o.pieces); at, in = at+1, 0 {
		for _, slot := range o.pieces[at][in:] {
			if !yield(slot) {
				return
			}
		}
	}
}

// take walks as from does, and takes what is in a bitmap until it has enough.
func (o *order) take(past func(uint32) bool, of bitmap, want int) []uint32 {
	out := make([]uint32, 0, want)
	at, in := o.seek(past)
	for ; at < len(o.pieces); at, in = at+1, 0 {
		for _, slot := range o.pieces[at][in:] {
			if !of.has(slot) {
				continue
			}
			if out = append(out, slot); len(out) == want {
				return out
			}
		}
	}
	return out
}

// takeBack is the same backwards, from the last slot for which past is false.
func (o *order) takeBack(past func(uint32) bool, of bitmap, want int) []uint32 {
	out := make([]uint32, 0, want)
	at, in := len(o.pieces), 0
	if past != nil {
		at, in = o.seek(past)
	}
	for ; at >= 0; at-- {
		if at < len(o.pieces) {
			for _, slot := range slices.Backward(o.pieces[at][:in]) {
				if !of.has(slot) {
					continue
				}
				if out = append(out, slot); len(out) == want {
					return out
				}
			}
		}
		if at > 0 {
			in = len(o.pieces[at-1])
		}
	}
	return out
}

// seek returns the first place for which past is true.
func (o *order) seek(past func(uint32) bool) (at, in int) {
	if past == nil {
		return 0, 0
	}
	before := func(slot uint32) int {
		if past(slot) {
			return 1
		}
		return -1
	}
	at, _ = slices.BinarySearchFunc(o.pieces, 0, func(p []uint32, _ int) int { return before(p[len(p)-1]) })
	if at == len(o.pieces) {
		return at, 0
	}
	in, _ = slices.BinarySearchFunc(o.pieces[at], 0, func(slot uint32, _ int) int { return before(slot) })
	return at, in
}
