package chart

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"github.com/towline-cd/towline/internal/core/fault"
)

// lines reads the YAML of an index line by line, by its indentation. In a block of YAML no line of a value is indented
// as little as its key, so where the keys are is known without reading the values; and only those of the few keys that
// count are parsed. Whatever is not written so is errForm.
type lines struct {
	into *index

	began   bool // something of an index was seen
	inside  bool // within entries
	nameAt  int  // indentation of the names of charts, -1 while unknown
	itemAt  int  // of the dashes of the releases
	keyAt   int  // of the keys of a release
	chart   string
	open    bool // within a release
	capture bool // within the value of a key that counts
	release bytes.Buffer
}

func newLines(into *index) *lines {
	return &lines{into: into, nameAt: -1, itemAt: -1, keyAt: -1}
}

var keptKeys = []string{"version", "digest", "created", "urls"}

func (l *lines) read(from io.Reader) error {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 64<<10), maxEntry)
	for scanner.Scan() {
		done, err := l.line(bytes.TrimSuffix(scanner.Bytes(), []byte("\r")))
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if !l.began {
		return fault.Terminalf("IndexRefused", "it has neither entries nor an apiVersion, so it is not the index of a Helm repository; "+
			"correct repoURL")
	}
	return l.finish()
}

// line takes the next line; done says that the document is over.
func (l *lines) line(text []byte) (done bool, err error) {
	rest := bytes.TrimLeft(text, " ")
	indent := len(text) - len(rest)
	if len(rest) == 0 || rest[0] == '#' || indent == 0 && rest[0] == '%' {
		if l.capture { // it may be part of a text
			return false, l.take(text[min(max(l.keyAt, 0), indent):])
		}
		return false, nil
	}
	if rest[0] == '\t' {
		return false, errForm
	}
	if indent == 0 && (bytes.HasPrefix(rest, []byte("---")) || bytes.HasPrefix(rest, []byte("..."))) {
		if len(bytes.TrimRight(rest, " ")) > 3 {
			return false, errForm
		}
		return l.began, nil
	}
	if indent == 0 {
		return false, l.top(rest)
	}
	if !l.inside {
		return false, nil
	}
	if l.nameAt < 0 {
		l.nameAt = indent
	}
	if indent < l.nameAt {
		return false, errForm
	}
	if indent == l.nameAt && !isDash(rest) {
		return false, l.name(rest)
	}
	return false, l.within(indent, text)
}

// top is a key of the index itself.
func (l *lines) top(rest []byte) error {
	if err := l.finish(); err != nil {
		return err
	}
	key, value, ok := splitKey(rest)
	if !ok {
		return errForm
	}
	l.inside = false
	switch key {
	case "apiVersion":
		l.began = true
	case "<<":
		return errForm
	case "entries":
		l.began = true
		if !isNothing(value) {
			return errForm
		}
		l.inside, l.nameAt, l.chart, l.itemAt = true, -1, "", -1
	}
	return nil
}

// name is the name of a chart.
func (l *lines) name(rest []byte) error {
	if err := l.finish(); err != nil {
		return err
	}
	key, value, ok := splitKey(rest)
	if !ok || key == "<<" || !isNothing(value) {
		return errForm
	}
	l.chart, l.itemAt = key, -1
	return nil
}

// within is a line of the releases of a chart.
func (l *lines) within(indent int, text []byte) error {
	rest := text[indent:]
	if l.chart == "" {
		return errForm
	}
	if isDash(rest) && (l.itemAt < 0 || indent == l.itemAt) {
		return l.item(indent, rest)
	}
	if l.itemAt < 0 || !l.open || indent <= l.itemAt {
		return errForm
	}
	if l.keyAt < 0 {
		l.keyAt = indent
	}
	switch {
	case indent < l.keyAt:
		return errForm
	case indent == l.keyAt && !isDash(rest):
		return l.key(rest)
	case l.capture:
		return l.take(text[l.keyAt:])
	}
	return nil
}

// item begins a release.
func (l *lines) item(indent int, rest []byte) error {
	if err := l.finish(); err != nil {
		return err
	}
	l.itemAt, l.keyAt = indent, -1
	body := bytes.TrimLeft(rest[1:], " ")
	if isNothing(body) {
		l.open = len(body) == 0 || body[0] == '#' // its keys may follow
		return l.into.count()
	}
	l.open, l.keyAt = true, indent+len(rest)-len(body)
	return l.key(body)
}

// key is a key of a release.
func (l *lines) key(rest []byte) error {
	key, _, ok := splitKey(rest)
	if !ok || key == "<<" {
		return errForm
	}
	l.capture = slices.Contains(keptKeys, key)
	if l.capture {
		return l.take(rest)
	}
	return nil
}

func (l *lines) take(line []byte) error {
	if l.release.Len()+len(line) > maxEntry {
		return fault.Terminalf("IndexRefused", "one entry of it is longer than %d bytes; have it made again without", maxEntry)
	}
	l.release.Write(line)
	l.release.WriteByte('\n')
	return nil
}

// finish keeps the release that ended.
func (l *lines) finish() error {
	defer func() {
		l.open, l.capture = false, false
		l.release.Reset()
	}()
	if !l.open || l.release.Len() == 0 {
		return nil
	}
	w, err := unmarshalRelease(l.release.Bytes())
	if err != nil {
		return err
	}
	return l.into.add(l.chart, w)
}

func isDash(rest []byte) bool {
	return rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
}

// isNothing says that what counts is on the lines below, or that there is nothing.
func isNothing(value []byte) bool {
	switch text := string(bytes.TrimRight(value, " ")); text {
	case "", "null", "~", "{}", "[]":
		return true
	default:
		return text[0] == '#'
	}
}

// splitKey takes the key off a line.
func splitKey(rest []byte) (key string, value []byte, ok bool) {
	if rest[0] == '"' || rest[0] == '\'' {
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 || end+2 >= len(rest) || rest[end+2] != ':' || bytes.IndexByte(rest[:end+1], '\\') >= 0 {
			return "", nil, false
		}
		return string(rest[1 : end+1]), bytes.TrimLeft(rest[end+3:], " "), true
	}
	if bytes.IndexByte([]byte("{}[]&*!|>?@`,"), rest[0]) >= 0 {
		return "", nil, false
	}
	rest = bytes.TrimRight(rest, " ")
	colon := bytes.Index(rest, []byte(": "))
	if colon < 0 && rest[len(rest)-1] == ':' {
		colon = len(rest) - 1
	}
	if colon < 0 {
		return "", nil, false
	}
	return string(bytes.TrimRight(rest[:colon], " ")), bytes.TrimLeft(rest[colon+1:], " "), true
}
