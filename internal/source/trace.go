package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

var _ manifest.Traced = (*snapshot)(nil)

// What a path is, as the digest of a reads.Type has it.
const (
	typeFile   = "file"
	typeFolder = "folder"
)

func typeOf(e entry) string {
	if e.isDir() {
		return typeFolder
	}
	return typeFile
}

// Trace is what a read of the path depends on. Every symbolic link that was followed is a read of its own, and what was
// found is told under the path where it really is. What turned out to be something else than kind expects, or to be
// absent, is told as that.
func (s *snapshot) Trace(kind reads.Kind, name string) ([]reads.Read, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "trace", Path: name, Err: fs.ErrInvalid}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &fs.PathError{Op: "trace", Path: name, Err: fs.ErrClosed}
	}
	var met trail
	at, err := s.follow(name, kind != reads.Link, &met)
	found := met.followed()
	if errors.Is(err, fs.ErrNotExist) {
		return append(found, met.end()), nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "trace", Path: name, Err: err}
	}
	last, err := s.read(kind, at)
	if err != nil {
		return nil, &fs.PathError{Op: "trace", Path: name, Err: err}
	}
	return append(found, last...), nil
}

// followed are the links of the way.
func (t trail) followed() []reads.Read {
	var out []reads.Read
	for _, link := range t.links {
		out = append(out, reads.Read{Path: link.path(), Kind: reads.Link, Digest: link.entry().hash})
	}
	return out
}

// end is why the way led nowhere: a folder lacks the name, or there is a file where a folder would have to be.
func (t trail) end() reads.Read {
	if !t.last.entry().isDir() {
		return reads.Read{Path: t.last.path(), Kind: reads.Type, Digest: typeFile}
	}
	return reads.Read{Path: append(slices.Clip(t.last), entry{name: t.name}).path(), Kind: reads.Absent}
}

// read is what was found at the end of a way; the caller holds the mutex.
func (s *snapshot) read(kind reads.Kind, at place) ([]reads.Read, error) {
	e := at.entry()
	switch {
	case kind == reads.Link && e.isLink():
		return []reads.Read{{Path: at.path(), Kind: reads.Link, Digest: e.hash}}, nil
	case kind == reads.File && !e.isDir(), kind == reads.Folder && !e.isDir():
		return []reads.Read{{Path: at.path(), Kind: reads.File, Digest: e.hash}}, nil
	case kind == reads.Listing && e.isDir():
		digest, err := s.listing(at)
		return []reads.Read{{Path: at.path(), Kind: reads.Listing, Digest: digest}}, err
	case kind == reads.Folder:
		return s.readFolder(at)
	}
	return []reads.Read{{Path: at.path(), Kind: reads.Type, Digest: typeOf(e)}}, nil
}

// readFolder is a folder with everything in it. What links within it lead to elsewhere is part of its digest, and is
// also told by its own path, since a change there is a change of the folder.
func (s *snapshot) readFolder(at place) ([]reads.Read, error) {
	var found []reads.Read
	digest, err := s.folderDigest(at, func(way trail) {
		found = append(found, way.followed()...)
		if way.name != "" && way.last != nil {
			found = append(found, way.end())
		}
	})
	if err != nil {
		return nil, err
	}
	elsewhere, err := s.reached(at, func(trail) {})
	if err != nil {
		return nil, err
	}
	for path, there := range elsewhere {
		if !there.entry().isDir() {
			found = append(found, reads.Read{Path: path, Kind: reads.File, Digest: there.entry().hash})
			continue
		}
		inner, err := s.folderDigest(there, func(trail) {})
		if err != nil {
			return nil, err
		}
		found = append(found, reads.Read{Path: path, Kind: reads.Folder, Digest: inner})
	}
	found = append(found, reads.Read{Path: at.path(), Kind: reads.Folder, Digest: digest})
	return reads.Of(found), nil
}

// listing names the names in a folder and what each of them is; the caller holds the mutex.
func (s *snapshot) listing(at place) (string, error) {
	entries, err := s.inside(at)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, e := range entries {
		what := e.mode & modeType
		if e.isDir() {
			what = modeTree
		}
		fmt.Fprintf(sum, "%o %s\x00", what, e.name)
	}
	return hex.EncodeToString(sum.Sum(nil)[:20]), nil
}

// Same reports whether a read of another commit would be the same here. It follows no symbolic link on the way: where
// there is one now, there was none then.
func (s *snapshot) Same(read reads.Read) (bool, error) {
	if !fs.ValidPath(read.Path) {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, &fs.PathError{Op: "compare", Path: read.Path, Err: fs.ErrClosed}
	}
	var met trail
	at, err := s.follow(read.Path, false, &met)
	if len(met.links) > 0 {
		return false, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return read.Kind == reads.Absent, nil
	}
	if err != nil {
		if fault.ClassOf(err) == fault.Terminal {
			return false, nil
		}
		return false, &fs.PathError{Op: "compare", Path: read.Path, Err: err}
	}
	e := at.entry()
	if e.isLink() || read.Kind == reads.Link {
		return e.isLink() && read.Kind == reads.Link && e.hash == read.Digest, nil
	}
	digest := ""
	switch {
	case read.Kind == reads.File && !e.isDir():
		digest = e.hash
	case read.Kind == reads.Listing && e.isDir():
		digest, err = s.listing(at)
	case read.Kind == reads.Folder && e.isDir():
		digest, err = s.folderDigest(at, func(trail) {})
	case read.Kind == reads.Type:
		digest = typeOf(e)
	}
	if err != nil {
		return false, &fs.PathError{Op: "compare", Path: read.Path, Err: err}
	}
	return digest != "" && digest == read.Digest, nil
}
