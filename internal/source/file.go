package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
)

// file is an open file, whose content was read when it was opened.
type file struct {
	info
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// Size settles which of the two is meant.
func (f *file) Size() int64 { return f.size }

// folder is an open folder.
type folder struct {
	info
	entries []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("is a directory")}
}

// ReadDir returns the next entries.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
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
