package pairs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/pairs"
)

func pair(name string, n byte) diff.Pair {
	return diff.Pair{Key: object.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}, Desired: object.Digest{n}, Live: object.Digest{0, n}}
}

func open(t *testing.T, dir string) *pairs.Store {
	t.Helper()
	s, err := pairs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// here is the scope of most pairs.
const here = "cluster 1.36"

func load(s *pairs.Store, app string) []diff.Pair {
	out := s.Load(app, here)
	slices.SortFunc(out, func(a, b diff.Pair) int { return object.Compare(a.Key, b.Key) })
	return out
}

func keep(t *testing.T, s *pairs.Store, app string, p ...diff.Pair) {
	t.Helper()
	if err := s.Keep(app, here, p); err != nil {
		t.Fatal(err)
	}
}

func TestRestartKnowsWhatWasConfirmed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, "shop", pair("a", 1), pair("b", 2))
	keep(t, s, "shop", pair("a", 3))
	keep(t, s, "cart", pair("c", 4))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if d := cmp.Diff([]diff.Pair{pair("a", 3), pair("b", 2)}, load(again, "shop")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := len(again.Load("shop", "cluster 1.37")); n != 0 {
		t.Errorf("%d pairs of another version count", n)
	}
}

func TestWhatSomebodyElseWroteDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, "shop", pair("a", 1), pair("b", 2))
	_ = s.Close()
	path := filepath.Join(dir, "pairs.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(raw, []byte(`"Name":"a"`), []byte(`"Name":"z"`), 1)
	if bytes.Equal(raw, forged) {
		t.Fatalf("there is nothing to forge in %s", raw)
	}
	// The last line is torn as a crash would tear it.
	if err := os.WriteFile(path, append(forged, []byte(`{"app":"shop","ke`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	got := load(open(t, dir), "shop")
	if len(got) != 1 || got[0] != pair("b", 2) {
		t.Errorf("got %v, want only b", got)
	}
}

func TestLogDoesNotGrowWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 5000 {
		keep(t, s, "shop", pair("a", byte(i)), pair("a", byte(i)))
	}
	_ = s.Close()
	raw, err := os.ReadFile(filepath.Join(dir, "pairs.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(raw, []byte("\n")); n > 1001 {
		t.Errorf("the log has %d lines for one pair", n)
	}
	if d := cmp.Diff([]diff.Pair{pair("a", byte(4999%256))}, load(open(t, dir), "shop")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func seen(n byte) object.Seen {
	return object.Seen{Sum: object.Digest{n}, Revisions: []string{"c1", string('a' + rune(n))}, APIs: "apis"}
}

// TestRestartKnowsTheMarks: the last one counts, and none after it was taken
// back; what is added to the log of another process is read after it.
func TestRestartKnowsTheMarks(t *testing.T) {
	dir := t.TempDir()
	for n := range byte(3) {
		s := open(t, dir)
		if mark, ok := s.Mark("shop"); ok != (n > 0) || ok && !mark.Equal(seen(n)) {
			t.Errorf("start %d: %v, %v", n, mark, ok)
		}
		keep(t, s, "shop", pair("a", n))
		for _, app := range []string{"shop", "cart"} {
			if err := s.SetMark(app, seen(n+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SetMark("cart", object.Seen{}); err != nil {
			t.Fatal(err)
		}
		if mark, ok := s.Mark("cart"); ok {
			t.Errorf("start %d: a mark that was taken back is %v", n, mark)
		}
		_ = s.Close()
	}
	s := open(t, dir)
	if mark, ok := s.Mark("cart"); ok {
		t.Errorf("a mark that was taken back is %v", mark)
	}
	if d := cmp.Diff([]diff.Pair{pair("a", 2)}, load(s, "shop")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s.Drop("shop")
	if mark, ok := s.Mark("shop"); ok {
		t.Errorf("the mark of one that is gone is %v", mark)
	}
}

// TestATornLineTakesNothingAlong: what is written after a crash is read.
func TestATornLineTakesNothingAlong(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, "shop", pair("a", 1))
	_ = s.Close()
	path := filepath.Join(dir, "pairs.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(raw, []byte(`{"app":"shop","ke`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	keep(t, s, "shop", pair("b", 2))
	_ = s.Close()
	if d := cmp.Diff([]diff.Pair{pair("a", 1), pair("b", 2)}, load(open(t, dir), "shop")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDrop(t *testing.T) {
	s := open(t, t.TempDir())
	keep(t, s, "shop", pair("a", 1))
	s.Drop("shop")
	if n := len(load(s, "shop")); n != 0 {
		t.Errorf("%d pairs are left", n)
	}
}

// TestAnApplicationIsInOneCluster: what another cluster confirmed says nothing
// of this one, and is not kept once the application has moved.
func TestAnApplicationIsInOneCluster(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, "shop", pair("a", 1), pair("b", 2))
	if err := s.Keep("shop", "other 1.36", []diff.Pair{pair("a", 1)}); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	s = open(t, dir)
	if n := len(load(s, "shop")); n != 0 {
		t.Errorf("%d pairs of the first cluster count", n)
	}
	if d := cmp.Diff([]diff.Pair{pair("a", 1)}, s.Load("shop", "other 1.36")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
