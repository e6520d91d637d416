package manifest

import (
	"path"

	"github.com/gobwas/glob"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Bounds on a pattern: a longer one, or one of more alternatives, is a mistake or an attack.
const (
	maxPatternBytes = 16 << 10
	maxAlternatives = 4096
)

// Filter decides which files of a folder are taken.
type Filter struct {
	include, exclude patterns
	everyExtension   bool
}

// NewFilter compiles the patterns of a directory; nil has none. As in Argo CD, '*' also matches '/', so "*.yaml" takes
// files at every depth.
func NewFilter(of *v1alpha1.ApplicationSourceDirectory) (Filter, error) {
	if of == nil {
		of = &v1alpha1.ApplicationSourceDirectory{}
	}
	include, err := compile("include", of.Include)
	if err != nil {
		return Filter{}, err
	}
	exclude, err := compile("exclude", of.Exclude)
	if err != nil {
		return Filter{}, err
	}
	return Filter{include: include, exclude: exclude, everyExtension: of.DisableExtensionFilter}, nil
}

// Match reports whether the file is taken. The path is relative to the folder of the Request, with '/' between names.
func (f Filter) Match(rel string) bool {
	if !f.everyExtension && !manifestExtension(rel) {
		return false
	}
	if f.exclude.match(rel) {
		return false
	}
	return len(f.include) == 0 || f.include.match(rel)
}

func manifestExtension(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".jsonnet":
		return true
	}
	return false
}

// patterns match what one of them matches.
type patterns []*glob.Pattern

func (p patterns) match(name string) bool {
	for _, pattern := range p {
		if pattern.Match(name) {
			return true
		}
	}
	return false
}

// compile writes the alternatives of a pattern out as patterns of their own. The matcher would try every way through
// "{*a,a*}{*a,a*}…", which takes minutes for ten groups; without alternatives it only ever goes back to the last star.
func compile(field, pattern string) (patterns, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > maxPatternBytes {
		return nil, fault.Terminalf("InvalidPattern", "directory.%s is %d bytes long, the limit is %d",
			field, len(pattern), maxPatternBytes)
	}
	if _, err := glob.Compile(pattern); err != nil {
		return nil, fault.Terminalf("InvalidPattern", "reading directory.%s %q: %w; correct the pattern", field, pattern, err)
	}
	expanded, ok := expand(pattern)
	if !ok {
		return nil, fault.Terminalf("InvalidPattern", "directory.%s %q stands for more than %d patterns; write fewer alternatives",
			field, pattern, maxAlternatives)
	}
	var compiled patterns
	for _, one := range expanded {
		matcher, err := glob.Compile(one)
		if err != nil {
			return nil, fault.Terminalf("InvalidPattern", "reading %q of directory.%s %q: %w", one, field, pattern, err)
		}
		compiled = append(compiled, matcher)
	}
	return compiled, nil
}

// expand writes out the braces of a pattern that is known to be well formed; false means that there are too many.
func expand(pattern string) ([]string, bool) {
	begin, end, commas := braces(pattern)
	if begin < 0 {
		return []string{pattern}, true
	}
	tails, ok := expand(pattern[end+1:])
	if !ok {
		return nil, false
	}
	var expanded []string
	from := begin + 1
	for _, to := range append(commas, end) {
		inner, ok := expand(pattern[from:to])
		if !ok || len(expanded)+len(inner)*len(tails) > maxAlternatives {
			return nil, false
		}
		for _, middle := range inner {
			for _, tail := range tails {
				expanded = append(expanded, pattern[:begin]+middle+tail)
			}
		}
		from = to + 1
	}
	return expanded, true
}

// braces finds the first group of alternatives: its braces and the commas directly within; begin is -1 if there is none.
func braces(pattern string) (begin, end int, commas []int) {
	begin = -1
	depth, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
			if begin < 0 {
				begin = i
			}
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}':
			depth--
			if depth == 0 {
				return begin, i, commas
			}
		}
	}
	return -1, 0, nil
}
