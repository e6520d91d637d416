// Package action turns an object and the name of an action into the changes that the action stands for: restart this
// Deployment, run that CronJob now. It must not carry anything out, and it never looks at a clock: the time is a value.
package action

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Action is something that can be done with an object, as it stands now.
type Action struct {
	Name string `json:"name"`
	// Disabled says that it makes no sense right now: a paused object cannot be paused.
	Disabled    bool    `json:"disabled"`
	DisplayName string  `json:"displayName,omitempty"`
	IconClass   string  `json:"iconClass,omitempty"`
	Params      []Param `json:"params,omitempty"`
}

// Param is a value that an action asks for.
type Param struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`
	Default string `json:"default,omitempty"`
}

// Input is what an action is run with.
type Input struct {
	Params map[string]string
	Now    time.Time
}

// Operation is what a step does.
type Operation string

// The operations.
const (
	Create Operation = "create"
	Patch  Operation = "patch"
)

// Step is one change. The steps of an action are made in their order.
type Step struct {
	Operation Operation
	// Object is the one to create, or the one to patch as it was read.
	Object *unstructured.Unstructured
	// Patch is a JSON merge patch.
	Patch map[string]any
}

// definition is an action that every installation has.
type definition struct {
	name   string
	params []Param
	// enabled says whether it makes sense now; nil is always.
	enabled func(obj map[string]any) bool
	// change edits a copy of the object; what it changed is the patch.
	change func(obj map[string]any, in Input) error
	// create makes a new object instead.
	create func(obj *unstructured.Unstructured, in Input) (*unstructured.Unstructured, error)
}

// Builtin are the actions that an object has without anybody's help, by name.
func Builtin(obj *unstructured.Unstructured) []Action {
	var out []Action
	for _, d := range definitionsOf(obj) {
		out = append(out, Action{Name: d.name, Disabled: d.enabled != nil && !d.enabled(obj.Object), Params: d.params})
	}
	slices.SortFunc(out, func(a, b Action) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Run gives the steps of a built-in action; false when the object has no such action. The object is not changed.
func Run(obj *unstructured.Unstructured, name string, in Input) (steps []Step, known bool, err error) {
	for _, d := range definitionsOf(obj) {
		if d.name != name {
			continue
		}
		if d.enabled != nil && !d.enabled(obj.Object) {
			return nil, true, fmt.Errorf("%s makes no sense for this object as it stands", name)
		}
		if err := knownParams(d.params, in.Params); err != nil {
			return nil, true, err
		}
		if d.create != nil {
			made, err := d.create(obj, in)
			if err != nil {
				return nil, true, err
			}
			return []Step{{Operation: Create, Object: made}}, true, nil
		}
		next := obj.DeepCopy()
		if err := d.change(next.Object, in); err != nil {
			return nil, true, err
		}
		return patchStep(obj, next.Object), true, nil
	}
	return nil, false, nil
}

func knownParams(known []Param, given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(known, func(p Param) bool { return p.Name == name }) {
			return fmt.Errorf("the action has no parameter %q", name)
		}
	}
	return nil
}

// patchStep is the step from one state of an object to another; none if they are the same.
func patchStep(from *unstructured.Unstructured, to map[string]any) []Step {
	patch := difference(from.Object, to)
	if len(patch) == 0 {
		return nil
	}
	return []Step{{Operation: Patch, Object: from, Patch: patch}}
}

// difference is the merge patch that makes to out of from.
func difference(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for k := range from {
		if _, ok := to[k]; !ok {
			patch[k] = nil
		}
	}
	for k, v := range to {
		was, ok := from[k]
		a, isMap := was.(map[string]any)
		b, toMap := v.(map[string]any)
		switch {
		case ok && isMap && toMap:
			if inner := difference(a, b); len(inner) > 0 {
				patch[k] = inner
			}
		case !ok || !reflect.DeepEqual(was, v):
			patch[k] = v
		}
	}
	return patch
}
