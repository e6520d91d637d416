// Package pairs remembers on disk which pairs of manifest and live object the
// server has confirmed, so that a restart asks nothing again. It may be lost
// at any time, which costs requests and nothing else; it must not be believed
// when it was changed by anybody else, so each line is sealed.
package pairs

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
)

// line is a pair as it is written. Seal covers the rest and the scope.
type line struct {
	App     string     `json:"app"`
	Key     object.Key `json:"key"`
	Desired string     `json:"desired"`
	Live    string     `json:"live"`
	Seal    string     `json:"seal"`
}

// Store is the log of pairs. It is safe for use by many goroutines.
type Store struct {
	path  string
	key   []byte
	scope string

	mu    sync.Mutex
	file  *os.File
	lines int
	// total is the number of pairs in apps.
	total int
	apps  map[string]map[object.Key]diff.Pair
}

// Open reads the log in a folder. Only pairs that were confirmed in the same
// scope count: the scope names the cluster and the version of its API server.
func Open(dir, scope string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of confirmed pairs: %w", err)
	}
	key, err := sealKey(filepath.Join(dir, "pairs.key"))
	if err != nil {
		return nil, err
	}
	s := &Store{path: filepath.Join(dir, "pairs.log"), key: key, scope: scope, apps: map[string]map[object.Key]diff.Pair{}}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, s.compact()
}

// sealKey is the key of this folder's seals, made with the folder.
func sealKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the key of confirmed pairs: %w", err)
	}
	key = make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making a key for confirmed pairs: %w", err)
	}
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("writing the key of confirmed pairs: %w", err)
	}
	return key, nil
}

func (s *Store) read() error {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading confirmed pairs: %w", err)
	}
	defer func() { _ = f.Close() }()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var l line
		// A line that was torn by a crash, or that is not ours, says nothing.
		if json.Unmarshal(scanner.Bytes(), &l) != nil || !hmac.Equal([]byte(l.Seal), []byte(s.seal(l))) {
			continue
		}
		p := diff.Pair{Key: l.Key}
		if digest(l.Desired, &p.Desired) && digest(l.Live, &p.Live) {
			s.put(l.App, p)
		}
	}
	if err := scanner.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("reading confirmed pairs: %w", err)
	}
	return nil
}

func digest(text string, into *object.Digest) bool {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(into) {
		return false
	}
	copy(into[:], raw)
	return true
}

// Load is what is known of an application.
func (s *Store) Load(app string) []diff.Pair {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]diff.Pair, 0, len(s.apps[app]))
	for _, p := range s.apps[app] {
		out = append(out, p)
	}
	return out
}

// Keep makes these the pairs of an application. What is known already is not
// written again.
func (s *Store) Keep(app string, pairs []diff.Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pairs {
		if s.apps[app][p.Key] == p {
			continue
		}
		s.put(app, p)
		if err := s.write(app, p); err != nil {
			return err
		}
	}
	if s.lines > 1000 && s.lines > 3*s.total {
		return s.compactLocked()
	}
	return nil
}

// Drop forgets an application.
func (s *Store) Drop(app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total -= len(s.apps[app])
	delete(s.apps, app)
}

// Close closes the log.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

func (s *Store) put(app string, p diff.Pair) {
	if s.apps[app] == nil {
		s.apps[app] = map[object.Key]diff.Pair{}
	}
	before := len(s.apps[app])
	s.apps[app][p.Key] = p
	s.total += len(s.apps[app]) - before
}

func (s *Store) write(app string, p diff.Pair) error {
	l := line{App: app, Key: p.Key, Desired: p.Desired.String(), Live: p.Live.String()}
	l.Seal = s.seal(l)
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a confirmed pair: %w", err)
	}
	if _, err := s.file.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("writing a confirmed pair: %w", err)
	}
	s.lines++
	return nil
}

func (s *Store) seal(l line) string {
	h := hmac.New(sha256.New, s.key)
	for _, part := range []string{s.scope, l.App, l.Key.Group, l.Key.Kind, l.Key.Namespace, l.Key.Name, l.Desired, l.Live} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (s *Store) compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compactLocked()
}

// compactLocked writes what counts into a new file and puts it in the place
// of the old one.
func (s *Store) compactLocked() error {
	temp, err := os.CreateTemp(filepath.Dir(s.path), "pairs.*.tmp")
	if err != nil {
		return fmt.Errorf("compacting confirmed pairs: %w", err)
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file, s.lines = temp, 0
	for app, pairs := range s.apps {
		for _, p := range pairs {
			if err := s.write(app, p); err != nil {
				return errors.Join(err, os.Remove(temp.Name()))
			}
		}
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return fmt.Errorf("compacting confirmed pairs: %w", err)
	}
	return nil
}
