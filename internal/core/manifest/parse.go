package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Parse returns the objects of one file, as Read does, for a caller that has no use for what was left out.
func Parse(name string, data []byte) ([]*unstructured.Unstructured, error) {
	result, err := Read(name, data)
	return result.Objects, err
}

// Read returns the objects of one file, with lists taken apart, and says what it left out. The name tells the format
// (".json" is JSON, everything else YAML, which may be JSON too) and stands in every message.
func Read(name string, data []byte) (Result, error) {
	result := Result{Files: 1}
	if len(data) > MaxFileBytes {
		return result, invalid(name, fmt.Errorf("the file is %d bytes long, the limit is %d; split it", len(data), MaxFileBytes))
	}
	if SkipMarked(data) {
		result.Skipped = []string{fmt.Sprintf("%s: its comment %q asks for it", name, "# "+skipMarker)}
		return result, nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	docs, err := split(name, data)
	if err != nil {
		return result, invalid(name, err)
	}
	for i, doc := range docs {
		objects, err := doc.objects(path.Ext(name) == ".json")
		if foreign, ok := errors.AsType[*foreignError](err); ok {
			result.Skipped = append(result.Skipped, fmt.Sprintf("%s: document %d (line %d) %s", name, i+1, doc.line, foreign.why))
			continue
		}
		if err != nil {
			return unparsable(name, data, fmt.Errorf("document %d (line %d): %w", i+1, doc.line, err))
		}
		result.Objects = append(result.Objects, objects...)
	}
	return result, nil
}

func invalid(name string, err error) error {
	return fault.Terminalf("InvalidManifest", "parsing %q: %w", name, err)
}

func split(name string, data []byte) ([]document, error) {
	if path.Ext(name) == ".json" {
		return splitJSON(data)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		if docs, err := splitJSON(data); err == nil {
			return docs, nil
		}
	}
	return splitYAML(data)
}

// unparsable decides about a file that cannot be parsed: like Argo CD we leave out what is not a manifest anyway (a
// template, a values file of another tool), and like Argo CD we stop at what looks like one.
func unparsable(name string, data []byte, err error) (Result, error) {
	_, notYAML := errors.AsType[*syntaxError](err)
	looksLikeManifest := bytes.Contains(data, []byte("apiVersion:")) && bytes.Contains(data, []byte("kind:"))
	if !notYAML || looksLikeManifest {
		return Result{Files: 1}, invalid(name, err)
	}
	skipped := fmt.Sprintf("%s: not YAML and nothing like a Kubernetes object: %v", name, err)
	return Result{Files: 1, Skipped: []string{skipped}}, nil
}

// foreignError says that a document is no Kubernetes object and does not look as if it was meant to be one.
type foreignError struct{ why string }

func (e *foreignError) Error() string { return e.why }

// syntaxError says that a document is not YAML.
type syntaxError struct{ err error }

func (e *syntaxError) Error() string { return e.err.Error() }

// duplicateError says that a key stands in a mapping twice.
type duplicateError struct{ keys string }

func (e *duplicateError) Error() string { return e.keys + "; remove one of the two" }

// objects parses one document. In a JSON file everything must be an object: such files are written by programs for one
// purpose, while YAML files lie around in repositories for many.
func (d document) objects(strict bool) ([]*unstructured.Unstructured, error) {
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	return objectsOf(value, strict)
}

func objectsOf(value any, strict bool) ([]*unstructured.Unstructured, error) {
	if value == nil {
		return nil, nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, foreignUnless(strict, "is not a mapping")
	}
	apiVersion, kind := fields["apiVersion"], fields["kind"]
	if apiVersion == nil && kind == nil {
		return nil, foreignUnless(strict, "has neither apiVersion nor kind")
	}
	if _, isObject := fields["metadata"]; kind == nil && !isObject {
		return nil, foreignUnless(strict, "has an apiVersion, but neither kind nor metadata")
	}
	return flatten(fields, 0)
}

func foreignUnless(strict bool, why string) error {
	if strict {
		return fmt.Errorf("%s; a JSON file that is no Kubernetes object has to be excluded (directory.exclude)", why)
	}
	return &foreignError{why: why + ": not a Kubernetes object"}
}

// value decodes the document so that whole numbers stay int64, as they do in objects that the API server sent.
func (d document) value() (any, error) {
	var value any
	if d.json || (bytes.HasPrefix(bytes.TrimSpace(d.text), []byte("{")) && json.Valid(d.text)) {
		duplicates, err := kjson.UnmarshalStrict(d.text, &value)
		if err != nil {
			return nil, err
		}
		if len(duplicates) > 0 {
			return nil, &duplicateError{keys: errors.Join(duplicates...).Error()}
		}
		return value, nil
	}
	if err := weighAliases(d.text); err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, d.explain(err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(converted, &value); err != nil {
		return nil, err
	}
	return value, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// explain turns the lines of the document into lines of the file, and says what to do about a duplicate key.
func (d document) explain(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = yamlLine.ReplaceAllStringFunc(text, func(found string) string {
		line, convErr := strconv.Atoi(yamlLine.FindStringSubmatch(found)[1])
		if convErr != nil {
			return found
		}
		return fmt.Sprintf("line %d: ", line+d.line-1)
	})
	if duplicates, ok := strings.CutPrefix(text, "unmarshal errors:\n"); ok {
		lines := strings.Split(duplicates, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return &duplicateError{keys: strings.Join(lines, ", ")}
	}
	return &syntaxError{err: errors.New(text)}
}

// Evaluated returns the objects of a value that a file evaluates to: an object, a list of them (with nothing at some
// places), or a List.
func Evaluated(name string, value any) (Result, error) {
	result := Result{Files: 1}
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for i, item := range items {
		if item == nil {
			continue
		}
		fields, ok := item.(map[string]any)
		if !ok {
			return Result{}, evaluated(name, i, isList, errors.New("it is no Kubernetes object"))
		}
		objects, err := flatten(fields, 0)
		if err != nil {
			return Result{}, evaluated(name, i, isList, err)
		}
		result.Objects = append(result.Objects, objects...)
	}
	return result, nil
}

func evaluated(name string, i int, isList bool, err error) error {
	if isList {
		err = fmt.Errorf("item %d: %w", i+1, err)
	}
	return fault.Terminalf("InvalidManifest", "reading what %q evaluates to: %w", name, err)
}

// flatten returns the object, or what it holds if it is a list.
func flatten(fields map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	apiVersion, err := text(fields, "apiVersion")
	if err != nil {
		return nil, err
	}
	kind, err := text(fields, "kind")
	if err != nil {
		return nil, err
	}
	items, isList := fields["items"].([]any)
	if !strings.HasSuffix(kind, "List") || (!isList && kind != "List") {
		return []*unstructured.Unstructured{{Object: fields}}, nil
	}
	if depth == MaxListDepth {
		return nil, fmt.Errorf("lists hold lists more than %d deep; write the objects out", MaxListDepth)
	}
	if !isList && fields["items"] != nil {
		return nil, errors.New("items of the List is not a list; correct it")
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		member, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d of the %s is not a mapping; correct or remove it", i+1, kind)
		}
		member = named(member, apiVersion, strings.TrimSuffix(kind, "List"))
		inner, err := flatten(member, depth+1)
		if err != nil {
			return nil, fmt.Errorf("item %d of the %s: %w", i+1, kind, err)
		}
		objects = append(objects, inner...)
	}
	return objects, nil
}

// named gives the members of a typed list (ConfigMapList) the type that the API leaves out there.
func named(member map[string]any, apiVersion, kind string) map[string]any {
	if kind == "" || member["apiVersion"] != nil || member["kind"] != nil {
		return member
	}
	member["apiVersion"], member["kind"] = apiVersion, kind
	return member
}

func text(fields map[string]any, field string) (string, error) {
	value, present := fields[field]
	if !present || value == nil || value == "" {
		return "", fmt.Errorf("%s is missing; add it, or exclude the file (directory.exclude) if it is no Kubernetes object", field)
	}
	word, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("%s is %v and not text; put it in quotes or correct it", field, value)
	}
	return word, nil
}
