package health

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fields reads an object without converting it. An absent or null field reads as the zero value; the first field of a
// wrong type is kept as the problem, so that a check reads straight on and its answer is replaced by Unknown.
type fields struct {
	object  map[string]any
	problem string
}

// condition is one entry of status.conditions; the zero value says that there is none.
type condition struct {
	Type, Status, Reason, Message string
}

func (c condition) isTrue() bool { return c.Status == "True" }

func (f *fields) value(path ...string) any {
	v, found, err := unstructured.NestedFieldNoCopy(f.object, path...)
	if err != nil {
		f.blame(path, "cannot be read: a parent is not a map")
	}
	if !found {
		return nil
	}
	return v
}

func (f *fields) text(path ...string) string {
	switch v := f.value(path...).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		f.blame(path, "is not a string")
		return ""
	}
}

func (f *fields) flag(path ...string) bool {
	switch v := f.value(path...).(type) {
	case nil:
		return false
	case bool:
		return v
	default:
		f.blame(path, "is not a boolean")
		return false
	}
}

// number also says whether the field is there, because an absent spec.replicas is not zero replicas.
func (f *fields) number(path ...string) (n int64, found bool) {
	switch v := f.value(path...).(type) {
	case nil:
		return 0, false
	case int64:
		return v, true
	case float64:
		// Plain encoding/json reads every number as a float.
		if n := int64(v); float64(n) == v {
			return n, true
		}
	}
	f.blame(path, "is not an integer")
	return 0, false
}

// count is a number for which absent means zero, as everywhere in a status.
func (f *fields) count(path ...string) int64 {
	n, _ := f.number(path...)
	return n
}

func (f *fields) list(path ...string) []any {
	switch v := f.value(path...).(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		f.blame(path, "is not a list")
		return nil
	}
}

func (f *fields) contains(want string, path ...string) bool {
	return slices.Contains(f.list(path...), any(want))
}

// items are the maps of a list, each to be read like an object; its problems are the list's problems.
func (f *fields) items(yield func(item *fields) bool, path ...string) {
	for i, raw := range f.list(path...) {
		m, ok := raw.(map[string]any)
		if !ok {
			f.blame(path, fmt.Sprintf("has an item %d that is not a map", i))
			return
		}
		item := fields{object: m}
		more := yield(&item)
		if item.problem != "" && f.problem == "" {
			f.problem = strings.Join(path, ".") + ": " + item.problem
		}
		if !more {
			return
		}
	}
}

// has says whether a map is there at all, even an empty one.
func (f *fields) has(path ...string) bool {
	switch f.value(path...).(type) {
	case nil:
		return false
	case map[string]any:
		return true
	}
	f.blame(path, "is not a map")
	return false
}

// condition returns the first status condition of a type.
func (f *fields) condition(kind string) condition {
	var found condition
	f.items(func(item *fields) bool {
		if item.text("type") != kind {
			return true
		}
		found = item.asCondition()
		return false
	}, "status", "conditions")
	return found
}

func (f *fields) asCondition() condition {
	return condition{
		Type: f.text("type"), Status: f.text("status"), Reason: f.text("reason"), Message: f.text("message"),
	}
}

// unobserved is the verdict while the controller has not yet seen the newest spec: until then the numbers in the
// status speak about an older one.
func (f *fields) unobserved() (Health, bool) {
	generation, observed := f.count("metadata", "generation"), f.count("status", "observedGeneration")
	if generation <= observed {
		return Health{}, false
	}
	return progressing("Waiting for the controller to observe generation %d: it has seen %d", generation, observed), true
}

func (f *fields) blame(path []string, what string) {
	if f.problem == "" {
		f.problem = strings.Join(path, ".") + " " + what
	}
}

func progressing(format string, args ...any) Health {
	return Health{Status: Progressing, Message: fmt.Sprintf(format, args...)}
}

func degraded(format string, args ...any) Health {
	return Health{Status: Degraded, Message: fmt.Sprintf(format, args...)}
}
