package appset

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// A set of parameters is a map: with Go's templates its values have any shape; in the old language it is flat, and every
// value is a string.

// flatten writes a document down as "a.b.0.c": "text".
func flatten(doc map[string]any) map[string]any {
	out := make(map[string]any, len(doc))
	for k, v := range doc {
		flattenInto(out, k, v)
	}
	return out
}

func flattenInto(out map[string]any, at string, v any) {
	switch t := v.(type) {
	case map[string]any:
		for k, below := range t {
			flattenInto(out, at+"."+k, below)
		}
	case map[string]string:
		for k, below := range t {
			out[at+"."+k] = below
		}
	case []any:
		for i, below := range t {
			flattenInto(out, at+"."+strconv.Itoa(i), below)
		}
	case []string:
		for i, below := range t {
			out[at+"."+strconv.Itoa(i)] = below
		}
	case []map[string]any:
		for i, below := range t {
			flattenInto(out, at+"."+strconv.Itoa(i), below)
		}
	default:
		out[at] = word(v)
	}
}

// word writes a value down. A whole number has no exponent, however large it is.
func word(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case nil:
		return ""
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1e15 {
			return strconv.FormatFloat(t, 'f', -1, 64)
		}
	}
	return fmt.Sprint(v)
}

// overlay lays one set over another: what is in both is a deep merge, in which the upper one wins. The arguments stay as
// they are, and parts of them are shared.
func overlay(lower, upper map[string]any) map[string]any {
	out := make(map[string]any, len(lower)+len(upper))
	maps.Copy(out, lower)
	for k, v := range upper {
		below, ok1 := out[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			v = overlay(below, above)
		}
		out[k] = v
	}
	return out
}

// copied is a set of which everything may be changed.
func copied(params map[string]any) map[string]any {
	out := make(map[string]any, len(params))
	for k, v := range params {
		out[k] = copiedValue(v)
	}
	return out
}

func copiedValue(v any) any {
	switch t := v.(type) {
	case map[string]any:
		return copied(t)
	case []any:
		out := make([]any, len(t))
		for i, it := range t {
			out[i] = copiedValue(it)
		}
		return out
	default:
		return v
	}
}

// lookup is the value of a parameter. A name with dots is a way into a nested one, unless there is a parameter of that
// very name.
func lookup(params map[string]any, name string) (any, bool) {
	if v, ok := params[name]; ok {
		return v, true
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		if below, ok := params[name[:i]].(map[string]any); ok {
			if v, ok := lookup(below, name[i+1:]); ok {
				return v, true
			}
		}
	}
	return nil, false
}

// describe says which set of parameters is meant, in a few words.
func describe(params map[string]any) string {
	const most, longest = 4, 60
	flat := flatten(params)
	keys := slices.SortedFunc(maps.Keys(flat), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var words []string
	for _, k := range keys {
		if len(words) == most {
			words = append(words, "…")
			break
		}
		v := word(flat[k])
		if len(v) > longest {
			v = strings.ToValidUTF8(v[:longest], "") + "…"
		}
		words = append(words, k+"="+v)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// rank puts the parameters first that people know a set by.
func rank(key string) int {
	switch {
	case key == "name" || key == "path.path" || key == "path" || key == "path.filename":
		return 0
	case strings.HasPrefix(key, "metadata.") || strings.HasPrefix(key, "path.") || strings.HasPrefix(key, "path["):
		return 2
	default:
		return 1
	}
}

// yamlTrouble is what is wrong with a text in YAML, on one line.
func yamlTrouble(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")), " ")
}

// objects reads a list of objects, or a single one.
func objects(data []byte) ([]map[string]any, error) {
	var doc any
	if err := yaml.UnmarshalStrict(data, &doc); err != nil {
		return nil, errors.New(yamlTrouble(err))
	}
	switch d := doc.(type) {
	case nil:
		return []map[string]any{{}}, nil
	case map[string]any:
		return []map[string]any{d}, nil
	case []any:
		// A list without items is as good as an empty file.
		if len(d) == 0 {
			return []map[string]any{{}}, nil
		}
		out := make([]map[string]any, 0, len(d))
		for i, it := range d {
			o, ok := it.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("item %d of the list is no object", i)
			}
			out = append(out, o)
		}
		return out, nil
	default:
		return nil, errors.New("it holds neither an object nor a list of objects")
	}
}
