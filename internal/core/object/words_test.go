package object_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/core/object"
)

func TestWordsStayApart(t *testing.T) {
	seen := map[object.Digest]string{}
	for name, words := range map[string]func(*object.Words){
		"nothing":           func(*object.Words) {},
		"an empty word":     func(w *object.Words) { w.Add("") },
		"one word":          func(w *object.Words) { w.Add("abc") },
		"cut here":          func(w *object.Words) { w.Add("a", "bc") },
		"cut there":         func(w *object.Words) { w.Add("ab", "c") },
		"in one list":       func(w *object.Words) { w.List([]string{"a", "b"}) },
		"in two lists":      func(w *object.Words) { w.List([]string{"a"}); w.List([]string{"b"}) },
		"in another of two": func(w *object.Words) { w.List(nil); w.List([]string{"a", "b"}) },
	} {
		var w object.Words
		words(&w)
		if other, twice := seen[w.Digest()]; twice {
			t.Errorf("%s has the name of %s", name, other)
		}
		seen[w.Digest()] = name
	}
}
