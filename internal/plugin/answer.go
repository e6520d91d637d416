package plugin

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// answer is what a plugin made, as a tree of one folder with a file for each manifest.
type answer struct{ manifests [][]byte }

var (
	_ fs.ReadDirFS    = (*answer)(nil)
	_ fs.ReadFileFS   = (*answer)(nil)
	_ fs.StatFS       = (*answer)(nil)
	_ manifest.Traced = (*answer)(nil)
)

// digits is how long the names of the files are, so that their order is that of the manifests.
const digits = 8

func nameOf(i int) string { return fmt.Sprintf("%0*d.yaml", digits, i) }

// find is the number of the manifest that a name is of.
func (a *answer) find(op, name string) (int, error) {
	number, ok := strings.CutSuffix(name, ".yaml")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(a.manifests) || nameOf(i) != name {
		return 0, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return i, nil
}

// Open is not needed: the files are read in other ways.
func (a *answer) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// ReadFile is a manifest.
func (a *answer) ReadFile(name string) ([]byte, error) {
	i, err := a.find("read", name)
	if err != nil {
		return nil, err
	}
	return a.manifests[i], nil
}

// ReadDir lists the manifests.
func (a *answer) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	out := make([]fs.DirEntry, len(a.manifests))
	for i, m := range a.manifests {
		out[i] = fs.FileInfoToDirEntry(info{name: nameOf(i), size: int64(len(m))})
	}
	return out, nil
}

// Stat describes a manifest, or the folder of them.
func (a *answer) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return info{name: ".", mode: fs.ModeDir}, nil
	}
	i, err := a.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{name: name, size: int64(len(a.manifests[i]))}, nil
}

// Trace is nothing: what a plugin answers follows from what it was sent.
func (a *answer) Trace(reads.Kind, string) ([]reads.Read, error) { return nil, nil }

// Same is not asked: nothing was traced.
func (a *answer) Same(reads.Read) (bool, error) { return false, nil }

type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
