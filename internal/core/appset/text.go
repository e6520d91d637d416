package appset

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
)

// maxText bounds what one string of a template may become. An Application that holds more than that could not be stored.
const maxText = 1 << 20

var errTooLong = fmt.Errorf("it becomes longer than %d bytes; an Application cannot hold that", maxText)

// templater turns strings with parameters in them into texts, in one of the two languages that a set may be written in.
type templater struct {
	language bool // Go's templates
	options  []string
	funcs    template.FuncMap
}

// The options that text/template knows. It panics on any other.
var knownOptions = []string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}

func newTemplater(goTemplate bool, options []string, now time.Time) (*templater, error) {
	if !goTemplate {
		return &templater{}, nil
	}
	for _, o := range options {
		if !slices.Contains(knownOptions, o) {
			return nil, fmt.Errorf("spec.goTemplateOptions has %q, which is no option of Go's templates; there are %s",
				o, strings.Join(knownOptions, ", "))
		}
	}
	return &templater{language: true, options: options, funcs: functions(now)}, nil
}

// text is a string with parameters in it, taken apart once and filled in often.
type text struct {
	at     string // where it stands, for a person
	parsed *template.Template
	parts  []part
	// writes says that the template may change what it is given.
	writes bool
}

// part is a piece of a text in the old language: words, or the name of a parameter and how it was written.
type part struct{ words, name string }

// templated tells whether there is anything to fill in.
func templated(s string) bool { return strings.Contains(s, "{{") }

func (t *templater) parse(at, s string) (*text, error) {
	if !t.language {
		parts, err := oldParts(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return &text{at: at, parts: parts}, nil
	}
	parsed, err := template.New("").Funcs(t.funcs).Option(t.options...).Parse(s)
	if err != nil {
		return nil, fmt.Errorf("%s: the template %s cannot be read: %s; correct it", at, excerpt(s), parseTrouble(err))
	}
	return &text{at: at, parsed: parsed, writes: writing.MatchString(s)}, nil
}

// writing are the functions that change a map in place.
var writing = regexp.MustCompile(`(?i)\b(set|unset|(must)?merge(overwrite)?)\b`)

// oldTag is what makes a string of the old language a template at all: both brackets on one line.
var oldTag = regexp.MustCompile(`{{.*}}`)

// oldParts takes a string of the old language apart, in which {{name}} stands for a parameter.
func oldParts(s string) ([]part, error) {
	if !oldTag.MatchString(s) {
		return []part{{words: s}}, nil
	}
	var out []part
	for rest := s; rest != ""; {
		words, after, found := strings.Cut(rest, "{{")
		if words != "" {
			out = append(out, part{words: words})
		}
		if !found {
			break
		}
		tag, next, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("%s opens with {{ and does not close; write }} behind the name of the parameter", excerpt(s))
		}
		out = append(out, part{words: "{{" + tag + "}}", name: strings.TrimSpace(tag)})
		rest = next
	}
	return out, nil
}

// fill is the text with the parameters in it.
func (x *text) fill(params map[string]any) (string, error) {
	if x.parsed == nil {
		return x.fillOld(params), nil
	}
	if x.writes {
		// Sets share parts of each other, and of what is remembered for the next time.
		params = copied(params)
	}
	var out bounded
	if err := x.parsed.Execute(&out, params); err != nil {
		return "", fmt.Errorf("%s: %s", x.at, fillTrouble(err))
	}
	return out.String(), nil
}

// fillOld leaves a parameter that there is not as it was written.
func (x *text) fillOld(params map[string]any) string {
	if len(x.parts) == 1 && x.parts[0].name == "" {
		return x.parts[0].words
	}
	var b strings.Builder
	for _, p := range x.parts {
		value, ok := params[p.name].(string)
		if p.name == "" || !ok {
			value = p.words
		}
		b.WriteString(value)
	}
	return b.String()
}

// bounded is a buffer with an end.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

func parseTrouble(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: :"), "1: ")
}

// fillTrouble is the error of a template without what a user cannot know of it.
func fillTrouble(err error) string {
	if errors.Is(err, errTooLong) {
		return errTooLong.Error()
	}
	what := err.Error()
	if _, rest, ok := strings.Cut(what, ` at <`); ok {
		what = "at <" + rest
	}
	if strings.Contains(what, "map has no entry for key") {
		what += `; give every set of parameters that key, or look it up with a default, as in {{ dig "key" "default" . }}`
	}
	return what
}

func excerpt(s string) string {
	const most = 80
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
