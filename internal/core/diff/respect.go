package diff

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
)

// Respect is the manifest to apply where ignored fields are left to others:
// such a field is left out where somebody else holds it, and sent with its
// live value where only we do, since leaving out a field that we alone hold
// would reset it. What is not live is left out. A rule that cannot be followed
// is an error: what it was meant to spare would be overwritten.
func (r Rules) Respect(desired, live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	// The first side is whose managers count.
	_, kept, problems := r.Strip(live, desired)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	w := respect{live: live, manager: manager}
	return &unstructured.Unstructured{Object: w.maps(desired.Object, kept.Object, live.Object, nil)}, nil
}

// Keep is the manifest to replace an object with where ignored fields are left
// to others: each is sent with its live value, whoever holds it, since what a
// replacement does not say is removed.
func (r Rules) Keep(desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	_, kept, problems := r.Strip(live, desired)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	w := respect{live: live, all: true}
	return &unstructured.Unstructured{Object: w.maps(desired.Object, kept.Object, live.Object, nil)}, nil
}

type respect struct {
	live    *unstructured.Unstructured
	manager string
	// all sends what others hold, too.
	all bool
}

// value is the desired value with the ignored parts of it settled. kept is
// what of it is not ignored.
func (w respect) value(desired, kept, live any, way []string) any {
	dm, ok1 := desired.(map[string]any)
	km, ok2 := kept.(map[string]any)
	if ok1 && ok2 {
		lm, _ := live.(map[string]any)
		return w.maps(dm, km, lm, way)
	}
	dl, ok1 := desired.([]any)
	kl, ok2 := kept.([]any)
	if ok1 && ok2 && len(dl) == len(kl) {
		ll, _ := live.([]any)
		return w.lists(dl, kl, ll, way)
	}
	return kept
}

func (w respect) maps(desired, kept, live map[string]any, way []string) map[string]any {
	out := make(map[string]any, len(desired))
	for k, d := range desired {
		next := append(slices.Clip(way), "f:"+k)
		l, stands := live[k]
		if kv, ok := kept[k]; ok {
			out[k] = w.value(d, kv, l, next)
			continue
		}
		if stands && !w.othersHold(next) {
			out[k] = l
		}
	}
	return out
}

// lists pairs the items by name, or by place where they have none.
func (w respect) lists(desired, kept, live []any, way []string) []any {
	out := make([]any, len(desired))
	for i := range desired {
		var l any
		next := way
		if name, ok := nameOf(desired[i]); ok {
			l = named(live, name)
			next = append(slices.Clip(way), itemID{keys: []string{"name"}}.element(desired[i]))
		} else if i < len(live) {
			l = live[i]
		}
		out[i] = w.value(desired[i], kept[i], l, next)
	}
	return out
}

func (w respect) othersHold(way []string) bool {
	return !w.all && slices.ContainsFunc(field.Owners(w.live, way), func(e field.Entry) bool {
		return e.Manager != w.manager || e.Operation != field.Apply || e.Subresource != ""
	})
}
