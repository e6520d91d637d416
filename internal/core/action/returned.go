package action

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Discovered reads what a discovery script returned: a map from the name of an action to what there is to say of it.
func Discovered(value any) ([]Action, error) {
	all, err := table(value)
	if err != nil {
		return nil, fmt.Errorf("the discovery returns %w; return a table from names to {disabled, …}", err)
	}
	var out []Action
	for _, name := range slices.Sorted(maps.Keys(all)) {
		about, err := table(all[name])
		if err != nil {
			return nil, fmt.Errorf("the discovery returns for %q %w; return a table, which may be empty", name, err)
		}
		a := Action{Name: name}
		a.Disabled, _ = about["disabled"].(bool)
		a.DisplayName, _ = about["displayName"].(string)
		a.IconClass, _ = about["iconClass"].(string)
		params, _ := about["params"].([]any)
		for _, raw := range params {
			p, err := table(raw)
			if err != nil {
				return nil, fmt.Errorf("the discovery returns for a parameter of %q %w", name, err)
			}
			param := Param{}
			param.Name, _ = p["name"].(string)
			param.Type, _ = p["type"].(string)
			if v, ok := p["default"]; ok {
				param.Default = fmt.Sprint(v)
			}
			a.Params = append(a.Params, param)
		}
		out = append(out, a)
	}
	return out, nil
}

// table reads a Lua table with names. An empty one could be either, and arrives as a list.
func table(value any) (map[string]any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	case []any:
		if len(v) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("a list")
	default:
		return nil, fmt.Errorf("%v", v)
	}
}

// Returned turns what an action script returned into steps: the object as it should be, or a list of operations with
// their objects. What is patched must be the very object that the action was run on.
func Returned(obj *unstructured.Unstructured, value any) ([]Step, error) {
	switch v := value.(type) {
	case map[string]any:
		return impacted(obj, "patch", v)
	case []any:
		var out []Step
		for i, raw := range v {
			item, err := table(raw)
			if err != nil {
				return nil, fmt.Errorf("operation %d of what the script returns is %w", i+1, err)
			}
			operation, _ := item["operation"].(string)
			resource, ok := item["resource"].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("operation %d of what the script returns has no resource", i+1)
			}
			steps, err := impacted(obj, operation, resource)
			if err != nil {
				return nil, fmt.Errorf("operation %d of what the script returns: %w", i+1, err)
			}
			out = append(out, steps...)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("the script returns %v; return the object, or a list of {operation, resource}", v)
	}
}

func impacted(obj *unstructured.Unstructured, operation string, resource map[string]any) ([]Step, error) {
	next := &unstructured.Unstructured{Object: resource}
	switch Operation(operation) {
	case Create:
		restored(nil, resource)
		if next.GetKind() == "" || next.GetAPIVersion() == "" || next.GetName() == "" && next.GetGenerateName() == "" {
			return nil, fmt.Errorf("what is to be created has no apiVersion, kind or name")
		}
		if next.GetNamespace() == "" {
			next.SetNamespace(obj.GetNamespace())
		}
		return []Step{{Operation: Create, Object: next}}, nil
	case Patch:
		if next.GroupVersionKind() != obj.GroupVersionKind() ||
			next.GetName() != obj.GetName() || next.GetNamespace() != obj.GetNamespace() {
			return nil, fmt.Errorf("it patches %s %s/%s, which is not the object that the action was run on",
				next.GetKind(), next.GetNamespace(), next.GetName())
		}
		restored(obj.Object, resource)
		return patchStep(obj, resource), nil
	default:
		return nil, fmt.Errorf("the operation is %q, which is neither create nor patch", operation)
	}
}

// restored undoes what the way through Lua does to an object that nobody touched: there an empty map is an empty list,
// null is nothing, and a number is a float.
func restored(was, is map[string]any) {
	for k, before := range was {
		if before == nil {
			if _, ok := is[k]; !ok {
				is[k] = nil
			}
		}
	}
	for k, v := range is {
		is[k] = restoredValue(was[k], v)
	}
}

func restoredValue(was, is any) any {
	switch v := is.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		restored(before, v)
		return v
	case []any:
		return restoredList(was, v)
	case int64:
		if sameNumber(was, v) {
			return was
		}
	}
	return is
}

func restoredList(was any, list []any) any {
	if _, ok := was.(map[string]any); ok && len(list) == 0 {
		return map[string]any{}
	}
	before, _ := was.([]any)
	for i := range list {
		var old any
		if i < len(before) {
			old = before[i]
		}
		list[i] = restoredValue(old, list[i])
	}
	return list
}

func sameNumber(was any, is int64) bool {
	switch before := was.(type) {
	case int64:
		return float64(before) == float64(is)
	case float64:
		return before == float64(is)
	}
	return false
}
