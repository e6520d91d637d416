package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/api-reference.md anew")

// The parts of the OpenAPI document that the page is made of.
type (
	apiDocument struct {
		Paths      map[string]map[string]apiOperation
		Components struct{ Schemas map[string]apiSchema }
	}
	apiOperation struct {
		Summary, Description string
		Tags                 []string
		Parameters           []struct {
			Name, In, Description string
			Schema                apiSchema
		}
		RequestBody *apiBody
		Responses   map[string]apiBody
	}
	apiBody struct {
		Content map[string]struct{ Schema apiSchema }
	}
	apiSchema struct {
		Ref                  string `json:"$ref"`
		Type, Format         string
		Items                *apiSchema
		AdditionalProperties *apiSchema
		Properties           map[string]apiSchema
	}
)

// String is the type as people write it, with a link to what is described further down.
func (s apiSchema) String() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return fmt.Sprintf("[%s](#type-%s)", name, strings.ToLower(name))
	case s.Items != nil:
		return "list of " + s.Items.String()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.String()
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	case s.Type == "":
		return "anything"
	default:
		return s.Type
	}
}

// schema is what a body is, if anything is said of it.
func (b *apiBody) schema() (apiSchema, bool) {
	if b == nil {
		return apiSchema{}, false
	}
	content, ok := b.Content["application/json"]
	return content.Schema, ok
}

// cell is a text in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func (op apiOperation) write(b *bytes.Buffer, method, path string) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s. %s\n", strings.ToUpper(method), path, strings.TrimSuffix(op.Summary, "."), op.Description)
	if len(op.Parameters) > 0 {
		b.WriteString("\n| Parameter | In | Type | |\n|---|---|---|---|\n")
		for _, p := range op.Parameters {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, p.Schema, cell(p.Description))
		}
	}
	answer := op.Responses["200"]
	body, takes := op.RequestBody.schema()
	given, gives := answer.schema()
	if takes || gives {
		b.WriteByte('\n')
	}
	if takes {
		fmt.Fprintf(b, "Body: %s. ", body)
	}
	if gives {
		fmt.Fprintf(b, "Answer: %s.", given)
	}
	if takes || gives {
		b.WriteByte('\n')
	}
}

// reference is the page: the routes by what they are about, then the types.
func (d apiDocument) reference() string {
	type route struct{ path, method string }
	byTag := map[string][]route{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], route{path, method})
		}
	}
	var b bytes.Buffer
	b.WriteString("# The API, route by route\n\nWritten from the OpenAPI document that the server gives at `/swagger.json` " +
		"(`go test ./internal/server -run TestReference -update`);\n[the API](api.md) tells how to use it, and what an error is.\n\n")
	tags := slices.Sorted(maps.Keys(byTag))
	for i, tag := range tags {
		if i > 0 {
			b.WriteString(" · ")
		}
		fmt.Fprintf(&b, "[%s](#%s)", tag, tag)
	}
	b.WriteString(" · [types](#types)\n")
	for _, tag := range tags {
		fmt.Fprintf(&b, "\n## %s\n", tag)
		routes := byTag[tag]
		slices.SortFunc(routes, func(x, y route) int { return strings.Compare(x.path+" "+x.method, y.path+" "+y.method) })
		for _, r := range routes {
			d.Paths[r.path][r.method].write(&b, r.method, r.path)
		}
	}
	b.WriteString("\n## types\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		fmt.Fprintf(&b, "\n### Type %s\n\n", name)
		properties := d.Components.Schemas[name].Properties
		if len(properties) == 0 {
			b.WriteString("It has no fields.\n")
			continue
		}
		b.WriteString("| Field | Type |\n|---|---|\n")
		for _, field := range slices.Sorted(maps.Keys(properties)) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", field, properties[field])
		}
	}
	return b.String()
}

// TestReference holds docs/api-reference.md against the document that the server gives.
func TestReference(t *testing.T) {
	s := newServer(t, options(newWorld()))
	var doc apiDocument
	if err := json.Unmarshal(ask(t, s.Handler(), http.MethodGet, "/swagger.json", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for name := range doc.Components.Schemas {
		if other := seen[strings.ToLower(name)]; other != "" {
			t.Errorf("%s and %s have the same place on the page", name, other)
		}
		seen[strings.ToLower(name)] = name
	}
	want := doc.reference()
	path := filepath.Join("..", "..", "docs", "api-reference.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), want); d != "" {
		t.Errorf("docs/api-reference.md is not what the server says; run this test with -update (-have +want):\n%s", d)
	}
}
