package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// maxFile is the largest file that is looked at, and maxDepth how deep lists of
// objects may lie in each other.
const (
	maxFile  = 10 << 20
	maxDepth = 8
)

// document is one object of a file.
type document struct {
	file                        File
	node                        *yamlv3.Node
	value                       map[string]any
	apiVersion, kind, name, nsp string
	// partial is a patch: it is not the whole object. part is that a kustomization takes it in which was not built: it may get
	// what it lacks.
	partial, part bool
	// set is the folder of the kustomization that it was built from; empty for one that is as it is written. base and patches are
	// where fields of such a one may come from.
	set     string
	base    *document
	patches []*document
}

// group is the API group of the kind.
func (d *document) group() string {
	group, _, ok := strings.Cut(d.apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// dir is the folder of the file.
func (d *document) dir() string { return path.Dir(d.file.Name) }

// called is the object in messages.
func (d *document) called() string {
	switch {
	case d.kind == "":
		return ""
	case d.nsp == "":
		return d.kind + " " + d.name
	}
	return d.kind + " " + d.nsp + "/" + d.name
}

// read takes the objects of a file.
func (l *look) read(f File) {
	switch {
	case len(f.Text) > maxFile:
		l.report.Unread = append(l.report.Unread, f.Name+": it is larger than 10 MiB")
		return
	case l.template(f.Name):
		l.report.Unread = append(l.report.Unread, f.Name+": it is a template of a Helm chart")
		return
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(f.Text))
	for {
		var root yamlv3.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.unreadable(f, err)
			return
		}
		if len(root.Content) > 0 {
			l.take(f, root.Content[0], 0)
		}
	}
}

// template says that a file is one of a Helm chart among the files.
func (l *look) template(name string) bool {
	before, _, ok := strings.Cut("/"+name, "/templates/")
	if !ok {
		return false
	}
	chart := strings.TrimPrefix(before+"/Chart.yaml", "/")
	for _, f := range l.in.Files {
		if f.Name == chart {
			return true
		}
	}
	return false
}

var lineOf = regexp.MustCompile(`line (\d+)`)

func (l *look) unreadable(f File, err error) {
	if bytes.Contains(f.Text, []byte("{{")) {
		l.report.Unread = append(l.report.Unread, f.Name+": it is a template")
		return
	}
	at := 1
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		at, _ = strconv.Atoi(m[1]) // the pattern has digits alone
	}
	l.say(&document{file: f, node: &yamlv3.Node{Line: at}}, Finding{
		Check: "unreadable", Severity: Error,
		Message: "this is no YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), Fix: "correct it, or give the file another ending",
	})
}

// take notes an object, and each of a list of them.
func (l *look) take(f File, node *yamlv3.Node, depth int) {
	if node.Kind != yamlv3.MappingNode || depth > maxDepth {
		return
	}
	d := &document{file: f, node: node}
	text, err := yamlv3.Marshal(node)
	if err != nil {
		l.unreadable(f, err)
		return
	}
	if err := yaml.Unmarshal(text, &d.value); err != nil {
		l.unreadable(f, fmt.Errorf("line %d: %w", node.Line, err))
		return
	}
	d.identify()
	if items := child(node, "items"); items != nil && strings.HasSuffix(d.kind, "List") {
		for _, item := range items.Content {
			l.take(f, item, depth+1)
		}
		return
	}
	l.documents = append(l.documents, d)
}

// identify reads what an object is called.
func (d *document) identify() {
	d.apiVersion, d.kind = d.text("apiVersion"), d.text("kind")
	d.name, d.nsp = d.text("metadata", "name"), d.text("metadata", "namespace")
}

// at is what stands at a place.
func (d *document) at(path ...string) any {
	var value any = d.value
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

// text is the string at a place.
func (d *document) text(path ...string) string {
	s, _ := d.at(path...).(string)
	return s
}

// list is the list at a place.
func (d *document) list(path ...string) []any {
	s, _ := d.at(path...).([]any)
	return s
}

// fields is the map at a place.
func (d *document) fields(path ...string) map[string]any {
	m, _ := d.at(path...).(map[string]any)
	return m
}

// json is the object as the API server would get it. What people write without
// quotes in annotations and labels is told elsewhere, and text here.
func (d *document) json() ([]byte, error) {
	for _, which := range []string{"annotations", "labels"} {
		for key, value := range d.fields("metadata", which) {
			if _, ok := value.(string); !ok && value != nil {
				d.fields("metadata", which)[key] = fmt.Sprint(value)
			}
		}
	}
	return json.Marshal(d.value)
}

// child is the value of a key.
func child(node *yamlv3.Node, key string) *yamlv3.Node {
	if node == nil || node.Kind != yamlv3.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// find is the node at a place, and the line that it begins in; where there is
// none, that of what is nearest.
func (d *document) find(path ...any) (*yamlv3.Node, int) {
	node, line := d.node, d.node.Line
	for _, step := range path {
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		next, at := enter(node, step)
		if next == nil {
			return nil, line
		}
		node, line = next, at
	}
	return node, line
}

// enter is what a node has at a key or an index, and the line that it begins in.
func enter(node *yamlv3.Node, step any) (*yamlv3.Node, int) {
	switch step := step.(type) {
	case string:
		for i := 0; i+1 < len(node.Content) && node.Kind == yamlv3.MappingNode; i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case int:
		if node.Kind == yamlv3.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step].Line
		}
	}
	return nil, 0
}

// where is the file and line in which a place is written. In what was built it may be nowhere as it came out: then known is
// false, and the line is near it.
func (d *document) where(path ...any) (file File, line int, known bool) {
	_, line = d.find(path...)
	if d.set == "" {
		return d.file, line, true
	}
	value := valueAt(d.value, path)
	for _, p := range append(slices.Clone(d.patches), d.base) {
		// Numbers are of another type in what was built; their text is the same.
		if p == nil || value == nil || len(path) == 0 || fmt.Sprint(valueAt(p.value, path)) != fmt.Sprint(value) {
			continue
		}
		_, line := p.find(path...)
		return p.file, line, true
	}
	return d.file, line, false
}

// valueAt is what stands at a place.
func valueAt(value any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// fieldOf is a place in words.
func fieldOf(path []any) string {
	var out strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&out, "[%d]", step)
		case string:
			switch {
			case strings.ContainsAny(step, "./"):
				fmt.Fprintf(&out, "[%q]", step)
				continue
			case out.Len() > 0:
				out.WriteByte('.')
			}
			out.WriteString(step)
		}
	}
	return out.String()
}

var indexed = regexp.MustCompile(`^([^\[]*)((?:\[\d+\])*)$`)

// pathOf is a place from words such as spec.sources[0].path.
func pathOf(words string) []any {
	var out []any
	for word := range strings.SplitSeq(words, ".") {
		m := indexed.FindStringSubmatch(word)
		if m == nil {
			return append(out, word)
		}
		out = append(out, m[1])
		for n := range strings.SplitSeq(strings.Trim(m[2], "[]"), "][") {
			if i, err := strconv.Atoi(n); err == nil {
				out = append(out, i)
			}
		}
	}
	return out
}
