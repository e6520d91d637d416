package appset

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// glob is a pattern over the paths of files. By default it is read as git reads it, where "*" crosses folders and a
// pattern without wildcards also means everything in the folder of that name; a strict one is read as shells with
// "globstar" do.
type glob struct {
	source string
	strict bool
	// root is the deepest folder that all matches are in.
	root string
	re   *regexp.Regexp
}

const wildcards = `*?[\`

func newGlob(source string, strict bool) (glob, error) {
	g := glob{source: source, strict: strict}
	special := wildcards
	if strict {
		special += "{"
	}
	var text string
	var err error
	if strict {
		text, err = strictExpr(source)
	} else {
		text, err = greedyExpr(source)
	}
	if err != nil {
		return g, err
	}
	if g.re, err = regexp.Compile(text); err != nil {
		return g, fmt.Errorf("it is no pattern: %w; correct it", err)
	}
	g.root = source
	if i := strings.IndexAny(source, special); i >= 0 {
		g.root = path.Dir(source[:i] + "x")
	}
	return g, nil
}

func (g glob) matches(file string) bool { return g.re.MatchString(file) }

// files are the files of a tree that the pattern matches. Folders that cannot hold a match are not listed.
func (g glob) files(tree fs.FS) ([]string, error) {
	if !fs.ValidPath(g.root) {
		return nil, nil
	}
	info, err := fs.Stat(tree, g.root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		if g.matches(g.root) {
			return []string{g.root}, nil
		}
		return nil, nil
	}
	var out []string
	return out, g.walk(tree, g.root, &out)
}

func (g glob) walk(tree fs.FS, dir string, out *[]string) error {
	entries, err := list(tree, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			if g.matches(at) {
				*out = append(*out, at)
			}
		case g.reaches(at):
			if err := g.walk(tree, at, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// reaches tells whether a match can be below a folder. Only a strict pattern can tell: each of its segments is one
// folder, up to a "**".
func (g glob) reaches(dir string) bool {
	if !g.strict || strings.Contains(g.source, "{") {
		return true
	}
	pattern := strings.Split(g.source, "/")
	for i, name := range strings.Split(dir, "/") {
		if i >= len(pattern)-1 {
			return false
		}
		if pattern[i] == "**" {
			return true
		}
		if ok, err := path.Match(pattern[i], name); !ok || err != nil {
			return false
		}
	}
	return true
}

// greedyExpr reads a pattern as git does.
func greedyExpr(source string) (string, error) {
	if !strings.ContainsAny(source, wildcards) {
		return `^` + regexp.QuoteMeta(source) + `(/.*)?$`, nil
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		default:
			n, err := literal(&b, source[i:])
			if err != nil {
				return "", err
			}
			i += n
		}
	}
	b.WriteString(`$`)
	return b.String(), nil
}

// strictExpr reads a pattern where "*" stays in a folder, a segment "**" is any folders, and {a,b} is a choice.
func strictExpr(source string) (string, error) {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	depth := 0
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		whole := i == 0 || source[i-1] == '/'
		switch {
		case whole && strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:[^/]*/)*`)
			i += 2
		case whole && rest == "**":
			b.WriteString(`.*`)
			i++
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
		case rest[0] == '?':
			b.WriteString(`[^/]`)
		case rest[0] == '{':
			depth++
			b.WriteString(`(?:`)
		case rest[0] == '}' && depth > 0:
			depth--
			b.WriteString(`)`)
		case rest[0] == ',' && depth > 0:
			b.WriteString(`|`)
		default:
			n, err := literal(&b, rest)
			if err != nil {
				return "", err
			}
			i += n
		}
	}
	if depth > 0 {
		return "", errors.New("a { in it is not closed; write } behind the choices")
	}
	b.WriteString(`$`)
	return b.String(), nil
}

// literal writes the first character, escape or class of a pattern as an expression, and says how far beyond its first
// byte that went.
func literal(b *strings.Builder, rest string) (int, error) {
	switch {
	case rest[0] == '\\' && len(rest) > 1:
		b.WriteString(regexp.QuoteMeta(rest[1:2]))
		return 1, nil
	case rest[0] == '[':
		end := strings.IndexByte(rest[1:], ']')
		if end <= 0 {
			return 0, errors.New("a [ in it is not closed; write ] behind the characters")
		}
		class := rest[1 : end+1]
		if class[0] == '!' {
			class = "^" + class[1:]
		}
		b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
		return end + 1, nil
	default:
		b.WriteString(regexp.QuoteMeta(rest[:1]))
		return 0, nil
	}
}
