package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// patched lays the patch of the set over an Application. It may not change the project, which is what gives rights.
func (b *builder) patched(app *v1alpha1.Application, patch *text, params map[string]any) error {
	filled, err := patch.fill(params)
	if err != nil {
		return err
	}
	doc, err := b.document(filled)
	if err != nil {
		return fmt.Errorf("spec.templatePatch became %s, which is no YAML (%s); "+
			"put parameters in with toJson, so that no character of them breaks it", excerpt(filled), yamlTrouble(err))
	}
	project := app.Spec.Project
	switch d := doc.(type) {
	case nil:
		return nil
	case map[string]any:
		err = b.mergePatch(app, d)
	case []any:
		err = jsonPatch(app, d)
	default:
		err = errors.New("it is neither an object nor a list of operations; write the fields to change, or JSON patch operations")
	}
	if err != nil {
		return fmt.Errorf("spec.templatePatch: %w", err)
	}
	if app.Spec.Project != project {
		b.note("spec.templatePatch changes spec.project, which it may not; write the project into spec.template.spec.project")
		app.Spec.Project = project
	}
	return nil
}

// maxDocuments bounds how many patches are remembered.
const maxDocuments = 1000

// document reads a patch. Patches of many sets are often the same, and reading YAML is the most expensive part of them.
func (b *builder) document(text string) (any, error) {
	if doc, ok := b.documents[text]; ok {
		return doc, nil
	}
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(b.documents) < maxDocuments {
		b.documents[text] = doc
	}
	return doc, nil
}

// jsonPatch carries a list of operations out.
func jsonPatch(app *v1alpha1.Application, operations []any) error {
	data, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return fmt.Errorf("it is no list of operations (%w); each has op, path and value", err)
	}
	before, err := json.Marshal(app)
	if err != nil {
		return err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return fmt.Errorf("an operation cannot be carried out: %w", err)
	}
	var out v1alpha1.Application
	if err := json.Unmarshal(after, &out); err != nil {
		return fmt.Errorf("what comes out is no Application: %w", err)
	}
	out.Status, out.Operation = app.Status, app.Operation
	*app = out
	return nil
}

// ours are the fields of an Application that a patch has no say in.
var ours = map[string]bool{"apiVersion": true, "kind": true, "status": true, "operation": true}

// mergePatch merges a document into an Application.
func (b *builder) mergePatch(app *v1alpha1.Application, doc map[string]any) error {
	if slices.ContainsFunc(slices.Collect(maps.Keys(doc)), func(k string) bool { return ours[k] }) {
		doc = maps.Clone(doc)
		for k := range ours {
			if _, there := doc[k]; there && (k == "status" || k == "operation") {
				b.note("spec.templatePatch has %s, which has no effect; take it out", k)
			}
			delete(doc, k)
		}
	}
	return b.merged(reflect.ValueOf(app).Elem(), doc, "")
}

const directive = "$patch"

// merged lays a document over a Go value: maps and structs are merged, null empties, and everything else is replaced.
func (b *builder) merged(v reflect.Value, doc any, at string) error {
	if doc == nil {
		v.SetZero()
		return nil
	}
	fields, ok := doc.(map[string]any)
	if !ok {
		return b.replaced(v, doc, at)
	}
	if how, ok := fields[directive]; ok {
		return b.directed(v, fields, word(how), at)
	}
	switch {
	case v.Type() == typeRaw || v.Type() == typeJSON:
		return mergeRaw(v, fields, at)
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return b.merged(v.Elem(), doc, at)
	case v.Kind() == reflect.Struct:
		return b.mergedStruct(v, fields, at)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		return b.mergedMap(v, fields, at)
	default:
		return b.replaced(v, doc, at)
	}
}

// directed follows what a strategic merge patch says of itself.
func (b *builder) directed(v reflect.Value, fields map[string]any, how, at string) error {
	rest := maps.Clone(fields)
	delete(rest, directive)
	switch how {
	case "replace":
		v.SetZero()
		return b.merged(v, rest, at)
	case "delete":
		v.SetZero()
		return nil
	case "merge":
		return b.merged(v, rest, at)
	default:
		return fmt.Errorf("%s.%s is %q; write merge, replace or delete", at, directive, how)
	}
}

func (b *builder) mergedStruct(v reflect.Value, fields map[string]any, at string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		here := join(at, name)
		if strings.HasPrefix(name, "$") {
			return fmt.Errorf("%s is not supported; write the list as it should be, or a list of JSON patch operations", here)
		}
		f, ok := fieldNamed(v, name)
		if !ok {
			b.note("spec.templatePatch has %s, which an Application does not have; correct the name, or take it out", here)
			continue
		}
		if here == "metadata.finalizers" && fields[name] != nil {
			if err := b.addedFinalizers(f, fields[name], here); err != nil {
				return err
			}
			continue
		}
		if err := b.merged(f, fields[name], here); err != nil {
			return err
		}
	}
	return nil
}

// addedFinalizers joins two lists, as Kubernetes merges this one.
func (b *builder) addedFinalizers(v reflect.Value, doc any, at string) error {
	more := reflect.New(v.Type()).Elem()
	if err := b.replaced(more, doc, at); err != nil {
		return err
	}
	have, _ := reflect.TypeAssert[[]string](v)
	for i := range more.Len() {
		if f := more.Index(i).String(); !slices.Contains(have, f) {
			have = append(have, f)
		}
	}
	v.Set(reflect.ValueOf(have))
	return nil
}

// fieldNamed is the field that a name in YAML means.
func fieldNamed(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		switch jsonName(f) {
		case name:
			return v.Field(i), true
		case "":
			if v.Field(i).Kind() != reflect.Struct {
				continue
			}
			if below, ok := fieldNamed(v.Field(i), name); ok {
				return below, true
			}
		}
	}
	return reflect.Value{}, false
}

func (b *builder) mergedMap(v reflect.Value, fields map[string]any, at string) error {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for name, doc := range fields {
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if doc == nil {
			v.SetMapIndex(key, reflect.Value{})
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if have := v.MapIndex(key); have.IsValid() {
			value.Set(have)
		}
		if err := b.merged(value, doc, join(at, name)); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return nil
}

// mergeRaw merges into free-form JSON, as values of a chart are.
func mergeRaw(v reflect.Value, fields map[string]any, at string) error {
	have := map[string]any{}
	raw := v.FieldByName("Raw")
	if len(raw.Bytes()) > 0 {
		if err := json.Unmarshal(raw.Bytes(), &have); err != nil {
			have = map[string]any{}
		}
	}
	data, err := json.Marshal(mergeJSON(have, fields))
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	raw.SetBytes(data)
	return nil
}

func mergeJSON(have, patch map[string]any) map[string]any {
	out := maps.Clone(have)
	for k, v := range patch {
		below, ok1 := out[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case ok1 && ok2:
			out[k] = mergeJSON(below, above)
		default:
			out[k] = v
		}
	}
	return out
}

// replaced sets a value from what a patch says.
func (b *builder) replaced(v reflect.Value, doc any, at string) error {
	if s, ok := doc.(string); ok && v.Kind() == reflect.String {
		v.SetString(s)
		return nil
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	fresh := reflect.New(v.Type())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return fmt.Errorf("%s cannot be %s: it is a %s there; correct the patch", at, excerpt(string(data)), kindName(v.Type()))
	}
	v.Set(fresh.Elem())
	return nil
}

// kindName is what a person calls a type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "number"
	default:
		return t.String()
	}
}
