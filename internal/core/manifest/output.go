package manifest

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ReadOutput returns the objects of what a tool printed, with lists taken apart. Unlike a file of a repository it holds
// objects alone, so everything else is an error; and a key that stands there twice is taken as the tools take it, the
// last one, and told in the Notes.
func ReadOutput(name string, data []byte) (Result, error) {
	result := Result{Files: 1}
	docs, err := splitYAML(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return result, invalid(name, err)
	}
	for i, doc := range docs {
		where := fmt.Sprintf("document %d (line %d)", i+1, doc.line)
		objects, err := doc.objects(false)
		if twice, ok := errors.AsType[*duplicateError](err); ok {
			result.Notes = append(result.Notes, fmt.Sprintf("%s: %s: %s; the last one is taken", name, where, twice.keys))
			objects, err = doc.loose()
		}
		if foreign, ok := errors.AsType[*foreignError](err); ok {
			return result, invalid(name, fmt.Errorf("%s %s", where, foreign.why))
		}
		if err != nil {
			return result, invalid(name, fmt.Errorf("%s: %w", where, err))
		}
		result.Objects = append(result.Objects, objects...)
	}
	return result, nil
}

// loose parses a document whose only mistake is a key that stands there twice.
func (d document) loose() ([]*unstructured.Unstructured, error) {
	converted, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, d.explain(err)
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(converted, &value); err != nil {
		return nil, err
	}
	return objectsOf(value, false)
}
