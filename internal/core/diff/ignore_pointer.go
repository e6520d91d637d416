package diff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pointer is a JSON pointer (RFC 6901), taken apart.
type pointer []string

var strayTilde = regexp.MustCompile(`~([^01]|$)`)

// parsePointer reads a pointer, or says what is wrong with it and how to write
// it.
func parsePointer(text string) (pointer, string) {
	switch {
	case text == "" || text == "/":
		return nil, fmt.Sprintf("the JSON pointer %q is the whole object; name a field, as in \"/spec/replicas\"", text)
	case !strings.HasPrefix(text, "/"):
		return nil, fmt.Sprintf("the JSON pointer %q does not begin with a slash; write %q", text, "/"+text)
	case strayTilde.MatchString(text):
		return nil, fmt.Sprintf("the JSON pointer %q has a ~ that escapes nothing; write ~0 for ~ and ~1 for /", text)
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	tokens := strings.Split(text[1:], "/")
	for i, t := range tokens {
		tokens[i] = unescape.Replace(t)
	}
	return tokens, ""
}

// String is the pointer with its escapes.
func (p pointer) String() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, t := range p {
		b.WriteByte('/')
		b.WriteString(escape.Replace(t))
	}
	return b.String()
}

// without is the document without what the pointer names; a document that has
// no such thing comes back as it is. Only the maps and lists on the way are
// copied.
func (p pointer) without(doc map[string]any) map[string]any {
	out, ok := remove(doc, p).(map[string]any)
	if !ok {
		return doc
	}
	return out
}

func remove(v any, tokens []string) any {
	switch t := v.(type) {
	case map[string]any:
		child, ok := t[tokens[0]]
		if !ok {
			return v
		}
		out := maps.Clone(t)
		if len(tokens) == 1 {
			delete(out, tokens[0])
			return out
		}
		out[tokens[0]] = remove(child, tokens[1:])
		return out
	case []any:
		i, ok := index(tokens[0], len(t))
		if !ok {
			return v
		}
		out := slices.Clone(t)
		if len(tokens) == 1 {
			return slices.Delete(out, i, i+1)
		}
		out[i] = remove(t[i], tokens[1:])
		return out
	default:
		return v
	}
}

// index reads a list index. A negative one counts from the end, as Argo CD has
// it; "-" is the place after the last item, where nothing is.
func index(token string, length int) (int, bool) {
	i, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(i) != token {
		return 0, false
	}
	if i < 0 {
		i += length
	}
	return i, i >= 0 && i < length
}

// lookup is the value that a pointer names.
func (p pointer) lookup(doc map[string]any) (any, bool) {
	var v any = doc
	for _, token := range p {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[token]; !ok {
			return nil, false
		}
	}
	return v, true
}

// with is the document with a value where the pointer names a field; maps that
// are missing on the way are made.
func (p pointer) with(doc map[string]any, value any) map[string]any {
	out := maps.Clone(doc)
	if out == nil {
		out = map[string]any{}
	}
	if len(p) == 1 {
		out[p[0]] = value
		return out
	}
	child, _ := out[p[0]].(map[string]any)
	out[p[0]] = p[1:].with(child, value)
	return out
}

// identity is what says which object this is and who owns which field. Rules
// do not reach it: an object without its kind would lose the masking of
// secrets, and one without managedFields the border of what is ours.
func identity() []pointer {
	return []pointer{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "managedFields"}}
}

func restored(doc map[string]any, from *unstructured.Unstructured) *unstructured.Unstructured {
	for _, p := range identity() {
		want, had := p.lookup(from.Object)
		if _, has := p.lookup(doc); had && !has {
			doc = p.with(doc, want)
		}
	}
	return &unstructured.Unstructured{Object: doc}
}

// tidy leaves out maps and lists that are empty on one side and missing on the
// other, in the places where both say the same. Elsewhere they do not: an
// empty podSelector selects every pod.
func (s *sides) tidy() {
	var places []pointer
	for _, prefix := range []pointer{{"metadata"}, {"spec", "template", "metadata"}} {
		for _, name := range []string{"annotations", "labels", "finalizers", "ownerReferences"} {
			places = append(places, append(slices.Clip(prefix), name))
		}
	}
	if s.key.Group == "" && (s.key.Kind == "ConfigMap" || s.key.Kind == "Secret") {
		places = append(places, pointer{"data"}, pointer{"binaryData"})
	}
	for _, p := range places {
		l, inLive := p.lookup(s.live)
		o, inPredicted := p.lookup(s.predicted)
		if inLive && !inPredicted && empty(l) {
			s.live = p.without(s.live)
		}
		if inPredicted && !inLive && empty(o) {
			s.predicted = p.without(s.predicted)
		}
	}
}

func empty(v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(t) == 0
	case []any:
		return len(t) == 0
	}
	return false
}
