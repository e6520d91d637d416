// Package reads is what a render read: files, listings, whole folders, and names that it looked for and did not find.
// From that follows whether another commit would render the same, and which applications a push concerns. It works on
// names and digests alone: it must not open anything.
package reads

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is what was read of a path.
type Kind byte

const (
	// File is the content of a file.
	File Kind = 'f'
	// Listing is the names in a folder and what each of them is, not what is in them.
	Listing Kind = 'l'
	// Folder is everything in a folder and below.
	Folder Kind = 'd'
	// Link is where a symbolic link points to.
	Link Kind = 'k'
	// Type is whether a path is a folder.
	Type Kind = 't'
	// Absent is that there is nothing.
	Absent Kind = 'a'
)

// Read is one thing that was read. Its path leads through no symbolic link: one that was followed is a read of its own.
type Read struct {
	// Tree is the name of the tree that the path is in; "" is that of the source itself.
	Tree string `json:"t,omitempty"`
	Path string `json:"p"`
	Kind Kind   `json:"k"`
	// Digest names what was found; it is empty for what is absent.
	Digest string `json:"d,omitempty"`
}

// Set is what one render read, in order and each once.
type Set []Read

// Of puts reads in order. What a folder covers is not told again.
func Of(all []Read) Set {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Read) int {
		return cmp.Or(cmp.Compare(a.Tree, b.Tree), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
	})
	sorted = slices.CompactFunc(sorted, func(a, b Read) bool { return a.Tree == b.Tree && a.Path == b.Path && a.Kind == b.Kind })
	type place struct{ tree, path string }
	folders := map[place]struct{}{}
	for _, r := range sorted {
		if r.Kind == Folder {
			folders[place{r.Tree, r.Path}] = struct{}{}
		}
	}
	return slices.DeleteFunc(sorted, func(r Read) bool {
		if r.Kind != Folder {
			if _, ok := folders[place{r.Tree, r.Path}]; ok {
				return true
			}
		}
		for dir := r.Path; dir != "."; {
			dir = parent(dir)
			if _, ok := folders[place{r.Tree, dir}]; ok {
				return true
			}
		}
		return false
	})
}

// parent is the folder of a path; that of a name is ".".
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

// Change is one path that differs between two commits.
type Change struct {
	Path string
	// Shape says that the path came, went, or became something else, so that the listing of its folder differs too.
	Shape bool
}
