package catalog

import (
	"cmp"
	"slices"
)

// grams finds texts by what they contain: it knows for every one, two and
// three bytes in a row which texts have them. Texts are in lower case.
type grams struct{ sets map[uint32]*set }

// most is the length of the longest run that is known.
const most = 3

// gram is a run of bytes as a number; the highest byte tells runs of different
// lengths apart.
func gram(run string) uint32 {
	g := uint32(len(run)) << 24
	for i := range len(run) {
		g |= uint32(run[i]) << (8 * i)
	}
	return g
}

// runs tells of all runs of a text; one may come several times.
func runs(text string, yield func(uint32)) {
	for length := 1; length <= most; length++ {
		for i := 0; i+length <= len(text); i++ {
			yield(gram(text[i : i+length]))
		}
	}
}

func (g *grams) add(id uint32, text string) {
	if g.sets == nil {
		g.sets = map[uint32]*set{}
	}
	runs(text, func(run uint32) {
		s := g.sets[run]
		if s == nil {
			s = &set{}
			g.sets[run] = s
		}
		s.add(id)
	})
}

func (g *grams) remove(id uint32, text string) {
	runs(text, func(run uint32) {
		s := g.sets[run]
		if s == nil {
			return
		}
		if s.remove(id); s.n == 0 {
			delete(g.sets, run)
		}
	})
}

// each tells of the texts that may contain a word. It is sure of a short one; a
// longer one the caller must look for.
func (g *grams) each(word string, yield func(id uint32, sure bool)) {
	if len(word) <= most {
		if s := g.sets[gram(word)]; s != nil {
			s.each(func(id uint32) bool { yield(id, true); return true })
		}
		return
	}
	var found []*set
	for i := 0; i+most <= len(word); i++ {
		s := g.sets[gram(word[i:i+most])]
		if s == nil {
			return
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *set) int { return cmp.Compare(a.n, b.n) })
	first, rest := found[0], found[1:]
	if first.dense != nil {
		both := slices.Clone(first.dense)
		for _, s := range rest {
			if s.dense != nil {
				both.and(s.dense)
			}
		}
		both.each(func(id uint32) bool { yield(id, false); return true })
		return
	}
	first.each(func(id uint32) bool {
		for _, s := range rest {
			// A look into a list costs as much as a look at the text.
			if s.dense != nil && !s.dense.has(id) {
				return true
			}
		}
		yield(id, false)
		return true
	})
}
