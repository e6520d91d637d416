package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// Bounds on what one build may read.
const (
	maxReads     = 50_000
	maxReadBytes = 256 << 20
	maxLinks     = 40
)

// disk is the file system that kustomize sees: the trees below, what we wrote above them. A path is
// /<view>/<mount>/<path in the tree>. All views show the same trees; they differ in what was written, for a
// kustomization that comes out differently in two places.
type disk struct {
	mounts  map[string]mount
	written map[string][]byte
	reads   int
	bytes   int
}

// mount is a tree with its place.
type mount struct {
	tree fs.FS
	// name is the name of the tree in the request, shown what people see instead of its place.
	name, shown string
}

const repo = "repo"

func newDisk(tree fs.FS) *disk {
	return &disk{mounts: map[string]mount{repo: {tree: tree}}, written: map[string][]byte{}}
}

// mount gives a fetched tree a place.
func (d *disk) mount(need manifest.Need, tree fs.FS) string {
	for at, mount := range d.mounts {
		if at != repo && mount.name == need.ID() {
			return at
		}
	}
	at := "need-" + strconv.Itoa(len(d.mounts))
	d.mounts[at] = mount{tree: tree, name: need.ID(), shown: need.URL + "//"}
	return at
}

type shownMount struct{ at, shown string }

// names are the places that may stand in an error, with what is shown instead.
func (d *disk) names() []shownMount {
	var out []shownMount
	for at, mount := range d.mounts {
		for view := range 10 {
			out = append(out, shownMount{at: "/" + strconv.Itoa(view) + "/" + at, shown: mount.shown})
		}
	}
	slices.SortFunc(out, func(a, b shownMount) int { return strings.Compare(a.at, b.at) })
	return out
}

// place is a path in a tree, as one of the views shows it.
type place struct {
	view  int
	mount string
	path  string
}

// String is the place as kustomize sees it.
func (p place) String() string { return path.Join("/"+strconv.Itoa(p.view), p.mount, p.path) }

// join is a path seen from a place; false means that it leads out of the tree.
func (p place) join(rel string) (place, bool) {
	joined := path.Join(p.path, rel)
	if path.IsAbs(rel) || !fs.ValidPath(joined) {
		return place{}, false
	}
	return place{view: p.view, mount: p.mount, path: joined}, true
}

// holds reports whether a path of the same tree is in or below the place.
func (p place) holds(name string) bool {
	return p.path == "." || name == p.path || strings.HasPrefix(name, p.path+"/")
}

// locate finds the tree that a path is in.
func (d *disk) locate(name string) (place, error) {
	clean := path.Clean(name)
	parts := strings.SplitN(strings.TrimPrefix(clean, "/"), "/", 3)
	if !path.IsAbs(clean) || len(parts) < 2 {
		return place{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	view, err := strconv.Atoi(parts[0])
	if _, ok := d.mounts[parts[1]]; err != nil || !ok {
		return place{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	at := place{view: view, mount: parts[1], path: "."}
	if len(parts) == 3 {
		at.path = parts[2]
	}
	return at, nil
}

// resolve follows the links on the way, so that a rule about folders is about the real ones.
func (d *disk) resolve(at place) (place, error) {
	links, ok := d.mounts[at.mount].tree.(fs.ReadLinkFS)
	if !ok {
		return at, nil
	}
	parts, done := strings.Split(at.path, "/"), "."
	for followed := 0; len(parts) > 0; {
		next := path.Join(done, parts[0])
		info, err := links.Lstat(next)
		if err != nil {
			return at, err
		}
		parts = parts[1:]
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := links.ReadLink(next)
		if err != nil {
			return at, err
		}
		if followed++; followed > maxLinks {
			return at, fmt.Errorf("%s: too many links", at.path)
		}
		to := path.Join(path.Dir(next), target)
		if path.IsAbs(target) || !fs.ValidPath(to) {
			return at, fmt.Errorf("the link %s leads out of the repository", next)
		}
		parts, done = append(strings.Split(to, "/"), parts...), "."
	}
	at.path = done
	return at, nil
}

func (d *disk) stat(at place) (fs.FileInfo, error) { return fs.Stat(d.mounts[at.mount].tree, at.path) }

// ReadFile is the content of a file.
func (d *disk) ReadFile(name string) ([]byte, error) {
	if data, ok := d.written[path.Clean(name)]; ok {
		return data, nil
	}
	at, err := d.locate(name)
	if err != nil {
		return nil, err
	}
	info, err := d.stat(at)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", name)
	}
	if info.Size() > manifest.MaxFileBytes {
		return nil, fmt.Errorf("%s is %d bytes long, the limit is %d", name, info.Size(), manifest.MaxFileBytes)
	}
	d.reads++
	if d.bytes += int(info.Size()); d.reads > maxReads || d.bytes > maxReadBytes {
		return nil, fmt.Errorf("reading %s: the build reads more than %d files or %d bytes", name, maxReads, maxReadBytes)
	}
	return fs.ReadFile(d.mounts[at.mount].tree, at.path)
}

// CleanedAbs splits a path into its folder, free of links, and the name of its file.
func (d *disk) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	at, err := d.locate(name)
	if err != nil {
		return "", "", err
	}
	if _, ok := d.written[at.String()]; ok {
		return filesys.ConfirmedDir(path.Dir(at.String())), path.Base(at.path), nil
	}
	if at, err = d.resolve(at); err != nil {
		return "", "", err
	}
	info, err := d.stat(at)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return filesys.ConfirmedDir(at.String()), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(at.String())), path.Base(at.path), nil
}

// Exists reports whether there is something.
func (d *disk) Exists(name string) bool {
	if _, ok := d.written[path.Clean(name)]; ok {
		return true
	}
	at, err := d.locate(name)
	if err != nil {
		return false
	}
	_, err = d.stat(at)
	return err == nil
}

// IsDir reports whether there is a folder.
func (d *disk) IsDir(name string) bool {
	at, err := d.locate(name)
	if err != nil {
		return false
	}
	info, err := d.stat(at)
	return err == nil && info.IsDir()
}

// ReadDir is the names in a folder.
func (d *disk) ReadDir(name string) ([]string, error) {
	at, err := d.locate(name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(d.mounts[at.mount].tree, at.path)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// errNotHere is what everything answers that a build has no use for.
var errNotHere = errors.New("this cannot be done while a source is rendered")

// Create is refused, as is everything that would change a file or lead elsewhere.
func (d *disk) Create(string) (filesys.File, error) { return nil, errNotHere }

// Mkdir is refused.
func (d *disk) Mkdir(string) error { return errNotHere }

// MkdirAll is refused.
func (d *disk) MkdirAll(string) error { return errNotHere }

// RemoveAll is refused.
func (d *disk) RemoveAll(string) error { return errNotHere }

// Open is refused: a build reads whole files.
func (d *disk) Open(string) (filesys.File, error) { return nil, errNotHere }

// WriteFile is refused: what is written is written before the build.
func (d *disk) WriteFile(string, []byte) error { return errNotHere }

// Glob is refused: a build looks files up by name.
func (d *disk) Glob(string) ([]string, error) { return nil, errNotHere }

// Walk is refused: a build looks files up by name.
func (d *disk) Walk(string, filepath.WalkFunc) error { return errNotHere }
