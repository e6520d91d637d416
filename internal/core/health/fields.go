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
	// conditionList is read once, because a rule of a table looks at it again and again.
	conditionList []condition
	conditionRead bool
}

// condition is one entry of status.conditions; the zero value says that there is none.
type condition struct {
	Type, Status, Reason, Message string
	// ObservedGeneration is zero where the controller does not tell it.
	ObservedGeneration int64
}

func (c condition) isTrue() bool { return c.Status == "True" }

// text is what a condition has to say to a person.
func (c condition) text() string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Reason != "":
		return c.Reason
	}
	return c.Type + " is " + c.Status
}

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

// statusConditions is where nearly all controllers keep their conditions.
var statusConditions = []string{"status", "conditions"}

// condition returns the first status condition of a type.
func (f *fields) condition(kind string) condition {
	for _, c := range f.conditions(statusConditions) {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// conditions are all the conditions at a path. An object is only ever asked for one path.
func (f *fields) conditions(path []string) []condition {
	if f.conditionRead {
		return f.conditionList
	}
	f.conditionRead = true
	f.each(path, func(v any) bool {
		list, ok := v.([]any)
		if !ok {
			f.blame(path, "is not a list")
			return false
		}
		if f.conditionList == nil {
			f.conditionList = make([]condition, 0, len(list))
		}
		for i, raw := range list {
			m, ok := raw.(map[string]any)
			if !ok {
				f.blame(path, fmt.Sprintf("has an item %d that is not a map", i))
				return false
			}
			f.conditionList = append(f.conditionList, f.asCondition(path, m))
		}
		return true
	})
	if slices.Contains(path, everyItem) {
		f.conditionList = f.withoutLeftovers(f.conditionList)
	}
	return f.conditionList
}

// withoutLeftovers is for conditions that several controllers write: once one of them has seen the newest spec, those
// of an older one may be of a controller that has left, and nobody would ever renew them.
func (f *fields) withoutLeftovers(all []condition) []condition {
	wanted := f.count("metadata", "generation")
	if !slices.ContainsFunc(all, func(c condition) bool { return c.ObservedGeneration >= wanted && wanted > 0 }) {
		return all
	}
	return slices.DeleteFunc(all, func(c condition) bool { return c.ObservedGeneration > 0 && c.ObservedGeneration < wanted })
}

func (f *fields) asCondition(path []string, m map[string]any) condition {
	read := func(name string) string {
		switch v := m[name].(type) {
		case nil:
			return ""
		case string:
			return v
		default:
			f.blame(path, name+" is not a string")
			return ""
		}
	}
	c := condition{Type: read("type"), Status: read("status"), Reason: read("reason"), Message: read("message")}
	// A generation of another shape is nobody's mistake to report: the condition is then judged without it.
	switch v := m["observedGeneration"].(type) {
	case int64:
		c.ObservedGeneration = v
	case float64:
		c.ObservedGeneration = int64(v)
	}
	return c
}

// each calls yield for every value at a path in which "[]" stands for all items of a list, until yield says no.
func (f *fields) each(path []string, yield func(v any) bool) {
	f.descend(f.object, path, path, yield)
}

func (f *fields) descend(v any, rest, path []string, yield func(v any) bool) bool {
	for i, name := range rest {
		if v == nil {
			return true
		}
		if name == everyItem {
			list, ok := v.([]any)
			if !ok {
				f.blame(path, "cannot be read: a parent is not a list")
				return false
			}
			for _, item := range list {
				if !f.descend(item, rest[i+1:], path, yield) {
					return false
				}
			}
			return true
		}
		m, ok := v.(map[string]any)
		if !ok {
			f.blame(path, "cannot be read: a parent is not a map")
			return false
		}
		v = m[name]
	}
	return v == nil || yield(v)
}

// everyItem is the segment of a path that stands for all items of a list.
const everyItem = "[]"

// unobserved is the verdict while the controller has not yet seen the newest spec: until then the numbers in the
// status speak about an older one.
func (f *fields) unobserved() (Health, bool) {
	generation, observed := f.count("metadata", "generation"), f.count("status", "observedGeneration")
	if generation <= observed {
		return Health{}, false
	}
	return behind(generation, observed), true
}

// unobservedIfTold is unobserved for a controller that may not tell which generation it has seen.
func (f *fields) unobservedIfTold() (Health, bool) {
	if _, found := f.number("status", "observedGeneration"); !found {
		return Health{}, false
	}
	return f.unobserved()
}

func behind(generation, observed int64) Health {
	return progressing("Waiting for the controller to observe generation %d: it has seen %d", generation, observed)
}

func (f *fields) blame(path []string, what string) {
	if f.problem == "" {
		f.problem = strings.Join(path, ".") + " " + what
	}
}

// shorten keeps the facts about a cluster small: some controllers put whole logs into a message.
func shorten(message string) string {
	const most = 512
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

func progressing(format string, args ...any) Health {
	return Health{Status: Progressing, Message: fmt.Sprintf(format, args...)}
}

func degraded(format string, args ...any) Health {
	return Health{Status: Degraded, Message: fmt.Sprintf(format, args...)}
}
