package shelf_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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

// volumes are the files of a shelf, without its key.
func volumes(t *testing.T, dir string) []string {
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
	if n := len(volumes(t, dir)); n != 1 {
		t.Errorf("%d files are kept", n)
	}
	next.Keep("c", []byte("four"))
	again := open(t, dir, 1<<20)
	has(t, again, "a", "three")
	has(t, again, "c", "four")
}

// sealed are the sealed parts of two pieces of the same size in one volume.
func sealed(data []byte) (first, second []byte) {
	const header = 20
	half := len(data) / 2
	return data[header:half], data[half+header:]
}

// change writes a volume anew.
func change(t *testing.T, path string, how func(data []byte)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	how(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What anybody else changed is not returned: bytes flipped, a piece under the
// name of another, another key, a link, half a file.
func TestBelievesOnlyItself(t *testing.T) {
	tests := map[string]func(t *testing.T, dir, volume string){
		"a flipped byte": func(t *testing.T, _, volume string) {
			change(t, volume, func(data []byte) {
				a, b := sealed(data)
				a[len(a)/2] ^= 1
				b[len(b)-1] ^= 1
			})
		},
		"swapped pieces": func(t *testing.T, _, volume string) {
			change(t, volume, func(data []byte) {
				a, b := sealed(data)
				first := bytes.Clone(a)
				copy(a, b)
				copy(b, first)
			})
		},
		"other names": func(t *testing.T, _, volume string) {
			change(t, volume, func(data []byte) { data[3] ^= 1; data[len(data)/2+3] ^= 1 })
		},
		"a size that is none": func(t *testing.T, _, volume string) {
			change(t, volume, func(data []byte) { copy(data[16:], []byte{0xff, 0xff, 0xff, 0xff}) })
		},
		"nothing but zeros": func(t *testing.T, _, volume string) { change(t, volume, func(data []byte) { clear(data) }) },
		"half a file": func(t *testing.T, _, volume string) {
			if err := os.Truncate(volume, 5); err != nil {
				t.Fatal(err)
			}
		},
		"another key": func(t *testing.T, dir, _ string) {
			if err := os.WriteFile(filepath.Join(dir, "shelf.key"), bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a link": func(t *testing.T, _, volume string) {
			aside := filepath.Join(t.TempDir(), "aside")
			if err := os.Rename(volume, aside); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(aside, volume); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 1<<20)
			s.Keep("a", []byte("one"))
			s.Keep("b", []byte("two"))
			spoil(t, dir, volumes(t, dir)[0])
			next := open(t, dir, 1<<20)
			has(t, next, "a", "")
			has(t, next, "b", "")
			next.Keep("a", []byte("again"))
			has(t, next, "a", "again")
		})
	}
}

// TestACutOffPiece: what was written before it is there.
func TestACutOffPiece(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	s.Keep("a", []byte("one"))
	s.Keep("b", []byte("two"))
	volume := volumes(t, dir)[0]
	info, err := os.Stat(volume)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(volume, info.Size()-3); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, 1<<20)
	has(t, next, "a", "one")
	has(t, next, "b", "")
}

// TestTwoAtOnce: they do not write over each other.
func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	one, other := open(t, dir, 1<<20), open(t, dir, 1<<20)
	for i := range 10 {
		one.Keep(fmt.Sprint("one ", i), []byte("1"))
		other.Keep(fmt.Sprint("other ", i), []byte("2"))
	}
	next := open(t, dir, 1<<20)
	for i := range 10 {
		has(t, next, fmt.Sprint("one ", i), "1")
		has(t, next, fmt.Sprint("other ", i), "2")
	}
}

// TestStaysWithinItsBounds: what is used stays, and of the rest what is newest.
func TestStaysWithinItsBounds(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 50_000)
	random := func(n int) []byte {
		data := make([]byte, n)
		_, _ = rand.Read(data)
		return data
	}
	first := random(3000)
	s.Keep("first", first)
	var last []byte
	for i := range 60 {
		last = random(3000)
		s.Keep(fmt.Sprint(i), last)
		has(t, s, "first", string(first))
		if n := size(t, dir); n > 50_000 {
			t.Fatalf("%d bytes are kept", n)
		}
	}
	if n := size(t, dir); n < 30_000 {
		t.Errorf("only %d bytes are kept", n)
	}
	has(t, s, "0", "")
	has(t, s, "59", string(last))
	s.Keep("too large", random(25_000))
	has(t, s, "too large", "")
	smaller := open(t, dir, 10_000)
	if n := size(t, dir); n > 10_000 {
		t.Errorf("%v: %d bytes fit", smaller, n)
	}
	has(t, smaller, "59", string(last))
}

// TestManyShortLives: each process begins a volume, and there is an end to it.
func TestManyShortLives(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		open(t, dir, 1<<20).Keep(fmt.Sprint(i), []byte("life"))
	}
	if n := len(volumes(t, dir)); n > 32 {
		t.Errorf("%d files are kept", n)
	}
	has(t, open(t, dir, 1<<20), "99", "life")
}

func size(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, path := range volumes(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

func TestSweepsWhatIsNoVolume(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x-1.new", "0123456789abcdef0123456789abcdef", "x.pieces"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, 1000)
	if left := volumes(t, dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
