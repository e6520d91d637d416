package source

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Bounds on a way through a tree.
const (
	maxDepth     = 128
	maxLinks     = 40
	maxLinkBytes = 4 << 10
)

// place is an entry with the folders that lead to it, the root first.
type place []entry

func (p place) entry() entry { return p[len(p)-1] }

func (p place) parent() place { return slices.Clip(p[:len(p)-1]) }

func (p place) path() string {
	names := make([]string, 0, len(p))
	for _, e := range p[1:] {
		names = append(names, e.name)
	}
	if len(names) == 0 {
		return "."
	}
	return strings.Join(names, "/")
}

// within are the names below the root, or below where the submodule begins that the place is in.
func (p place) within() place {
	for i := len(p) - 1; i > 0; i-- {
		if p[i].mount {
			return p[i+1:]
		}
	}
	return p[1:]
}

// trail is what was met on the way along a path.
type trail struct {
	links []place // the symbolic links that were followed
	last  place   // where the way ended that led nowhere
	name  string  // what was not found there
}

// walk follows a path from the root. Symbolic links are followed within the repository, the last one only if asked to;
// the caller holds the mutex.
func (s *snapshot) walk(name string, followLast bool) (place, error) {
	return s.follow(name, followLast, &trail{})
}

// follow is walk, and keeps a trail.
func (s *snapshot) follow(name string, followLast bool, met *trail) (place, error) {
	root, err := s.rootEntry()
	if err != nil {
		return nil, err
	}
	at := place{root}
	pending := strings.Split(name, "/")
	for len(pending) > 0 {
		met.last, met.name = at, pending[0]
		at, err = s.step(at, pending[0])
		if err != nil {
			return nil, err
		}
		pending = pending[1:]
		if !at.entry().isLink() || (len(pending) == 0 && !followLast) {
			continue
		}
		if met.links = append(met.links, at); len(met.links) > maxLinks {
			return nil, fault.Terminalf("SymlinkLoop", "the symbolic link %q leads round in circles; correct or remove it", at.path())
		}
		target, err := s.target(at)
		if err != nil {
			return nil, err
		}
		at = at.parent()
		pending = append(strings.Split(target, "/"), pending...)
	}
	return at, nil
}

// step goes on by one name.
func (s *snapshot) step(at place, name string) (place, error) {
	if name == "" || name == "." {
		return at, nil
	}
	if !at.entry().isDir() || len(at) > maxDepth {
		return nil, fs.ErrNotExist
	}
	if name == ".." {
		if len(at) == 1 || at.entry().mount {
			return nil, fault.Terminalf("SymlinkEscapes", "a symbolic link by way of others leads outside of the repository; "+
				"make it relative and within, or remove it")
		}
		return at.parent(), nil
	}
	at, err := s.enter(at)
	if err != nil {
		return nil, err
	}
	entries, err := s.inside(at)
	if err != nil {
		return nil, err
	}
	child, ok := findEntry(entries, name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return append(slices.Clip(at), child), nil
}

// target reads where a symbolic link points to, and refuses it if that is outside of the repository, though it may come
// back in: "../../repo/file" would mean something else wherever the repository has another name.
func (s *snapshot) target(at place) (string, error) {
	found, err := s.blob(at.entry(), maxLinkBytes, true)
	if err != nil {
		return "", err
	}
	text := string(found.content)
	depth, lowest := len(at.within())-1, 0
	for part := range strings.SplitSeq(text, "/") {
		switch part {
		case "", ".":
		case "..":
			depth--
			lowest = min(lowest, depth)
		default:
			depth++
		}
	}
	if text == "" || strings.HasPrefix(text, "/") || strings.ContainsRune(text, 0) || lowest < 0 {
		return "", fault.Terminalf("SymlinkEscapes", "the symbolic link %q points to %q, outside of the repository; "+
			"make it relative and within, or remove it", at.path(), text)
	}
	return text, nil
}
