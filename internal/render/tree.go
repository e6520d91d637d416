package render

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// asker puts questions to whoever has the trees, and returns one answer for each.
type asker interface {
	ask(questions []question) ([]answer, error)
}

// tree is a tree that somebody else has. What was asked once is not asked again: a tree never changes.
type tree struct {
	name   string
	parent asker

	mu    sync.Mutex
	known map[question]answer
}

var (
	_ fs.ReadDirFS  = (*tree)(nil)
	_ fs.ReadFileFS = (*tree)(nil)
	_ fs.StatFS     = (*tree)(nil)
	_ fs.ReadLinkFS = (*tree)(nil)
)

func newTree(name string, parent asker) *tree {
	return &tree{name: name, parent: parent, known: map[question]answer{}}
}

// ask answers from what is known, or asks.
func (t *tree) ask(o op, call, name string) (answer, error) {
	if !fs.ValidPath(name) {
		return answer{}, fault.Terminalf("InvalidPath", "%w: a name has to be text, and a path to stay in its tree; rename or exclude it",
			&fs.PathError{Op: call, Path: strconv.QuoteToASCII(name), Err: fs.ErrInvalid})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q := question{op: o, tree: t.name, path: name}
	a, ok := t.known[q]
	if !ok || a.none {
		answers, err := t.parent.ask([]question{q})
		if err != nil {
			return answer{}, err
		}
		a = answers[0]
		t.known[q] = a
	}
	if a.err != nil {
		return answer{}, a.err
	}
	return a, nil
}

// ahead asks several questions at once, whose answers will be needed one by one.
func (t *tree) ahead(questions ...question) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := make([]question, 0, len(questions))
	for _, q := range questions {
		q.tree = t.name
		if _, ok := t.known[q]; !ok && fs.ValidPath(q.path) {
			asked = append(asked, q)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	answers, err := t.parent.ask(asked)
	if err != nil {
		return err
	}
	for i, q := range asked {
		t.known[q] = answers[i]
	}
	return nil
}

// whole asks for a folder and everything below it at once. Where that is too much, nothing is known for it.
func (t *tree) whole(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := question{op: opFolder, tree: t.name, path: dir}
	a, ok := t.known[q]
	if !ok {
		answers, err := t.parent.ask([]question{q})
		if err != nil {
			return err
		}
		a = answers[0]
		t.known[q] = a
	}
	if a.err != nil || a.none {
		return nil // whoever reads it will hear what is wrong
	}
	lists := map[string][]fileInfo{dir: nil}
	for _, f := range a.below {
		parent := path.Dir(f.path)
		lists[parent] = append(lists[parent], f.info)
		if _, ok := lists[f.path]; !ok && f.info.IsDir() {
			lists[f.path] = nil
		}
		t.learn(f)
	}
	for dir, entries := range lists {
		slices.SortFunc(entries, func(a, b fileInfo) int { return strings.Compare(a.name, b.name) })
		t.known[question{opList, t.name, dir}] = answer{entries: entries}
	}
	return nil
}

func (t *tree) learn(f found) {
	t.known[question{opLstat, t.name, f.path}] = answer{info: f.info}
	switch {
	case f.info.mode&fs.ModeSymlink != 0:
		t.known[question{opLink, t.name, f.path}] = answer{content: f.content}
		return
	case f.info.mode.IsRegular():
		t.known[question{opFile, t.name, f.path}] = answer{content: f.content}
	}
	t.known[question{opStat, t.name, f.path}] = answer{info: f.info}
}

// ReadFile returns the content of a file. It is the caller's to change.
func (t *tree) ReadFile(name string) ([]byte, error) {
	a, err := t.ask(opFile, "read", name)
	return bytes.Clone(a.content), err
}

// ReadDir returns the entries of a folder by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	a, err := t.ask(opList, "readdir", name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(a.entries))
	for i, info := range a.entries {
		entries[i] = treeEntry{fileInfo: info, tree: t, path: path.Join(name, info.name)}
	}
	return entries, nil
}

// Stat describes a file or folder; it follows a symbolic link.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	a, err := t.ask(opStat, "stat", name)
	if err != nil {
		return nil, err
	}
	return a.info, nil
}

// Lstat describes a file, a folder or a symbolic link.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	a, err := t.ask(opLstat, "lstat", name)
	if err != nil {
		return nil, err
	}
	return a.info, nil
}

// ReadLink returns where a symbolic link points to.
func (t *tree) ReadLink(name string) (string, error) {
	a, err := t.ask(opLink, "readlink", name)
	return string(a.content), err
}

// Open opens a file or a folder.
func (t *tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := t.ReadDir(name)
		return &openFolder{info: info, entries: entries}, err
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{info: info, Reader: bytes.NewReader(data)}, nil
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// Submodule is the commit of a folder that is another repository.
func (i fileInfo) Submodule() string { return i.submodule }

// treeEntry is an entry of a folder. Its size is asked for when somebody wants it.
type treeEntry struct {
	fileInfo
	tree *tree
	path string
}

func (e treeEntry) Type() fs.FileMode          { return e.mode.Type() }
func (e treeEntry) Info() (fs.FileInfo, error) { return e.tree.Lstat(e.path) }
func (e treeEntry) String() string             { return fs.FormatDirEntry(e) }

type openFile struct {
	info fs.FileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: errors.New("is a directory")}
}

// ReadDir returns the next entries.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	next := slices.Clone(f.entries[:n])
	f.entries = f.entries[n:]
	return next, nil
}
