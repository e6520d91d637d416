// Package archive turns the bytes of an archive into an immutable tree in memory, under bounds that are checked before
// the work that they bound. It must not write to disk, and it takes nothing but plain files and folders.
package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// Tree is what was in an archive. Whoever reads it must not change what they are given.
type Tree struct {
	nodes  map[string]*node
	digest string
}

var (
	_ fs.ReadDirFS    = (*Tree)(nil)
	_ fs.ReadFileFS   = (*Tree)(nil)
	_ fs.StatFS       = (*Tree)(nil)
	_ fs.ReadLinkFS   = (*Tree)(nil)
	_ manifest.Traced = (*Tree)(nil)
)

// node is a file or a folder, and describes itself.
type node struct {
	name    string
	dir     bool
	content []byte
	inside  []fs.DirEntry // by name
}

func (n *node) Name() string               { return n.name }
func (n *node) Size() int64                { return int64(len(n.content)) }
func (n *node) IsDir() bool                { return n.dir }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) Sys() any                   { return nil }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }

func (n *node) Mode() fs.FileMode {
	if n.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Single is a tree of one file.
func Single(name string, content []byte) *Tree {
	b := newBuilder()
	b.file(name, content)
	return b.tree()
}

// builder collects files; paths are clean and known to be free.
type builder struct{ nodes map[string]*node }

func newBuilder() *builder {
	return &builder{nodes: map[string]*node{".": {name: ".", dir: true}}}
}

// folder adds a folder and those that lead to it. It reports what is in the way.
func (b *builder) folder(name string) error {
	if known := b.nodes[name]; known != nil {
		if !known.dir {
			return fmt.Errorf("%q is a file and a folder", name)
		}
		return nil
	}
	if err := b.folder(path.Dir(name)); err != nil {
		return err
	}
	b.nodes[name] = &node{name: path.Base(name), dir: true}
	return nil
}

func (b *builder) file(name string, content []byte) {
	b.nodes[name] = &node{name: path.Base(name), content: content}
}

// tree links what was collected, and names it by its content.
func (b *builder) tree() *Tree {
	names := make([]string, 0, len(b.nodes))
	for name := range b.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		n := b.nodes[name]
		if name != "." {
			parent := b.nodes[path.Dir(name)]
			parent.inside = append(parent.inside, n)
		}
		_, _ = fmt.Fprintf(hash, "%q %v %d\n", name, n.dir, len(n.content))
		_, _ = hash.Write(n.content)
	}
	for _, n := range b.nodes {
		slices.SortFunc(n.inside, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	}
	return &Tree{nodes: b.nodes, digest: hex.EncodeToString(hash.Sum(nil))}
}

// Digest names the content: two trees that have it in common hold the same.
func (t *Tree) Digest() string { return t.digest }

// Trace is the whole tree whatever is read: a version is one piece, and the next one is another.
func (t *Tree) Trace(reads.Kind, string) ([]reads.Read, error) {
	return []reads.Read{{Kind: reads.Folder, Path: ".", Digest: t.digest}}, nil
}

// Same reports whether a read of another version would be the same here.
func (t *Tree) Same(read reads.Read) (bool, error) {
	return read.Kind == reads.Folder && read.Path == "." && read.Digest == t.digest, nil
}

func (t *Tree) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	found := t.nodes[name]
	if found == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return found, nil
}

// Open opens a file or a folder.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return &folder{node: n, rest: n.inside}, nil
	}
	return &file{node: n, Reader: bytes.NewReader(n.content)}, nil
}

// ReadFile returns the content of a file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsFolder}
	}
	return bytes.Clone(n.content), nil
}

// ReadDir returns the entries of a folder by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	return slices.Clone(n.inside), nil
}

// Stat describes a file or folder.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Lstat is Stat: there are no symbolic links.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.Stat(name) }

// ReadLink fails: there are no symbolic links.
func (t *Tree) ReadLink(name string) (string, error) {
	if _, err := t.find("readlink", name); err != nil {
		return "", err
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

var errIsFolder = errors.New("is a directory")

// file is an open file.
type file struct {
	*node
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *file) Close() error               { return nil }

// Size settles which of the two is meant.
func (f *file) Size() int64 { return f.node.Size() }

// folder is an open folder.
type folder struct {
	*node
	rest []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: errIsFolder}
}

// ReadDir returns the next entries.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.rest) {
		n = len(f.rest)
	}
	next := slices.Clone(f.rest[:n])
	f.rest = f.rest[n:]
	return next, nil
}

// clean makes a path of the name of an entry, or says what is wrong with the name.
func clean(name string, depth int) (string, error) {
	if len(name) > maxNameBytes {
		return "", fmt.Errorf("a name is %d bytes long, the limit is %d", len(name), maxNameBytes)
	}
	if strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("the name %q is absolute", name)
	}
	if strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("the name %q has a backslash or a zero byte", name)
	}
	parts := strings.Split(name, "/")
	if slices.Contains(parts, "..") {
		return "", fmt.Errorf("the name %q leads out", name)
	}
	cleaned := path.Clean(name)
	if strings.Count(cleaned, "/") >= depth {
		return "", fmt.Errorf("the name %q is deeper than %d folders", shorten(name), depth)
	}
	if !fs.ValidPath(cleaned) || len(parts[0]) == 2 && parts[0][1] == ':' {
		return "", fmt.Errorf("the name %q is not fit for a file", shorten(name))
	}
	return cleaned, nil
}

func shorten(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}
