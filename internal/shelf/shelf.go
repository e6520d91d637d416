// Package shelf keeps bytes on disk for the next process, by name, up to a
// number of bytes. All of it may be lost at any time, which costs work and
// nothing else; what anybody else changed is never returned, since each piece
// is sealed under its own name. It must not know what it keeps.
//
// The pieces are in a few volumes, one after the other: to make a file takes a
// hundred times as long as to write a piece to the end of one.
package shelf

import (
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Shelf is a folder of volumes. It is safe for use by many goroutines, and for
// one process; another one at the same time costs what they keep, and nothing
// else.
type Shelf struct {
	dir  string
	most int64
	seal cipher.AEAD

	mu     sync.Mutex
	pieces map[name]piece
	// volumes are the oldest first, and own says that the last one was begun by
	// this process: only then is it written to.
	volumes []*volume
	own     bool
	next    int
}

// name is what a piece is called on disk: it tells nothing of the key.
type name [16]byte

// piece is where one is. What was used is kept longer.
type piece struct {
	in   *volume
	at   int64
	size int
	used bool
}

const (
	keyFile = "shelf.key"
	keySize = 32
	// parts is of how many volumes a full shelf is, and mostVolumes how many
	// there may be when they are small, since each process begins its own.
	parts       = 8
	mostVolumes = 32
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
	s := &Shelf{dir: dir, most: most, seal: seal, pieces: map[name]piece{}}
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

// sweep finds what is there and removes what is no volume.
func (s *Shelf) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("reading the shelf: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// They come in the order of their numbers.
	for _, e := range entries {
		if e.Name() == keyFile {
			continue
		}
		v, number, err := openVolume(s.dir, e)
		if err != nil {
			_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
			continue
		}
		v.read(func(of name, p piece) { s.pieces[of] = p })
		s.volumes, s.next = append(s.volumes, v), number+1
	}
	s.fit()
	return nil
}

func nameOf(key string) name {
	sum := sha256.Sum256([]byte(key))
	return name(sum[:len(name{})])
}

// Load returns what was kept under a key. What cannot be read as it was written
// is not there.
func (s *Shelf) Load(key string) ([]byte, bool) {
	of := nameOf(key)
	s.mu.Lock()
	p, known := s.pieces[of]
	if known && !p.used {
		p.used = true
		s.pieces[of] = p
	}
	s.mu.Unlock()
	if !known {
		return nil, false
	}
	sealed := make([]byte, p.size)
	if _, err := p.in.file.ReadAt(sealed, p.at); err != nil {
		return nil, false
	}
	packed, err := s.seal.Open(nil, nil, sealed, []byte(key))
	if err != nil {
		return nil, false
	}
	data, err := unpack(packed)
	return data, err == nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(nameOf(key), sealed)
	s.fit()
}

// put writes a piece to the end of the last volume; the caller holds the mutex.
func (s *Shelf) put(of name, sealed []byte) {
	if !s.own || s.volumes[len(s.volumes)-1].size >= s.most/parts {
		v, err := newVolume(s.dir, &s.next)
		if err != nil {
			return
		}
		s.volumes, s.own = append(s.volumes, v), true
	}
	if p, err := s.volumes[len(s.volumes)-1].write(of, sealed); err == nil {
		s.pieces[of] = p
	}
}

// fit takes the oldest volumes off until the others fit. What was used since
// this process began moves to the last one, at most half of each volume, so that
// there is an end to it. The caller holds the mutex.
func (s *Shelf) fit() {
	for s.size() > s.most || len(s.volumes) > mostVolumes {
		old := s.volumes[0]
		if s.volumes = s.volumes[1:]; len(s.volumes) == 0 {
			s.own = false
		}
		room := old.size / 2
		for of, p := range s.pieces {
			if p.in != old {
				continue
			}
			delete(s.pieces, of)
			if !p.used || int64(p.size) > room {
				continue
			}
			room -= int64(p.size)
			sealed := make([]byte, p.size)
			if _, err := old.file.ReadAt(sealed, p.at); err == nil {
				s.put(of, sealed)
			}
		}
		old.remove()
	}
}

func (s *Shelf) size() (out int64) {
	for _, v := range s.volumes {
		out += v.size
	}
	return out
}

// level is the cheapest: manifests are mostly repetition.
const level = flate.BestSpeed
