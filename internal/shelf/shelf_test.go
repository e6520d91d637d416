package shelf_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/shelf"
)

func open(t *testing.T, dir string, most int64) *shelf.Shelf {
	t.Helper()
	s, err := shelf.Open(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func has(t *testing.T, s *shelf.Shelf, key, want string) {
	t.Helper()
	got, ok := s.Load(key)
	if ok != (want != "") || string(got) != want {
		t.Errorf("%q is %.40q, %v; want %.40q", key, got, ok, want)
	}
}

// pieces are the files of a shelf, without its key.
func pieces(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		if filepath.Base(path) != "shelf.key" {
			out = append(out, path)
		}
	}
	return out
}

func TestKeepsForTheNextProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	has(t, s, "a", "")
	s.Keep("a", []byte("one"))
	s.Keep("b", []byte("two"))
	s.Keep("a", []byte("three"))
	has(t, s, "a", "three")
	next := open(t, dir, 1<<20)
	has(t, next, "a", "three")
	has(t, next, "b", "two")
	if n := len(pieces(t, dir)); n != 2 {
		t.Errorf("%d files are kept", n)
	}
}

// What anybody else changed is not returned: bytes flipped, a file under the
// name of another, another key, a link, half a file.
func TestBelievesOnlyItself(t *testing.T) {
	tests := map[string]func(t *testing.T, dir string, files []string){
		"a flipped byte": func(t *testing.T, _ string, files []string) {
			for _, path := range files {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				data[len(data)/2] ^= 1
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"swapped files": func(t *testing.T, dir string, files []string) {
			for _, move := range [][2]string{{files[0], filepath.Join(dir, "x")}, {files[1], files[0]}, {filepath.Join(dir, "x"), files[1]}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		},
		"half a file": func(t *testing.T, _ string, files []string) {
			for _, path := range files {
				if err := os.Truncate(path, 5); err != nil {
					t.Fatal(err)
				}
			}
		},
		"another key": func(t *testing.T, dir string, _ []string) {
			if err := os.WriteFile(filepath.Join(dir, "shelf.key"), bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"links": func(t *testing.T, dir string, files []string) {
			for i, path := range files {
				aside := filepath.Join(t.TempDir(), fmt.Sprint(i))
				if err := os.Rename(path, aside); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(aside, path); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 1<<20)
			s.Keep("a", []byte("one"))
			s.Keep("b", []byte("two"))
			spoil(t, dir, pieces(t, dir))
			next := open(t, dir, 1<<20)
			has(t, next, "a", "")
			has(t, next, "b", "")
			next.Keep("a", []byte("again"))
			has(t, next, "a", "again")
		})
	}
}

// TestStaysWithinItsBounds: what was not used for longest goes first.
func TestStaysWithinItsBounds(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 50_000)
	random := func(n int) []byte {
		data := make([]byte, n)
		_, _ = rand.Read(data)
		return data
	}
	first := random(5000)
	s.Keep("first", first)
	for i := range 30 {
		s.Keep(fmt.Sprint(i), random(5000))
		has(t, s, "first", string(first))
		// File times may be coarse.
		old := time.Now().Add(time.Duration(i-100) * time.Second)
		for _, path := range pieces(t, dir) {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < time.Second {
				_ = os.Chtimes(path, old, old)
			}
		}
	}
	var size int64
	for _, path := range pieces(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 50_000 || size < 30_000 {
		t.Errorf("%d bytes are kept", size)
	}
	has(t, s, "0", "")
	s.Keep("too large", random(25_000))
	has(t, s, "too large", "")
	if smaller := open(t, dir, 10_000); len(pieces(t, dir)) > 2 {
		t.Errorf("%v: %d pieces fit", smaller, len(pieces(t, dir)))
	}
}

func TestSweepsWhatIsNoPiece(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x-1.new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, 1000)
	if left := pieces(t, dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
