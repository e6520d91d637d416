package source

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// maxTreeBytes bounds one folder: some hundred thousand names.
const maxTreeBytes = 32 << 20

// snapshot is the content of a commit.
type snapshot struct {
	repo    *repository
	commit  string
	maxFile int64
	left    int // how many more names may be read
	lend    func(fresh bool) (*lent, error)
	mounts  mounts
	large   large
	folders *folders
	end     context.CancelFunc

	mu     sync.Mutex      // held while the process is spoken to
	reader *lent           // nil until it is needed
	fresh  bool            // no process that read for others will do
	seen   map[string]bool // the folders whose names were counted
	root   entry
	closed bool
}

var (
	_ fs.ReadDirFS  = (*snapshot)(nil)
	_ fs.ReadFileFS = (*snapshot)(nil)
	_ fs.StatFS     = (*snapshot)(nil)
	_ fs.ReadLinkFS = (*snapshot)(nil)
)

func (s *Store) newSnapshot(ctx context.Context, of manifest.Origin, repo *repository, commit string) *snapshot {
	// The process belongs to the snapshot, which outlives the call that made it.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	snap := &snapshot{
		repo: repo, commit: commit, maxFile: s.maxFile, left: s.maxFiles, end: end, seen: map[string]bool{}, folders: &s.folders,
		lend:   func(fresh bool) (*lent, error) { return s.lend(ctx, repo.dir, fresh) },
		mounts: s.newMounts(ctx, of, repo),
		large:  s.newLarge(ctx, repo),
	}
	// A snapshot that somebody forgot to close must not leave its process running.
	runtime.AddCleanup(snap, func(end context.CancelFunc) { end() }, end)
	return snap
}

// Close leaves the process that reads the objects to others; reading afterwards is an error. Closing again does nothing.
func (s *snapshot) Close() error {
	if !s.mu.TryLock() {
		s.end() // frees a reader that waits for the process
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	s.closed = true
	s.mounts.close()
	if s.reader != nil {
		s.reader.giveBack()
		s.reader = nil
	}
	s.end()
	return nil
}

// object reads one object; the caller holds the mutex.
func (s *snapshot) object(name string, limit int64, wantContent bool) (object, error) {
	found, used, err := s.ask(name, limit, wantContent)
	// A process that read for others before may have been killed since, or have begun before the repository was made anew.
	if reason := fault.ReasonOf(err); used && (reason == "ObjectMissing" || reason == "GitFailed") {
		s.dismiss()
		s.fresh = true
		found, _, err = s.ask(name, limit, wantContent)
	}
	if fault.ReasonOf(err) == "ObjectMissing" {
		return object{}, fault.Transientf("ObjectMissing", "reading commit %s of %s, which will be fetched again: %w",
			s.commit, s.repo.at.shown, errors.Join(err, s.repo.distrust(s.commit)))
	}
	return found, err
}

// ask has a process read one object, and says whether that one read for others before.
func (s *snapshot) ask(name string, limit int64, wantContent bool) (found object, used bool, err error) {
	if s.closed {
		return object{}, false, fs.ErrClosed
	}
	if s.reader == nil {
		if s.reader, err = s.lend(s.fresh); err != nil {
			return object{}, false, err
		}
	}
	used = s.reader.used
	found, usable, err := s.reader.read(name, limit, wantContent)
	if !usable {
		s.dismiss()
	}
	return found, used, err
}

// dismiss ends the process; the next who reads has another one.
func (s *snapshot) dismiss() {
	if s.reader != nil {
		s.reader.end()
		s.reader = nil
	}
}

// tree returns the entries of a folder; the caller holds the mutex.
func (s *snapshot) tree(dir entry) ([]entry, error) {
	if dir.in == nil {
		return s.ownTree(dir.hash)
	}
	dir.in.mu.Lock()
	defer dir.in.mu.Unlock()
	entries, err := dir.in.ownTree(dir.hash)
	marked := slices.Clone(entries)
	for i := range marked {
		marked[i].in = dir.in
	}
	return marked, err
}

// blob reads a file or a link, wherever it is kept; the caller holds the mutex.
func (s *snapshot) blob(e entry, limit int64, wantContent bool) (object, error) {
	if e.in == nil {
		return s.object(e.hash, limit, wantContent)
	}
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	return e.in.object(e.hash, limit, wantContent)
}

// ownTree returns the entries of a tree object of this commit's own repository; the caller holds the mutex.
func (s *snapshot) ownTree(hash string) ([]entry, error) {
	if s.closed {
		return nil, fs.ErrClosed
	}
	known, ok := s.folders.get(s.repo.dir, hash)
	if !ok {
		found, err := s.object(hash, maxTreeBytes, true)
		if err != nil {
			return nil, err
		}
		if known, err = s.keep(hash, found); err != nil {
			return nil, err
		}
	}
	if s.seen[hash] {
		return known.entries, nil
	}
	s.seen[hash] = true
	if s.left -= len(known.entries); s.left < 0 {
		return nil, fault.Terminalf("TooManyFiles", "reading commit %s of %s: its folders hold more names than the limit allows",
			s.commit, s.repo.at.shown)
	}
	return known.entries, nil
}

// keep reads a tree object, for all snapshots of the repository.
func (s *snapshot) keep(hash string, found object) (*listing, error) {
	entries, err := parseTree(found.content)
	if err != nil {
		return nil, fault.Terminalf("ObjectRefused", "reading commit %s of %s: %w", s.commit, s.repo.at.shown, err)
	}
	it := &listing{key: folderKey{dir: s.repo.dir, hash: hash}, entries: entries}
	s.folders.put(it)
	return it, nil
}

func (s *snapshot) rootEntry() (entry, error) {
	if s.root.hash == "" {
		root, err := s.rootHash()
		if err != nil {
			return entry{}, err
		}
		s.root = entry{name: ".", mode: modeTree, hash: root}
	}
	return s.root, nil
}

func (s *snapshot) rootHash() (string, error) {
	if known, ok := s.folders.get(s.repo.dir, s.commit); ok {
		return known.root, nil
	}
	found, err := s.object(s.commit+"^{tree}", maxTreeBytes, true)
	if err != nil {
		return "", err
	}
	if _, ok := s.folders.get(s.repo.dir, found.hash); !ok {
		if _, err := s.keep(found.hash, found); err != nil {
			return "", err
		}
	}
	s.folders.put(&listing{key: folderKey{dir: s.repo.dir, hash: s.commit}, root: found.hash})
	return found.hash, nil
}

// find is walk for callers from outside.
func (s *snapshot) find(op, name string, followLast bool) (place, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	}
	at, err := s.walk(name, followLast)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return at, nil
}

// list returns the entries of a folder.
func (s *snapshot) list(op, name string, at place) ([]fs.DirEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.inside(at)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	listed := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		listed[i] = dirEntry{entry: e, owner: s}
	}
	return listed, nil
}

// content reads a file or a link.
func (s *snapshot) content(op, name string, file entry) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.blob(file, s.maxFile, true)
	data := found.content
	if err == nil && !file.isLink() {
		data, err = s.largeOf(file).smudge(data)
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return data, nil
}

// describe makes the FileInfo of an entry.
func (s *snapshot) describe(op, name string, e entry) (fs.FileInfo, error) {
	if e.isDir() {
		return info{entry: e}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.blob(e, s.maxFile, false)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	size := found.size
	if found.content != nil && !e.isLink() {
		size = s.largeOf(e).sizeOf(found.content)
	}
	return info{entry: e, size: size}, nil
}

// largeOf has the large files of the repository that an entry is in.
func (s *snapshot) largeOf(e entry) large {
	if e.in != nil {
		return e.in.large
	}
	return s.large
}

// named is the entry under the name that was asked for, which a link may have led away from.
func named(at place, name string) entry {
	e := at.entry()
	e.name = name[strings.LastIndexByte(name, '/')+1:]
	return e
}

// Open opens a file or a folder.
func (s *snapshot) Open(name string) (fs.File, error) {
	at, err := s.find("open", name, true)
	if err != nil {
		return nil, err
	}
	e := named(at, name)
	if e.isDir() {
		entries, err := s.list("open", name, at)
		if err != nil {
			return nil, err
		}
		return &folder{info: info{entry: e}, entries: entries}, nil
	}
	data, err := s.content("open", name, e)
	if err != nil {
		return nil, err
	}
	return &file{info: info{entry: e, size: int64(len(data))}, Reader: bytes.NewReader(data)}, nil
}

// ReadFile returns the content of a file.
func (s *snapshot) ReadFile(name string) ([]byte, error) {
	at, err := s.find("read", name, true)
	if err != nil {
		return nil, err
	}
	if at.entry().isDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	return s.content("read", name, at.entry())
}

// ReadDir returns the entries of a folder by name.
func (s *snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := s.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !at.entry().isDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	return s.list("readdir", name, at)
}

// Stat describes a file or folder; it follows a symbolic link.
func (s *snapshot) Stat(name string) (fs.FileInfo, error) {
	at, err := s.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return s.describe("stat", name, named(at, name))
}

// Lstat describes a file, a folder or a symbolic link.
func (s *snapshot) Lstat(name string) (fs.FileInfo, error) {
	at, err := s.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return s.describe("lstat", name, named(at, name))
}

// ReadLink returns where a symbolic link points to.
func (s *snapshot) ReadLink(name string) (string, error) {
	at, err := s.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if !at.entry().isLink() {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	target, err := s.content("readlink", name, at.entry())
	return string(target), err
}
