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

// line is a pair as it is written. Seal covers the rest.
type line struct {
	Scope   string     `json:"scope"`
	App     string     `json:"app"`
	Key     object.Key `json:"key"`
	Desired string     `json:"desired"`
	Live    string     `json:"live"`
	Seal    string     `json:"seal"`
}

// Store is the log of pairs. It is safe for use by many goroutines.
type Store struct {
	path string
	key  []byte

	mu    sync.Mutex
	file  *os.File
	lines int
	// total is the number of pairs in apps.
	total int
	apps  map[string]known
}

// known are the pairs of an application that were confirmed in one scope: that
// names the cluster and the version of its API server. An application is in one
// cluster at a time.
type known struct {
	scope string
	pairs map[object.Key]diff.Pair
}

// Open reads the log in a folder.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of confirmed pairs: %w", err)
	}
	key, err := sealKey(filepath.Join(dir, "pairs.key"))
	if err != nil {
		return nil, err
	}
	s := &Store{path: filepath.Join(dir, "pairs.log"), key: key, apps: map[string]known{}}
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
			s.put(l.App, l.Scope, p)
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

// Load is what is known of an application, if it was confirmed in this scope.
func (s *Store) Load(app, scope string) []diff.Pair {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.apps[app]
	if k.scope != scope {
		return nil
	}
	out := make([]diff.Pair, 0, len(k.pairs))
	for _, p := range k.pairs {
		out = append(out, p)
	}
	return out
}

// Keep adds to the pairs of an application that were confirmed in a scope; those
// of another are forgotten. What is known already is not written again.
func (s *Store) Keep(app, scope string, pairs []diff.Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pairs {
		if k := s.apps[app]; k.scope == scope && k.pairs[p.Key] == p {
			continue
		}
		s.put(app, scope, p)
		if err := s.write(app, scope, p); err != nil {
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
	s.total -= len(s.apps[app].pairs)
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

func (s *Store) put(app, scope string, p diff.Pair) {
	k, ok := s.apps[app]
	if !ok || k.scope != scope {
		s.total -= len(k.pairs)
		k = known{scope: scope, pairs: map[object.Key]diff.Pair{}}
		s.apps[app] = k
	}
	before := len(k.pairs)
	k.pairs[p.Key] = p
	s.total += len(k.pairs) - before
}

func (s *Store) write(app, scope string, p diff.Pair) error {
	l := line{Scope: scope, App: app, Key: p.Key, Desired: p.Desired.String(), Live: p.Live.String()}
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
	for _, part := range []string{l.Scope, l.App, l.Key.Group, l.Key.Kind, l.Key.Namespace, l.Key.Name, l.Desired, l.Live} {
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
	for app, k := range s.apps {
		for _, p := range k.pairs {
			if err := s.write(app, k.scope, p); err != nil {
				return errors.Join(err, os.Remove(temp.Name()))
			}
		}
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return fmt.Errorf("compacting confirmed pairs: %w", err)
	}
	return nil
}
