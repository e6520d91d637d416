package helm

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Bounds on a glob: how many folders are looked into, and how many alternatives its braces may stand for.
const (
	maxGlobFolders = 10_000
	maxGlobBraces  = 256
)

func hasGlob(name string) bool { return strings.ContainsAny(name, "*?[{") }

// glob finds the files that a pattern matches, in the order of their paths. Only the folders that the pattern can reach
// are listed.
func (v *values) glob(at file) ([]file, error) {
	patterns, ok := braces(at.path)
	if !ok {
		return nil, fault.Terminalf("InvalidPattern", "value file %q stands for more than %d patterns; write fewer alternatives",
			at.written, maxGlobBraces)
	}
	search := search{tree: v.trees[at.tree], found: map[string]struct{}{}}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fault.Terminalf("InvalidPattern", "value file %q is not a pattern: %w", at.written, err)
		}
		if err := search.below(".", strings.Split(pattern, "/")); err != nil {
			return nil, fault.Terminalf("InvalidPattern", "looking for value files %q: %w", at.written, err)
		}
	}
	var files []file
	for name := range search.found {
		files = append(files, file{tree: at.tree, path: name, written: at.written})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

type search struct {
	tree    fs.FS
	found   map[string]struct{}
	folders int
}

// below matches the segments of a pattern against what is in a folder. "**" is any number of folders, also none.
func (s *search) below(dir string, pattern []string) error {
	segment, rest := pattern[0], pattern[1:]
	if segment == "**" {
		if len(rest) == 0 {
			rest = []string{"*"}
		}
		if err := s.below(dir, rest); err != nil {
			return err
		}
	} else if !hasGlob(segment) {
		return s.enter(path.Join(dir, segment), rest)
	}
	if s.folders++; s.folders > maxGlobFolders {
		return errors.New("the pattern leads through too many folders; write more of the path")
	}
	entries, err := fs.ReadDir(s.tree, dir)
	if err != nil {
		return nil //nolint:nilerr // a pattern may name a folder that is not there, which matches nothing
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if segment == "**" {
			if entry.IsDir() {
				err = s.below(name, pattern)
			}
		} else if matches, _ := path.Match(segment, entry.Name()); matches {
			err = s.enter(name, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *search) enter(name string, rest []string) error {
	info, err := fs.Stat(s.tree, name)
	if err != nil {
		return nil //nolint:nilerr // what is not there matches nothing
	}
	if len(rest) == 0 {
		if !info.IsDir() {
			s.found[name] = struct{}{}
		}
		return nil
	}
	if !info.IsDir() {
		return nil
	}
	return s.below(name, rest)
}

// braces writes the alternatives of a pattern out.
func braces(pattern string) ([]string, bool) {
	begin := strings.IndexByte(pattern, '{')
	if begin < 0 {
		return []string{pattern}, true
	}
	depth, from := 0, begin+1
	var options []string
	for i := begin; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				options = append(options, pattern[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			var out []string
			for _, option := range append(options, pattern[from:i]) {
				expanded, ok := braces(pattern[:begin] + option + pattern[i+1:])
				if out = append(out, expanded...); !ok || len(out) > maxGlobBraces {
					return nil, false
				}
			}
			return out, true
		}
	}
	return []string{pattern}, true
}
