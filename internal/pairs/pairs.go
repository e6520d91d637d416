// Package pairs remembers on disk which pairs of manifest and live object the
// server has confirmed, so that a restart asks nothing again, and what the last
// look at each application was made from, so that a restart need not look again
// where all of that is the same. It may be lost at any time, which costs
// requests and looks and nothing else; it must not be believed when it was
// changed by anybody else, so each line is sealed.
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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
)

// line is a pair as it is written, or the mark of an application. Seal covers
// the rest.
type line struct {
	Scope   string     `json:"scope,omitempty"`
	App     string     `json:"app"`
	Key     object.Key `json:"key,omitzero"`
	Desired string     `json:"desired,omitempty"`
	Live    string     `json:"live,omitempty"`
	Mark    string     `json:"mark,omitempty"`
	APIs    string     `json:"apis,omitempty"`
	Commits []string   `json:"commits,omitempty"`
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
	// marks name what the last look at an application was made from.
	marks map[string]object.Seen
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
	s := &Store{path: filepath.Join(dir, "pairs.log"), key: key, apps: map[string]known{}, marks: map[string]object.Seen{}}
	whole, err := s.read()
	if err != nil {
		return nil, err
	}
	if !whole || s.wasteful() {
		return s, s.compact()
	}
	if s.file, err = os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("opening the log of confirmed pairs: %w", err)
	}
	return s, nil
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

// read takes over what the log says, and reports whether it is whole: one that
// is not cannot be added to.
func (s *Store) read() (whole bool, err error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading confirmed pairs: %w", err)
	}
	defer func() { _ = f.Close() }()
	whole = true
	for from := bufio.NewReaderSize(f, longest); ; {
		text, err := from.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			// The last line is torn if there is anything after the one before.
			return whole && len(text) == 0, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("reading confirmed pairs: %w", err)
		}
		var l line
		// A line that was torn by a crash, or that is not ours, says nothing.
		if json.Unmarshal(text, &l) != nil || !hmac.Equal([]byte(l.Seal), []byte(s.seal(l))) {
			whole = false
			continue
		}
		s.lines++
		s.take(l)
	}
}

// longest is how long a line may be; names have at most some hundred bytes.
const longest = 64 << 10

// take takes over what a line says.
func (s *Store) take(l line) {
	if l.Mark != "" {
		mark := object.Seen{Revisions: l.Commits, APIs: l.APIs}
		if digest(l.Mark, &mark.Sum) {
			s.marks[l.App] = mark
		}
		return
	}
	p := diff.Pair{Key: l.Key}
	if digest(l.Desired, &p.Desired) && digest(l.Live, &p.Live) {
		s.put(l.App, l.Scope, p)
	}
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
		if err := s.write(s.file, lineOf(app, scope, p)); err != nil {
			return err
		}
	}
	return s.tidy()
}

// Mark names what the last look at an application was made from, if it was worth
// remembering.
func (s *Store) Mark(app string) (object.Seen, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark, ok := s.marks[app]
	return mark, ok && !mark.IsZero()
}

// SetMark remembers a look at an application; none is the zero mark. What is
// known already is not written again.
func (s *Store) SetMark(app string, mark object.Seen) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks[app].Equal(mark) {
		return nil
	}
	s.marks[app] = mark
	if err := s.write(s.file, markLine(app, mark)); err != nil {
		return err
	}
	return s.tidy()
}

// tidy compacts the log where most of it does not count any more.
func (s *Store) tidy() error {
	if s.wasteful() {
		return s.compactLocked()
	}
	return nil
}

func (s *Store) wasteful() bool { return s.lines > 1000 && s.lines > 3*(s.total+len(s.marks)) }

// Drop forgets an application.
func (s *Store) Drop(app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total -= len(s.apps[app].pairs)
	delete(s.apps, app)
	delete(s.marks, app)
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

func lineOf(app, scope string, p diff.Pair) line {
	return line{Scope: scope, App: app, Key: p.Key, Desired: p.Desired.String(), Live: p.Live.String()}
}

func markLine(app string, mark object.Seen) line {
	return line{App: app, Mark: mark.Sum.String(), APIs: mark.APIs, Commits: mark.Revisions}
}

func (s *Store) write(to io.Writer, l line) error {
	l.Seal = s.seal(l)
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a confirmed pair: %w", err)
	}
	if _, err := to.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("writing a confirmed pair: %w", err)
	}
	s.lines++
	return nil
}

func (s *Store) seal(l line) string {
	h := hmac.New(sha256.New, s.key)
	parts := []string{l.Scope, l.App, l.Key.Group, l.Key.Kind, l.Key.Namespace, l.Key.Name, l.Desired, l.Live}
	if l.Mark != "" {
		parts = append(append(parts, l.Mark, l.APIs), l.Commits...)
	}
	for _, part := range parts {
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
	if err := s.writeAll(temp); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return fmt.Errorf("compacting confirmed pairs: %w", err)
	}
	return nil
}

// writeAll writes what counts.
func (s *Store) writeAll(to io.Writer) error {
	out := bufio.NewWriterSize(to, longest)
	for app, k := range s.apps {
		for _, p := range k.pairs {
			if err := s.write(out, lineOf(app, k.scope, p)); err != nil {
				return err
			}
		}
	}
	for app, mark := range s.marks {
		if mark.IsZero() {
			delete(s.marks, app)
			continue
		}
		if err := s.write(out, markLine(app, mark)); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("compacting confirmed pairs: %w", err)
	}
	return nil
}
