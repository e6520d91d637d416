package blob_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/source/blob"
)

const scope, other = "00000000000000000000000000000001", "00000000000000000000000000000002"

func open(t *testing.T, dir string, quota int64) *blob.Store {
	t.Helper()
	s, err := blob.Open(dir, quota)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *blob.Store, content string) string {
	t.Helper()
	digest, err := s.Put(scope, "", strings.NewReader(content), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestPutAndGet(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	digest := put(t, s, "hello")
	sum := sha256.Sum256([]byte("hello"))
	if digest != hex.EncodeToString(sum[:]) {
		t.Errorf("digest = %s", digest)
	}
	if got, err := s.Get(scope, digest); string(got) != "hello" || err != nil {
		t.Errorf("Get = %q, %v", got, err)
	}
	if _, err := s.Get(other, digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who knows the digest alone gets it: %v", err)
	}
	path := filepath.Join(dir, "blobs", scope, digest)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if got, err := open(t, dir, 1<<20).Get(scope, digest); string(got) != "hello" || err != nil {
		t.Errorf("after a restart Get = %q, %v", got, err)
	}
}

func TestChangedOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	for name, bad := range map[string]string{"other": "hellx", "longer": "hello and more", "empty": ""} {
		digest := put(t, s, "hello")
		path := filepath.Join(dir, "blobs", scope, digest)
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(scope, digest); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Get = %q, %v", name, got, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still there: %v", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	tests := map[string]struct {
		scope, expected string
		from            io.Reader
		reason          string
		class           fault.Class
	}{
		"another digest": {scope, strings.Repeat("0", 64), strings.NewReader("hello"), "DigestMismatch", fault.Terminal},
		"too long":       {scope, "", strings.NewReader(strings.Repeat("x", 101)), "TooLarge", fault.Terminal},
		"no digest":      {scope, "../../x", strings.NewReader("x"), "DigestRefused", fault.Terminal},
		"no scope":       {"../x", "", strings.NewReader("x"), "DigestRefused", fault.Terminal},
		"broken off":     {scope, "", iotest.ErrReader(io.ErrUnexpectedEOF), "StoreFailed", fault.Transient},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Put(tc.scope, tc.expected, tc.from, 100)
			if fault.ReasonOf(err) != tc.reason || fault.ClassOf(err) != tc.class {
				t.Errorf("Put = %v (%s)", err, fault.ReasonOf(err))
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 || err != nil || s.Used() != 0 {
		t.Errorf("something is left behind: %v %v", left, err)
	}
}

func TestQuota(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 25)
	first, second := put(t, s, strings.Repeat("a", 10)), put(t, s, strings.Repeat("b", 10))
	if _, err := s.Get(scope, first); err != nil {
		t.Fatal(err)
	}
	third := put(t, s, strings.Repeat("c", 10))
	if s.Has(scope, second) || !s.Has(scope, first) || !s.Has(scope, third) || s.Used() != 20 {
		t.Errorf("what was not used for longest is not what went: %v %v %v", s.Has(scope, first), s.Has(scope, second), s.Has(scope, third))
	}
	if s := open(t, dir, 15); s.Used() != 10 {
		t.Errorf("a smaller quota at the start leaves %d bytes", s.Used())
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	digest := put(t, s, "hello")
	for _, name := range []string{"partial/leftover", "blobs/" + scope + "/nonsense", "blobs/stray"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, 1<<20)
	var left []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return nil
	})
	if len(left) != 1 || left[0] != digest || !s.Has(scope, digest) {
		t.Errorf("left = %v", left)
	}
}
