package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAnswersHaveTheDocumentedShape asks every path that the shapes name.
func TestAnswersHaveTheDocumentedShape(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.start()
	s.await("shop")
	shapes := readShapes(t)
	for _, path := range slices.Sorted(maps.Keys(shapes)) {
		code, body := s.ask("GET", names.fill(path), s.token, "")
		if code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
			continue
		}
		var got any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s: %v in %.200s", path, err, body)
			continue
		}
		for _, wrong := range compare("", shapes[path], got) {
			t.Errorf("%s: %s", path, wrong)
		}
	}
}

// TestEveryPathOfArgoCDIsAccountedFor: a path has a shape, or a reason.
func TestEveryPathOfArgoCDIsAccountedFor(t *testing.T) {
	shapes := readShapes(t)
	text, err := os.ReadFile(filepath.Join("testdata", "paths.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		path, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == "" || path == "#" {
			continue
		}
		count++
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(path), `\{\}`, `[^/?]+`) + `(\?.*)?$`)
		has := slices.ContainsFunc(slices.Collect(maps.Keys(shapes)), func(p string) bool {
			// What follows can-i may have slashes.
			return pattern.MatchString(p) || strings.HasPrefix(path, "/api/v1/account/can-i/") && strings.HasPrefix(p, "/api/v1/account/can-i/")
		})
		if has == (strings.TrimSpace(reason) != "") {
			t.Errorf("%s must have a shape or a reason, and not both", path)
		}
	}
	if count < 50 {
		t.Errorf("there are only %d paths", count)
	}
}

func readShapes(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "shapes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// compare says where an answer has another shape.
func compare(at string, shape, got any) []string {
	switch want := shape.(type) {
	case string:
		if is := typeOf(got); want != "any" && is != want {
			return []string{fmt.Sprintf("%s is %s, want %s", at, is, want)}
		}
	case []any:
		list, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, want a list", at, typeOf(got))}
		}
		var out []string
		for i, item := range list {
			out = append(out, compare(fmt.Sprintf("%s[%d]", at, i), want[0], item)...)
		}
		// One that has everything is enough: those of a list differ.
		return fewest(out, len(list))
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, want an object", at, typeOf(got))}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			name, optional := strings.CutSuffix(key, "!")
			name, empty := strings.CutSuffix(name, "*")
			value, there := object[name]
			list, isList := value.([]any)
			switch {
			case !there && optional:
			case !there:
				out = append(out, fmt.Sprintf("%s.%s is missing", at, name))
			case isList && len(list) == 0 && !empty && !optional:
				out = append(out, fmt.Sprintf("%s.%s is empty", at, name))
			default:
				out = append(out, compare(at+"."+name, want[key], value)...)
			}
		}
		return out
	}
	return nil
}

// fewest lets a list pass if one of its items is as it should be: the complaints are then those of others.
func fewest(complaints []string, items int) []string {
	for i := range items {
		if !slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(c, fmt.Sprintf("[%d]", i)) }) {
			return nil
		}
	}
	return complaints
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return "nothing"
}
