package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// document is one document of a file as it stands there.
type document struct {
	text []byte
	line int // the line of the file on which text begins, from 1
	json bool
}

var errTooMany = fmt.Errorf("the file holds more than %d documents; split it into several files", MaxDocuments)

// splitYAML cuts at the markers of YAML. A line that begins with "---" or "..." ends a document wherever it stands, in
// a block scalar too, so lines are all that has to be looked at.
func splitYAML(data []byte) ([]document, error) {
	var (
		docs       []document
		begin, at  int
		first, row = 1, 0
		directives bool // the document so far is directives, which belong to the "---" that follows
	)
	flush := func(end int) {
		if text := data[begin:end]; !blank(text) {
			docs = append(docs, document{text: text, line: first})
		}
	}
	for line := range bytes.Lines(data) {
		row++
		end := at + len(line)
		switch {
		case marker(line, "---"):
			if !directives {
				flush(at)
				begin, first = at, row
			}
			directives = false
		case marker(line, "..."):
			flush(at)
			begin, first = end, row+1
		case line[0] == '%' && blank(data[begin:at]):
			directives = true
		}
		at = end
		if len(docs) > MaxDocuments {
			return nil, errTooMany
		}
	}
	flush(len(data))
	return docs, nil
}

// marker reports whether line is the given marker, alone or followed by content.
func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// blank reports whether there is nothing but space, comments and a bare document marker.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if marker(line, "---") {
			line = line[len("---"):]
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// splitJSON cuts a stream of JSON values.
func splitJSON(data []byte) ([]document, error) {
	var docs []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	counted, line := int64(0), 1
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return docs, fmt.Errorf("near line %d: %w", 1+bytes.Count(data[:failedAt(decoder, err)], []byte("\n")), err)
		}
		if len(docs) == MaxDocuments {
			return nil, errTooMany
		}
		begin := decoder.InputOffset() - int64(len(raw))
		line += bytes.Count(data[counted:begin], []byte("\n"))
		counted = begin
		docs = append(docs, document{text: raw, line: line, json: true})
	}
}

func failedAt(decoder *json.Decoder, err error) int64 {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntax.Offset
	}
	return decoder.InputOffset()
}
