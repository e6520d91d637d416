// Package shelf keeps bytes on disk for the next process, by name, up to a
// number of bytes. All of it may be lost at any time, which costs work and
// nothing else; what anybody else changed is never returned, since each piece
// is sealed under its own name. It must not know what it keeps.
package shelf

import (
	"cmp"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Shelf is a folder of sealed files. It is safe for use by many goroutines, and
// for one process.
type Shelf struct {
	dir  string
	most int64
	seal cipher.AEAD

	mu   sync.Mutex
	size int64
	// files has the size of each piece.
	files map[string]int64
}

const (
	keyFile = "shelf.key"
	keySize = 32
	// nameLength is that of the file of a piece.
	nameLength = 32
)

// Open opens the shelf in a folder that it has for itself, and takes off what
// does not fit.
func Open(dir string, most int64) (*Shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the shelf: %w", err)
	}
	key, err := sealKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the seal of the shelf: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("making the seal of the shelf: %w", err)
	}
	s := &Shelf{dir: dir, most: most, seal: seal, files: map[string]int64{}}
	return s, s.sweep()
}

// sealKey reads the key, or makes one.
func sealKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path) //nolint:gosec // the path is ours
	if err == nil && len(key) == keySize {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the key of the shelf: %w", err)
	}
	key = make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key of the shelf: %w", err)
	}
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("writing the key of the shelf: %w", err)
	}
	return key, nil
}

// sweep counts what is there and removes what is no piece.
func (s *Shelf) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("reading the shelf: %w", err)
	}
	for _, e := range entries {
		if e.Name() == keyFile {
			continue
		}
		info, err := e.Info()
		if err != nil || len(e.Name()) != nameLength || !info.Mode().IsRegular() {
			_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
			continue
		}
		s.files[e.Name()] = info.Size()
		s.size += info.Size()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fit()
	return nil
}

// file is the name of a piece on disk: it tells nothing of the key.
func file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:nameLength/2])
}

// Load returns what was kept under a key. What cannot be read as it was written
// is not there.
func (s *Shelf) Load(key string) ([]byte, bool) {
	name := file(key)
	s.mu.Lock()
	_, known := s.files[name]
	s.mu.Unlock()
	if !known {
		return nil, false
	}
	path := filepath.Join(s.dir, name)
	sealed, err := os.ReadFile(path) //nolint:gosec // the name is a digest
	if err != nil {
		return nil, false
	}
	packed, err := s.seal.Open(nil, nil, sealed, []byte(key))
	if err != nil {
		s.remove(name)
		return nil, false
	}
	data, err := unpack(packed)
	if err != nil {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // what is used is kept longer
	return data, true
}

// Keep keeps data under a key, if there is room on the disk and on the shelf.
func (s *Shelf) Keep(key string, data []byte) {
	packed, err := pack(data)
	if err != nil {
		return
	}
	sealed := s.seal.Seal(nil, nil, packed, []byte(key))
	if int64(len(sealed)) > s.most/4 {
		return
	}
	name := file(key)
	// In its place at once: a file that is half written, or was cut short, is not believed.
	if err := os.WriteFile(filepath.Join(s.dir, name), sealed, 0o600); err != nil {
		s.remove(name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += int64(len(sealed)) - s.files[name]
	s.files[name] = int64(len(sealed))
	s.fit()
}

func (s *Shelf) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size -= s.files[name]
	delete(s.files, name)
	_ = os.Remove(filepath.Join(s.dir, name))
}

// fit takes off what was not used for longest, down to nine tenths, so that it
// is not done for each piece; the caller holds the mutex.
func (s *Shelf) fit() {
	if s.size <= s.most {
		return
	}
	type aged struct {
		name string
		used time.Time
	}
	var all []aged
	for name := range s.files {
		a := aged{name: name}
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			a.used = info.ModTime()
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, a := range all {
		if s.size <= s.most/10*9 {
			return
		}
		s.size -= s.files[a.name]
		delete(s.files, a.name)
		_ = os.Remove(filepath.Join(s.dir, a.name))
	}
}

// level is the cheapest: manifests are mostly repetition.
const level = flate.BestSpeed
