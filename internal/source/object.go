package source

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is one name in a tree of git.
type entry struct {
	name string
	mode uint32
	hash string
	// in is the snapshot of the submodule that holds it; nil is that of the commit itself. mount says that it is where
	// the submodule begins.
	in    *snapshot
	mount bool
}

// The modes that git knows; files are 100644 and 100755.
const (
	modeType      = 0o170000
	modeTree      = 0o040000
	modeFile      = 0o100000
	modeLink      = 0o120000
	modeSubmodule = 0o160000
)

func (e entry) isTree() bool      { return e.mode&modeType == modeTree }
func (e entry) isLink() bool      { return e.mode&modeType == modeLink }
func (e entry) isSubmodule() bool { return e.mode&modeType == modeSubmodule }

// isDir counts a submodule too: its place is a folder, and what is in it comes from another repository.
func (e entry) isDir() bool { return e.isTree() || e.isSubmodule() }

// Submodule is the commit of another repository that belongs here, or "".
func (e entry) Submodule() string {
	if e.isSubmodule() {
		return e.hash
	}
	return ""
}

func (e entry) fileMode() fs.FileMode {
	switch {
	case e.isDir():
		return fs.ModeDir | 0o555
	case e.isLink():
		return fs.ModeSymlink | 0o777
	case e.mode&0o100 != 0:
		return 0o555
	}
	return 0o444
}

// hashBytes is the length of a hash in a tree.
const hashBytes = 20

// parseTree reads a tree object and returns its entries by name. Names that would mean something else than a name are
// refused: no honest git writes them. All names are parts of one text, and all hashes of another, since a folder may have
// ten thousand of them.
func parseTree(data []byte) ([]entry, error) {
	text := string(data)
	count := countEntries(data)
	entries, hashes := make([]entry, 0, count), make([]byte, 0, count*2*hashBytes)
	for rest := text; rest != ""; {
		mode, after, spaced := strings.Cut(rest, " ")
		name, after, ended := strings.Cut(after, "\x00")
		if !spaced || !ended || len(after) < hashBytes {
			return nil, errors.New("a malformed tree object")
		}
		one, err := parseEntry(mode, name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, one)
		at := len(text) - len(after)
		hashes = hex.AppendEncode(hashes, data[at:at+hashBytes])
		rest = after[hashBytes:]
	}
	all := string(hashes)
	for i := range entries {
		entries[i].hash, all = all[:2*hashBytes], all[2*hashBytes:]
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i := range entries[min(1, len(entries)):] {
		if entries[i].name == entries[i+1].name {
			return nil, fmt.Errorf("a tree object with the name %q twice", entries[i].name)
		}
	}
	return entries, nil
}

// countEntries is how many entries a tree object has, if it is whole.
func countEntries(data []byte) int {
	count := 0
	for end := bytes.IndexByte(data, 0); end >= 0 && len(data) > end+hashBytes; end = bytes.IndexByte(data, 0) {
		data = data[end+1+hashBytes:]
		count++
	}
	return count
}

// parseEntry is an entry that has no hash yet.
func parseEntry(mode, name string) (entry, error) {
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return entry{}, fmt.Errorf("a tree object with the mode %q", mode)
	}
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || strings.EqualFold(name, ".git") {
		return entry{}, fmt.Errorf("a tree object with the name %q", name)
	}
	one := entry{name: name, mode: uint32(bits)}
	if !one.isDir() && !one.isLink() && one.mode&modeType != modeFile {
		return entry{}, fmt.Errorf("a tree object with the mode %q", mode)
	}
	return one, nil
}

func findEntry(entries []entry, name string) (entry, bool) {
	at, ok := slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return entry{}, false
	}
	return entries[at], true
}

// info describes a file. It has no time: the same content is the same file.
type info struct {
	entry
	size int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.fileMode() }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.isDir() }
func (i info) Sys() any           { return nil }

// dirEntry is an entry of a listing; the size is only read if somebody asks.
type dirEntry struct {
	entry
	owner *snapshot
}

func (d dirEntry) Name() string      { return d.name }
func (d dirEntry) IsDir() bool       { return d.isDir() }
func (d dirEntry) Type() fs.FileMode { return d.fileMode().Type() }
func (d dirEntry) String() string    { return fs.FormatDirEntry(d) }

func (d dirEntry) Info() (fs.FileInfo, error) { return d.owner.describe("stat", d.name, d.entry) }
