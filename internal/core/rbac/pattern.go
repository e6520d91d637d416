package rbac

import (
	"errors"
	"fmt"
	"regexp"
	regex "regexp/syntax"
	"strings"

	"github.com/gobwas/glob"
	"github.com/gobwas/glob/syntax"
)

const (
	// maxPattern is longer than any name that a pattern could be for.
	maxPattern = 1024
	// maxWeight bounds the program of a regular expression, which a few letters
	// can make as large as they like.
	maxWeight = 10_000
)

// pattern is one field of a line. It is exact, or text between stars, or a
// regular expression; the zero value matches nothing.
type pattern struct {
	// parts are the texts between stars; one alone is exact.
	parts []string
	re    *regexp.Regexp
}

// anything matches all there is.
var anything = pattern{parts: []string{"", ""}}

func exactly(text string) pattern { return pattern{parts: []string{text}} }

// compile reads a pattern.
func compile(mode Mode, text string) (pattern, error) {
	if len(text) > maxPattern {
		return pattern{}, fmt.Errorf("it is longer than %d bytes", maxPattern)
	}
	if mode == Regex {
		return compileRegex(text)
	}
	return compileGlob(text)
}

func compileRegex(text string) (pattern, error) {
	tree, err := regex.Parse(text, regex.Perl)
	if err != nil {
		return pattern{}, err
	}
	if weight(tree) > maxWeight {
		return pattern{}, errors.New("it repeats too much")
	}
	re, err := regexp.Compile(text)
	return pattern{re: re}, err
}

// weight is about as large as the program of an expression will be.
func weight(tree *regex.Regexp) int {
	out := 1 + len(tree.Rune)
	for _, sub := range tree.Sub {
		out += weight(sub)
	}
	if tree.Op == regex.OpRepeat {
		out *= max(tree.Min, tree.Max, 1)
	}
	return min(out, maxWeight+1)
}

// compileGlob reads a glob with the parser whose language it is, and matches it
// by other means: that library goes back and forth over the text, which a
// pattern can drive as far as it likes.
func compileGlob(text string) (pattern, error) {
	if _, err := glob.Compile(text); err != nil {
		return pattern{}, err
	}
	lexer := syntax.NewLexer(text)
	parts, simple := []string{""}, true
	var expression strings.Builder
	for token := lexer.Next(); token.Type != syntax.EOF; token = lexer.Next() {
		switch token.Type {
		case syntax.Error:
			return pattern{}, errors.New(token.Data)
		case syntax.Text:
			parts[len(parts)-1] += token.Data
		case syntax.Any, syntax.Super:
			parts = append(parts, "")
		default:
			simple = false
		}
		expression.WriteString(translated(token, lexer))
	}
	if simple {
		return pattern{parts: parts}, nil
	}
	return compileRegex(`(?s)^(?:` + expression.String() + `)$`)
}

// translated is what a piece of a glob is as a regular expression. That of a
// class reads on to its end.
func translated(token syntax.Token, lexer *syntax.Lexer) string {
	switch token.Type {
	case syntax.Text:
		return regexp.QuoteMeta(token.Data)
	case syntax.Any, syntax.Super:
		return ".*"
	case syntax.Single:
		return "."
	case syntax.TermsOpen:
		return "(?:"
	case syntax.TermSeparator:
		return "|"
	case syntax.TermsClose:
		return ")"
	case syntax.RangeOpen:
		return class(lexer)
	default:
		return ""
	}
}

func class(lexer *syntax.Lexer) string {
	var out strings.Builder
	out.WriteString("[")
	for token := lexer.Next(); !ends(token); token = lexer.Next() {
		switch token.Type {
		case syntax.Not:
			out.WriteString("^")
		case syntax.RangeBetween:
			out.WriteString("-")
		default:
			for _, r := range token.Data {
				fmt.Fprintf(&out, `\x{%x}`, r)
			}
		}
	}
	return out.String() + "]"
}

func ends(token syntax.Token) bool {
	return token.Type == syntax.RangeClose || token.Type == syntax.EOF || token.Type == syntax.Error
}

// exact is the only text that the pattern matches, if there is only one.
func (p pattern) exact() (string, bool) {
	if p.re == nil && len(p.parts) == 1 {
		return p.parts[0], true
	}
	return "", false
}

// prefix is what every text begins with that the pattern matches.
func (p pattern) prefix() string {
	if p.re != nil || len(p.parts) == 0 {
		return ""
	}
	return p.parts[0]
}

func (p pattern) all() bool {
	return p.re == nil && len(p.parts) == 2 && p.parts[0] == "" && p.parts[1] == ""
}

// match takes the first place that fits for each text between stars: if there
// is a way to match at all, this is one.
func (p pattern) match(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	switch len(p.parts) {
	case 0:
		return false
	case 1:
		return text == p.parts[0]
	}
	text, ok := strings.CutPrefix(text, p.parts[0])
	if !ok {
		return false
	}
	last := len(p.parts) - 1
	for _, part := range p.parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, p.parts[last])
}
