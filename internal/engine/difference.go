package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// difference is the merge patch from one value to another of the same type; nil
// if their JSON is the same. It goes by the fields of structs, and encodes only
// what differs: of an application of thousands of objects most is a list that
// did not change, or is replaced as a whole.
func difference(was, next any) (any, error) {
	return differ(reflect.ValueOf(was), reflect.ValueOf(next))
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func differ(was, next reflect.Value) (any, error) {
	t := was.Type()
	switch {
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return differEncoded(was, next)
	case t.Kind() == reflect.Pointer && !was.IsNil() && !next.IsNil():
		return differ(was.Elem(), next.Elem())
	case t.Kind() == reflect.Struct:
		out := map[string]any{}
		return orNone(out, differStruct(was, next, out))
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		out := map[string]any{}
		return orNone(out, differMap(was, next, out))
	default:
		return differEncoded(was, next)
	}
}

func orNone(out map[string]any, err error) (any, error) {
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return out, nil
}

func differStruct(was, next reflect.Value, into map[string]any) error {
	t := was.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" && f.Anonymous {
			if err := differStruct(was.Field(i), next.Field(i), into); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		before, after := was.Field(i), next.Field(i)
		if options != "" {
			before, after = present(before, options), present(after, options)
		}
		if err := differField(before, after, name, into); err != nil {
			return err
		}
	}
	return nil
}

// present is a value that the options of its field do not leave out, or none.
func present(v reflect.Value, options string) reflect.Value {
	switch {
	case strings.Contains(options, "omitzero") && zero(v), strings.Contains(options, "omitempty") && empty(v):
		return reflect.Value{}
	}
	return v
}

func zero(v reflect.Value) bool {
	at := reflect.New(v.Type())
	at.Elem().Set(v)
	if z, ok := reflect.TypeAssert[interface{ IsZero() bool }](at); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func differMap(was, next reflect.Value, into map[string]any) error {
	for _, k := range was.MapKeys() {
		if err := differField(was.MapIndex(k), next.MapIndex(k), k.String(), into); err != nil {
			return err
		}
	}
	for _, k := range next.MapKeys() {
		if before := was.MapIndex(k); !before.IsValid() {
			into[k.String()] = next.MapIndex(k).Interface()
		}
	}
	return nil
}

// differField is about one name, which either side may lack.
func differField(was, next reflect.Value, name string, into map[string]any) error {
	switch {
	case !was.IsValid() && !next.IsValid():
	case !next.IsValid():
		into[name] = nil
	case !was.IsValid():
		into[name] = next.Interface()
	default:
		d, err := differ(was, next)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if d != nil {
			into[name] = d
		}
	}
	return nil
}

// differEncoded compares what has no fields by what it is in JSON.
func differEncoded(was, next reflect.Value) (any, error) {
	if reflect.DeepEqual(was.Interface(), next.Interface()) {
		return nil, nil
	}
	from, err := json.Marshal(was.Interface())
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(next.Interface())
	if err != nil || bytes.Equal(from, to) {
		return nil, err
	}
	if from[0] == '{' && to[0] == '{' {
		patch, err := jsonpatch.CreateMergePatch(from, to)
		return json.RawMessage(patch), err
	}
	return json.RawMessage(to), nil
}
