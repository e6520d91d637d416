package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A set is the same set, whether it is kept as a list or as bits.
func TestSetAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s set
		model := map[uint32]bool{}
		// A low bound makes it dense, a high one keeps it sparse.
		bound := rapid.SampledFrom([]uint32{100, 1000, 20_000}).Draw(t, "bound")
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			from := rapid.Uint32Range(0, bound).Draw(t, "from")
			step := rapid.Uint32Range(1, 5).Draw(t, "step")
			remove := rapid.Bool().Draw(t, "remove")
			for i := range uint32(50) {
				slot := from + i*step
				if remove {
					s.remove(slot)
					delete(model, slot)
				} else {
					s.add(slot)
					model[slot] = true
				}
			}
		}
		want := slices.Sorted(maps.Keys(model))
		var got []uint32
		s.each(func(i uint32) bool { got = append(got, i); return true })
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if s.n != len(model) {
			t.Fatalf("it has %d, and says %d", len(model), s.n)
		}
		mask := newBitmap(int(bound) + 1000)
		within := 0
		for i := range bound {
			if i%3 == 0 {
				mask.put(i)
				if model[i] {
					within++
				}
			}
		}
		if n := s.within(mask); n != within {
			t.Fatalf("%d are in the mask, want %d", n, within)
		}
		for i := range bound {
			if s.has(i) != model[i] {
				t.Fatalf("has(%d) = %v", i, s.has(i))
			}
		}
	})
}

func TestOrderAgainstASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := order{compare: func(a, b uint32) int { return cmp.Compare(b, a) }} // downwards, to be another than the numbers
		var model []uint32
		next := uint32(0)
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			start := rapid.Uint32Range(0, 5000).Draw(t, "start")
			remove := rapid.Bool().Draw(t, "remove")
			for i := range uint32(200) {
				slot := (start + i*7) % 5000
				at := slices.Index(model, slot)
				switch {
				case remove && at >= 0:
					o.remove(slot)
					model = slices.Delete(model, at, at+1)
				case !remove && at < 0:
					o.insert(slot)
					model = append(model, slot)
				}
			}
			next = start
		}
		slices.SortFunc(model, o.compare)
		var got []uint32
		o.from(nil, func(s uint32) bool { got = append(got, s); return true })
		if !slices.Equal(model, got) {
			t.Fatalf("forwards: %d slots, want %d: %v", len(got), len(model), gocmp.Diff(model, got))
		}
		every := newBitmap(5000)
		for s := range uint32(5000) {
			every.put(s)
		}
		got = o.takeBack(nil, every, 10_000)
		slices.Reverse(got)
		if !slices.Equal(model, got) {
			t.Fatal("backwards it is another")
		}
		past := func(s uint32) bool { return s <= next }
		var after, before []uint32
		for _, s := range model {
			if past(s) {
				after = append(after, s)
			} else {
				before = append(before, s)
			}
		}
		got = o.take(past, every, 10_000)
		if !slices.Equal(after, got) {
			t.Fatal("from a place on it is another")
		}
		if some := o.take(past, every, 3); !slices.Equal(after[:min(3, len(after))], some) {
			t.Fatal("it took more or other than it should")
		}
		got = o.takeBack(past, every, 10_000)
		slices.Reverse(got)
		if !slices.Equal(before, got) {
			t.Fatal("backwards from a place it is another")
		}
	})
}

func TestGramsFindWhatContains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[ab\-1]{0,9}`), 0, 200).Draw(t, "texts")
		gone := rapid.IntRange(0, 5).Draw(t, "gone")
		word := rapid.StringMatching(`[ab\-1]{1,6}`).Draw(t, "word")
		var g grams
		for i, text := range texts {
			g.add(uint32(i), text)
		}
		var want, got []uint32
		for i, text := range texts {
			if i < gone {
				g.remove(uint32(i), text)
			} else if strings.Contains(text, word) {
				want = append(want, uint32(i))
			}
		}
		g.each(word, func(id uint32, sure bool) {
			has := strings.Contains(texts[id], word)
			if sure && !has {
				t.Fatalf("it is sure that %q contains %q", texts[id], word)
			}
			if has {
				got = append(got, id)
			}
		})
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatal(gocmp.Diff(want, got))
		}
	})
}
