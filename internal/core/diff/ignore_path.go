package diff

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Path is the way to a field as people read it, taken apart:
// spec.template.spec.containers[web].image.
type Path []Segment

// Segment is one step: a field, a list item by its index, by its keys or by
// its value. Exactly one of them is set; a nil Keys, a nil Index and an empty
// Value leave the field, which may have an empty name.
type Segment struct {
	Field string
	Index *int
	Keys  []Key
	// Value is the JSON of a list item that is no map.
	Value string
}

// Key is a field by which a list item is found, with its value as text: what
// is printed does not tell 80 from "80".
type Key struct{ Name, Value string }

const orderSuffix = " (order)"

// ParsePath reads a path as Judge and Compare print it. A path that is about
// the order of a list is the path of that list.
func ParsePath(text string) (Path, error) {
	rest := strings.TrimSuffix(text, orderSuffix)
	if rest == "" {
		return nil, fmt.Errorf("reading the path %q: it names no field", text)
	}
	var out Path
	for rest != "" {
		var s Segment
		var err error
		if strings.HasPrefix(rest, "[") {
			s, rest, err = parseBracket(rest)
		} else {
			s, rest, err = parseField(rest, len(out) == 0)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the path %q: %w", text, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func parseField(rest string, first bool) (Segment, string, error) {
	name := rest
	if !first {
		var ok bool
		if name, ok = strings.CutPrefix(rest, "."); !ok {
			return Segment{}, "", fmt.Errorf("%q does not begin with a dot or a bracket", rest)
		}
	}
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	if end == 0 {
		return Segment{}, "", fmt.Errorf("a field without a name before %q", name)
	}
	return Segment{Field: name[:end]}, name[end:], nil
}

var keyList = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*=`)

func parseBracket(rest string) (Segment, string, error) {
	inside, quoted := rest[1:], strings.HasPrefix(rest, `["`) || strings.HasPrefix(rest, `[="`)
	if quoted {
		inside = strings.TrimPrefix(inside, "=")
		text, err := strconv.QuotedPrefix(inside)
		if err != nil || !strings.HasPrefix(inside[len(text):], "]") {
			return Segment{}, "", fmt.Errorf("a quote in %q is not closed", rest)
		}
		after := inside[len(text)+1:]
		if rest[1] == '=' {
			return Segment{Value: text}, after, nil
		}
		name, err := strconv.Unquote(text)
		if err != nil {
			return Segment{}, "", fmt.Errorf("reading the name %s: %w", text, err)
		}
		return Segment{Field: name}, after, nil
	}
	inside, after, ok := strings.Cut(inside, "]")
	if !ok {
		return Segment{}, "", fmt.Errorf("a bracket in %q is not closed", rest)
	}
	s, err := parseItem(inside)
	return s, after, err
}

func parseItem(inside string) (Segment, error) {
	if value, ok := strings.CutPrefix(inside, "="); ok {
		if !json.Valid([]byte(value)) {
			return Segment{}, fmt.Errorf("the value %q is no JSON", value)
		}
		return Segment{Value: value}, nil
	}
	if i, ok := plainIndex(inside); ok {
		return Segment{Index: &i}, nil
	}
	if !keyList.MatchString(inside) {
		return Segment{Keys: []Key{{"name", inside}}}, nil
	}
	var keys []Key
	for part := range strings.SplitSeq(inside, ",") {
		name, value, ok := strings.Cut(part, "=")
		if ok && keyList.MatchString(part) {
			keys = append(keys, Key{name, value})
			continue
		}
		// A comma in a value.
		keys[len(keys)-1].Value += "," + part
	}
	return Segment{Keys: keys}, nil
}

func plainIndex(text string) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == text
}

// String is the path as people read it.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		text := s.String()
		if b.Len() > 0 && !strings.HasPrefix(text, "[") {
			b.WriteByte('.')
		}
		b.WriteString(text)
	}
	return b.String()
}

// String is one step as people read it.
func (s Segment) String() string {
	switch {
	case s.Index != nil:
		return fmt.Sprintf("[%d]", *s.Index)
	case len(s.Keys) == 1 && s.Keys[0].Name == "name" && !ambiguous(s.Keys[0].Value):
		return "[" + s.Keys[0].Value + "]"
	case len(s.Keys) > 0:
		parts := make([]string, len(s.Keys))
		for i, k := range s.Keys {
			parts[i] = k.Name + "=" + k.Value
		}
		return "[" + strings.Join(parts, ",") + "]"
	case s.Value != "":
		return "[=" + s.Value + "]"
	case s.Field == "" || strings.ContainsAny(s.Field, "./[]\" "):
		return fmt.Sprintf("[%q]", s.Field)
	}
	return s.Field
}

// ambiguous names would be read as something else than a name.
func ambiguous(name string) bool {
	_, number := plainIndex(name)
	return number || name == "" || strings.HasPrefix(name, `"`) || strings.Contains(name, "=")
}

// pointer is the path as a JSON pointer, if fields and indices are all it has.
func (p Path) pointer() (pointer, bool) {
	out := make(pointer, 0, len(p))
	for _, s := range p {
		switch {
		case s.Index != nil:
			out = append(out, strconv.Itoa(*s.Index))
		case s.Keys != nil || s.Value != "":
			return nil, false
		default:
			out = append(out, s.Field)
		}
	}
	return out, true
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// jq is the path as a jq path expression.
func (p Path) jq() string {
	var b strings.Builder
	open := true // at the start of a step of the pipe
	for _, s := range p {
		switch {
		case s.Keys != nil || s.Value != "":
			fmt.Fprintf(&b, "%s[] | select(%s)", dotIf(open), s.condition())
			open = true
			continue
		case open && b.Len() > 0:
			b.WriteString(" | ")
		}
		switch {
		case s.Index != nil:
			fmt.Fprintf(&b, "%s[%d]", dotIf(open), *s.Index)
		case plainName.MatchString(s.Field):
			b.WriteString("." + s.Field)
		default:
			fmt.Fprintf(&b, "%s[%s]", dotIf(open), quoted(s.Field))
		}
		open = false
	}
	return b.String()
}

func dotIf(open bool) string {
	if open {
		return "."
	}
	return ""
}

// condition is what picks the list item in jq.
func (s Segment) condition() string {
	if s.Value != "" {
		return ". == " + s.Value
	}
	parts := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		left := "." + k.Name
		if !plainName.MatchString(k.Name) {
			left = ".[" + quoted(k.Name) + "]"
		}
		if !textual(k.Value) {
			left = "(" + left + " | tostring)"
		}
		parts[i] = left + " == " + quoted(k.Value)
	}
	return strings.Join(parts, " and ")
}

// textual reports whether a key's value can only have been text.
func textual(v string) bool {
	return !json.Valid([]byte(v)) || strings.HasPrefix(v, `"`)
}

// quoted is a string as jq reads it: JSON in which nothing is interpolated,
// since json.Marshal doubles each backslash.
func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(raw)
}

// list is the part of the path up to the first list item that has no name of
// its own: leaving out an item renumbers the rest.
func (p Path) list() Path {
	i := slices.IndexFunc(p, func(s Segment) bool { return s.Index != nil })
	if i < 0 {
		return p
	}
	return p[:i]
}

// find is the value at the end of the path.
func (p Path) find(doc any) (any, bool) {
	for _, s := range p {
		var ok bool
		if doc, ok = s.find(doc); !ok {
			return nil, false
		}
	}
	return doc, true
}

func (s Segment) find(v any) (any, bool) {
	if m, ok := v.(map[string]any); ok && s.Index == nil && s.Keys == nil && s.Value == "" {
		child, ok := m[s.Field]
		return child, ok
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	if s.Index != nil {
		if *s.Index >= len(list) {
			return nil, false
		}
		return list[*s.Index], true
	}
	i := slices.IndexFunc(list, s.names)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// names reports whether the segment names this list item.
func (s Segment) names(item any) bool {
	if s.Value != "" {
		raw, err := json.Marshal(item)
		return err == nil && string(raw) == s.Value
	}
	m, ok := item.(map[string]any)
	return ok && len(s.Keys) > 0 && !slices.ContainsFunc(s.Keys, func(k Key) bool {
		value, has := m[k.Name]
		return !has || fmt.Sprint(value) != k.Value
	})
}
