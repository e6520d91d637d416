package repair

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Path leads to a field that a kind does not have; "*" is any item of a list.
type Path string

var (
	undeclared = regexp.MustCompile(`((?:\.[^.\[\]:\s]+|\[[^\]]*\])+): field not declared in schema`)
	item       = regexp.MustCompile(`\[[^\]]*\]`)
)

// Undeclared are the fields that a refusal of the server says a kind does not
// have.
func Undeclared(refusal string) []Path {
	var out []Path
	for _, m := range undeclared.FindAllStringSubmatch(refusal, -1) {
		p := Path(strings.TrimPrefix(item.ReplaceAllString(m[1], ".*"), "."))
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Prune leaves fields out. The manifest itself is not changed. removed are
// those that it had; without any the manifest is returned as it is.
func Prune(u *unstructured.Unstructured, paths []Path) (out *unstructured.Unstructured, removed []string) {
	value := any(u.Object)
	for _, p := range paths {
		if next, ok := prune(value, strings.Split(string(p), ".")); ok {
			value = next
			removed = append(removed, strings.ReplaceAll(string(p), ".*", "[]"))
		}
	}
	m, ok := value.(map[string]any)
	if !ok || len(removed) == 0 {
		return u, nil
	}
	return &unstructured.Unstructured{Object: m}, removed
}

// prune copies what is on the way and shares the rest.
func prune(value any, path []string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		child, ok := v[path[0]]
		if !ok {
			return value, false
		}
		out := maps.Clone(v)
		if len(path) == 1 {
			delete(out, path[0])
			return out, true
		}
		next, ok := prune(child, path[1:])
		out[path[0]] = next
		return out, ok
	case []any:
		if path[0] != "*" || len(path) == 1 {
			return value, false
		}
		out, had := slices.Clone(v), false
		for i := range out {
			next, ok := prune(out[i], path[1:])
			out[i], had = next, had || ok
		}
		return out, had
	}
	return value, false
}
