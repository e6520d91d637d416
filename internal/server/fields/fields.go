// Package fields cuts JSON down to the fields that a client asked for by their
// paths, or to all but those. It must not know what the fields mean.
package fields

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Selection says which fields of a document to keep. The zero value keeps all.
type Selection struct {
	text    string
	exclude bool
	root    node
}

// node is what is said about a field and those below it.
type node struct {
	// named says that a path ends here: the field is meant as a whole.
	named bool
	below map[string]*node
}

// maxPaths bounds how many fields are told apart.
const maxPaths = 200

// Parse reads paths such as "items.metadata.name,items.spec", which keep these
// alone; with "-" before the first they are left out. A list is passed through:
// its items have the path of the list.
func Parse(text string) (Selection, error) {
	s := Selection{text: text}
	if text == "" {
		return s, nil
	}
	rest, exclude := strings.CutPrefix(text, "-")
	s.exclude = exclude
	paths := strings.Split(rest, ",")
	if len(paths) > maxPaths {
		return Selection{}, fmt.Errorf("there are %d fields, and must not be more than %d", len(paths), maxPaths)
	}
	for _, path := range paths {
		at := &s.root
		for name := range strings.SplitSeq(strings.TrimSpace(path), ".") {
			if at.below == nil {
				at.below = map[string]*node{}
			}
			if at.below[name] == nil {
				at.below[name] = &node{}
			}
			at = at.below[name]
		}
		at.named = true
	}
	return s, nil
}

// All tells whether everything is kept.
func (s Selection) All() bool { return s.text == "" }

// String is what was parsed.
func (s Selection) String() string { return s.text }

// Below is the selection for what is under a path, and whether there is
// anything to keep at all.
func (s Selection) Below(path ...string) (Selection, bool) {
	if s.All() {
		return s, true
	}
	at := &s.root
	for _, name := range path {
		next := at.below[name]
		if next == nil {
			if s.exclude {
				return Selection{}, true
			}
			return Selection{}, false
		}
		if next.named {
			if s.exclude {
				return Selection{}, false
			}
			return Selection{}, true
		}
		at = next
	}
	return Selection{text: s.text + "@" + strings.Join(path, "."), exclude: s.exclude, root: *at}, true
}

// Cut reads JSON and writes what is kept of it.
func (s Selection) Cut(data []byte) ([]byte, error) {
	if s.All() {
		return data, nil
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("reading what fields are taken from: %w", err)
	}
	out, err := json.Marshal(s.root.cut(doc, s.exclude))
	if err != nil {
		return nil, fmt.Errorf("writing the fields that were taken: %w", err)
	}
	return out, nil
}

func (n *node) cut(v any, exclude bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = n.cut(v[i], exclude)
		}
	case map[string]any:
		for name, field := range v {
			next := n.below[name]
			switch {
			case next == nil && exclude, next != nil && next.named && !exclude:
			case next == nil || next.named:
				delete(v, name)
			default:
				v[name] = next.cut(field, exclude)
			}
		}
	}
	return v
}
