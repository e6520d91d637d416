package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document describes the routes as OpenAPI 3, from the table and from the types of what they answer.
func document(routes []*Route, v Version) ([]byte, error) {
	d := &describer{schemas: map[string]any{}, names: map[reflect.Type]string{}}
	paths := map[string]map[string]any{}
	for _, r := range routes {
		if r.Page {
			continue
		}
		path := strings.ReplaceAll(r.Pattern, "...}", "}")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		op, err := d.operation(r)
		if err != nil {
			return nil, err
		}
		paths[path][strings.ToLower(r.Method)] = op
	}
	return json.Marshal(map[string]any{
		"openapi": "3.0.3",
		"info": map[string]any{
			"title": "Towline", "version": v.Version,
			"description": "The REST API of Argo CD, and routes of Towline's own.",
		},
		"paths": paths,
		"components": map[string]any{
			"schemas": d.schemas,
			"securitySchemes": map[string]any{
				"bearer": map[string]any{"type": "http", "scheme": "bearer"},
				"cookie": map[string]any{"type": "apiKey", "in": "cookie", "name": "argocd.token"},
			},
		},
		"security": []any{map[string]any{"bearer": []string{}}, map[string]any{"cookie": []string{}}},
	})
}

type describer struct {
	schemas map[string]any
	names   map[reflect.Type]string
}

func (d *describer) operation(r *Route) (map[string]any, error) {
	op := map[string]any{
		"summary": r.Summary, "description": rightsOf(r), "operationId": operationID(r), "tags": []string{tagOf(r.Pattern)},
	}
	if r.Open {
		op["security"] = []any{}
	}
	var params []any
	for part := range strings.SplitSeq(r.Pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")
			params = append(params, map[string]any{
				"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"},
			})
		}
	}
	for _, q := range r.Query {
		schema := map[string]any{"type": q.Type}
		if q.Type == "array" {
			schema["items"] = map[string]any{"type": "string"}
		}
		params = append(params, map[string]any{"name": q.Name, "in": "query", "description": q.About, "schema": schema})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.In != nil {
		schema, err := d.schema(reflect.TypeOf(r.In))
		if err != nil {
			return nil, err
		}
		op["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": schema}}}
	}
	ok := map[string]any{"description": "the answer"}
	if r.Out != nil {
		schema, err := d.schema(reflect.TypeOf(r.Out))
		if err != nil {
			return nil, fmt.Errorf("describing %s %s: %w", r.Method, r.Pattern, err)
		}
		ok["content"] = map[string]any{"application/json": map[string]any{"schema": schema}}
	}
	failed, err := d.schema(reflect.TypeFor[problem]())
	if err != nil {
		return nil, err
	}
	op["responses"] = map[string]any{"200": ok, "default": map[string]any{
		"description": "an error, with the code of gRPC", "content": map[string]any{"application/json": map[string]any{"schema": failed}},
	}}
	return op, nil
}

// rightsOf says who may use a route, in the words of argocd-rbac-cm.
func rightsOf(r *Route) string {
	switch {
	case r.Hook:
		return "Whoever proves themselves by what they say."
	case r.Open:
		return "For everybody."
	case r.Resource == "":
		return "For those who signed in: " + r.Without + "."
	}
	needs := []string{fmt.Sprintf("`%s, %s`", r.Resource, r.Verb)}
	for _, n := range r.Also {
		needs = append(needs, fmt.Sprintf("`%s, %s`", n.Resource, n.Verb))
	}
	text := "Needs " + strings.Join(needs, " and ")
	if r.Finer != nil {
		text += ", or another right in its place where what is asked for says so"
	}
	return text + "."
}

func operationID(r *Route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Method))
	for part := range strings.FieldsFuncSeq(strings.TrimPrefix(r.Pattern, "/api/v1"), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	}) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func tagOf(pattern string) string {
	rest, ok := strings.CutPrefix(pattern, "/api/v1/")
	if !ok {
		return "general"
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// schema describes a type. Structs get a name, so that they are described once.
func (d *describer) schema(t reflect.Type) (map[string]any, error) {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case reflect.TypeFor[Shown]():
		return map[string]any{"type": "string", "description": "an object as JSON, with secrets masked"}, nil
	}
	if t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[json.Marshaler]()) {
		// It writes itself; what it writes is not known.
		return map[string]any{}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}, nil
		}
		items, err := d.schema(t.Elem())
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := d.schema(t.Elem())
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return d.named(t)
	default:
		return nil, fmt.Errorf("a %s cannot be described", t)
	}
}

// named refers to a struct by its name, and describes it the first time.
func (d *describer) named(t reflect.Type) (map[string]any, error) {
	name, known := d.names[t]
	if !known {
		name = d.name(t)
		d.names[t] = name
		// It may refer to itself.
		properties := map[string]any{}
		d.schemas[name] = map[string]any{"type": "object", "properties": properties}
		if err := d.properties(t, properties); err != nil {
			return nil, err
		}
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}, nil
}

func (d *describer) name(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		name = "Inline"
	}
	// List[pkg.Application] is called ApplicationList.
	if outer, inner, generic := strings.Cut(name, "["); generic {
		inner = strings.TrimSuffix(inner, "]")
		if i := strings.LastIndexByte(inner, '.'); i >= 0 {
			inner = inner[i+1:]
		}
		name = inner + outer
	}
	used := map[string]bool{}
	for _, n := range d.names {
		used[n] = true
	}
	for base, i := name, 2; used[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}

// properties describes the fields of a struct as JSON has them.
func (d *describer) properties(t reflect.Type, into map[string]any) error {
	for f := range fieldsOf(t) {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if err := d.properties(inner, into); err != nil {
				return err
			}
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema, err := d.schema(f.Type)
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		if slices.Contains(strings.Split(options, ","), "string") {
			schema = map[string]any{"type": "string"}
		}
		into[name] = schema
	}
	return nil
}

func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for field := range t.Fields() {
			if !yield(field) {
				return
			}
		}
	}
}
