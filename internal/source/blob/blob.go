// Package blob keeps bytes on disk under the digest of their content, within a quota. What is read is held against its
// name again, so that nobody who can write to the disk can change what others get. It must not know what the bytes are.
package blob

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Store is a folder of blobs. Each is in a scope: who knows the digest of something is not given it for that, unless it
// came from the same place.
type Store struct {
	dir   string
	quota int64

	mu    sync.Mutex
	used  int64
	turn  int64 // counts uses
	blobs map[id]*blob
}

type id struct{ scope, digest string }

type blob struct{ size, turn int64 }

var (
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	scopeForm  = regexp.MustCompile(`^[0-9a-f]{16,64}$`)
)

// Open uses the folder, removes what an interrupted write left there, and keeps to the quota.
func Open(dir string, quota int64) (*Store, error) {
	s := &Store{dir: dir, quota: quota, blobs: map[id]*blob{}}
	if err := os.RemoveAll(s.scratch()); err != nil {
		return nil, fmt.Errorf("sweeping the store of charts: %w", err)
	}
	if err := os.MkdirAll(s.scratch(), 0o700); err != nil {
		return nil, fmt.Errorf("making the store of charts: %w", err)
	}
	if err := s.list(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink(id{})
	return s, nil
}

func (s *Store) scratch() string { return filepath.Join(s.dir, "partial") }

func (s *Store) path(of id) string { return filepath.Join(s.dir, "blobs", of.scope, of.digest) }

// list finds what is there, the longest unused first; what does not belong there is removed.
func (s *Store) list() error {
	type found struct {
		id   id
		info fs.FileInfo
	}
	var all []found
	root := filepath.Join(s.dir, "blobs")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		of := id{scope: filepath.Base(filepath.Dir(path)), digest: entry.Name()}
		info, err := entry.Info()
		if err != nil || path != s.path(of) || !of.valid() || !entry.Type().IsRegular() {
			return os.Remove(path)
		}
		all = append(all, found{id: of, info: info})
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the store of charts: %w", err)
	}
	slices.SortFunc(all, func(a, b found) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for _, f := range all {
		s.turn++
		s.used += f.info.Size()
		s.blobs[f.id] = &blob{size: f.info.Size(), turn: s.turn}
	}
	return nil
}

func (i id) valid() bool { return scopeForm.MatchString(i.scope) && digestForm.MatchString(i.digest) }

// Put stores what is read, up to a limit, and returns its digest. A digest that was expected and is not met is a
// Terminal fault with the reason DigestMismatch, and then nothing is kept.
func (s *Store) Put(scope, expected string, from io.Reader, limit int64) (digest string, err error) {
	if !scopeForm.MatchString(scope) || expected != "" && !digestForm.MatchString(expected) {
		return "", fault.Terminalf("DigestRefused", "%q is not a digest of SHA-256", expected)
	}
	temporary, err := os.OpenFile(filepath.Join(s.scratch(), rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fault.Transientf("StoreFailed", "storing a download: %w", err)
	}
	// After the rename there is nothing of that name.
	defer os.Remove(temporary.Name()) //nolint:errcheck // the next start sweeps it
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(temporary, hash), io.LimitReader(from, limit+1))
	if err == nil && size <= limit {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return "", fault.Transientf("StoreFailed", "storing a download: %w", err)
	}
	if size > limit {
		return "", fault.Terminalf("TooLarge", "it is longer than %d bytes, which is the limit", limit)
	}
	of := id{scope: scope, digest: hex.EncodeToString(hash.Sum(nil))}
	if expected != "" && of.digest != expected {
		return "", fault.Terminalf("DigestMismatch", "its SHA-256 is %s, and %s was promised", of.digest, expected)
	}
	if err := s.keep(of, temporary.Name(), size); err != nil {
		return "", fault.Transientf("StoreFailed", "storing a download: %w", err)
	}
	return of.digest, nil
}

// keep gives a finished file its name.
func (s *Store) keep(of id, temporary string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := filepath.Dir(s.path(of))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Rename(temporary, s.path(of)); err != nil {
		return err
	}
	if err := syncFolder(folder); err != nil {
		return err
	}
	if old := s.blobs[of]; old != nil {
		s.used -= old.size
	}
	s.turn++
	s.used += size
	s.blobs[of] = &blob{size: size, turn: s.turn}
	s.shrink(of)
	return nil
}

func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// shrink removes what was not used for longest until the quota is kept; the caller holds the mutex.
func (s *Store) shrink(except id) {
	for s.used > s.quota {
		var oldest id
		for of, b := range s.blobs {
			if of != except && (oldest == id{} || b.turn < s.blobs[oldest].turn) {
				oldest = of
			}
		}
		if (oldest == id{}) {
			return
		}
		s.drop(oldest)
	}
}

// drop forgets a blob; the caller holds the mutex.
func (s *Store) drop(of id) {
	if known := s.blobs[of]; known != nil {
		s.used -= known.size
		delete(s.blobs, of)
	}
	_ = os.Remove(s.path(of)) // what stays is found, and removed or used, at the next start
}

// Has reports whether the blob is there.
func (s *Store) Has(scope, digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blobs[id{scope, digest}] != nil
}

// Get returns a blob; fs.ErrNotExist says that it is not there. One that is not what its name says is removed.
func (s *Store) Get(scope, digest string) ([]byte, error) {
	of := id{scope, digest}
	s.mu.Lock()
	known := s.blobs[of]
	if known == nil {
		s.mu.Unlock()
		return nil, fs.ErrNotExist
	}
	s.turn++
	known.turn = s.turn
	size := known.size
	s.mu.Unlock()

	data, err := readExactly(s.path(of), size)
	if err == nil {
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) == digest {
			return data, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(of)
	return nil, fs.ErrNotExist
}

// readExactly reads a file that has a known size, however large it has become.
func readExactly(name string, size int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var data bytes.Buffer
	data.Grow(int(size))
	if _, err := io.Copy(&data, io.LimitReader(file, size+1)); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// Used is how many bytes are stored.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
