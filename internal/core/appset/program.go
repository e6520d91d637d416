package appset

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A program fills in the parameters of a Go value in place. It is made once for a template, visits only what has
// parameters in it, and runs once for each set. A nil program has nothing to do.
type program func(v reflect.Value, params map[string]any) error

var (
	typeJSON = reflect.TypeFor[apiextv1.JSON]()
	typeRaw  = reflect.TypeFor[runtime.RawExtension]()
)

// compile makes the program of everything below a value; at is where that stands.
func (t *templater) compile(v reflect.Value, at string) (program, error) {
	switch v.Kind() {
	case reflect.String:
		return t.compileString(v.String(), at)
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		below, err := t.compile(v.Elem(), at)
		if below == nil || err != nil {
			return nil, err
		}
		return func(v reflect.Value, params map[string]any) error { return below(v.Elem(), params) }, nil
	case reflect.Struct:
		if v.Type() == typeJSON || v.Type() == typeRaw {
			return t.compileRaw(v, at)
		}
		return t.compileStruct(v, at)
	case reflect.Slice:
		return t.compileSlice(v, at)
	case reflect.Map:
		return t.compileMap(v, at)
	default:
		return nil, nil
	}
}

func (t *templater) compileString(s, at string) (program, error) {
	if !templated(s) {
		return nil, nil
	}
	x, err := t.parse(at, s)
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value, params map[string]any) error {
		out, err := x.fill(params)
		if err == nil {
			v.SetString(out)
		}
		return err
	}, nil
}

// indexed is the program of a field or an item.
type indexed struct {
	index int
	run   program
}

func (t *templater) compileStruct(v reflect.Value, at string) (program, error) {
	var fields []indexed
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		below, err := t.compile(v.Field(i), join(at, jsonName(f)))
		if err != nil {
			return nil, err
		}
		if below != nil {
			fields = append(fields, indexed{i, below})
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return func(v reflect.Value, params map[string]any) error {
		for _, f := range fields {
			if err := f.run(v.Field(f.index), params); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (t *templater) compileSlice(v reflect.Value, at string) (program, error) {
	var items []indexed
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil, nil
	}
	for i := range v.Len() {
		below, err := t.compile(v.Index(i), fmt.Sprintf("%s[%d]", at, i))
		if err != nil {
			return nil, err
		}
		if below != nil {
			items = append(items, indexed{i, below})
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	return func(v reflect.Value, params map[string]any) error {
		for _, it := range items {
			if err := it.run(v.Index(it.index), params); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// mapped is the program of one entry of a map; its key may have parameters in it, too.
type mapped struct {
	key  reflect.Value
	name *text
	run  program
}

func (t *templater) compileMap(v reflect.Value, at string) (program, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	var entries []mapped
	for _, k := range keys {
		e := mapped{key: k}
		var err error
		if templated(k.String()) {
			if e.name, err = t.parse(at, k.String()); err != nil {
				return nil, err
			}
		}
		if e.run, err = t.compile(v.MapIndex(k), join(at, k.String())); err != nil {
			return nil, err
		}
		if e.name != nil || e.run != nil {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return func(v reflect.Value, params map[string]any) error {
		for _, e := range entries {
			if err := e.apply(v, params); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (e mapped) apply(v reflect.Value, params map[string]any) error {
	value := reflect.New(v.Type().Elem()).Elem()
	value.Set(v.MapIndex(e.key))
	if e.run != nil {
		if err := e.run(value, params); err != nil {
			return err
		}
	}
	key := e.key
	if e.name != nil {
		name, err := e.name.fill(params)
		if err != nil {
			return err
		}
		v.SetMapIndex(e.key, reflect.Value{})
		key = reflect.ValueOf(name).Convert(v.Type().Key())
	}
	v.SetMapIndex(key, value)
	return nil
}

// compileRaw is for free-form JSON: its strings are filled in, and not its text, so that a value cannot break out.
func (t *templater) compileRaw(v reflect.Value, at string) (program, error) {
	raw := v.FieldByName("Raw").Bytes()
	if len(raw) == 0 || !templated(string(raw)) {
		return nil, nil
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", at, err)
	}
	below, err := t.compileAny(doc, at)
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value, params map[string]any) error {
		filled, err := below(params)
		if err != nil {
			return err
		}
		data, err := json.Marshal(filled)
		if err == nil {
			v.FieldByName("Raw").SetBytes(data)
		}
		return err
	}, nil
}

// filler makes a value of free-form JSON.
type filler func(params map[string]any) (any, error)

func (t *templater) compileAny(doc any, at string) (filler, error) {
	switch d := doc.(type) {
	case string:
		if !templated(d) {
			break
		}
		x, err := t.parse(at, d)
		if err != nil {
			return nil, err
		}
		return func(params map[string]any) (any, error) { return x.fill(params) }, nil
	case []any:
		return t.compileItems(d, at)
	case map[string]any:
		return t.compileEntries(d, at)
	}
	return func(map[string]any) (any, error) { return doc, nil }, nil
}

func (t *templater) compileItems(items []any, at string) (filler, error) {
	below := make([]filler, len(items))
	for i, it := range items {
		var err error
		if below[i], err = t.compileAny(it, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return nil, err
		}
	}
	return func(params map[string]any) (any, error) {
		out := make([]any, len(below))
		for i, fill := range below {
			var err error
			if out[i], err = fill(params); err != nil {
				return nil, err
			}
		}
		return out, nil
	}, nil
}

func (t *templater) compileEntries(doc map[string]any, at string) (filler, error) {
	type entry struct{ key, value filler }
	below := make([]entry, 0, len(doc))
	for _, k := range slices.Sorted(maps.Keys(doc)) {
		key, err := t.compileAny(k, at)
		if err != nil {
			return nil, err
		}
		value, err := t.compileAny(doc[k], join(at, k))
		if err != nil {
			return nil, err
		}
		below = append(below, entry{key, value})
	}
	return func(params map[string]any) (any, error) {
		out := make(map[string]any, len(below))
		for _, e := range below {
			key, err := e.key(params)
			if err != nil {
				return nil, err
			}
			value, err := e.value(params)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprint(key)] = value
		}
		return out, nil
	}, nil
}

// jsonName is what a field is called in YAML; an inlined field has no name.
func jsonName(f reflect.StructField) string {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name != "":
		return name
	case f.Anonymous || strings.Contains(options, "inline"):
		return ""
	default:
		return f.Name
	}
}

func join(at, name string) string {
	switch {
	case name == "":
		return at
	case at == "":
		return name
	default:
		return at + "." + name
	}
}
