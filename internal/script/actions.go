package script

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ActionRule is what a user made for a kind, written as in Rule.
type ActionRule struct {
	Kind string
	// Discovery says which actions an object has now; without a source there
	// are none to be found.
	Discovery Script
	// Actions are the scripts by the names of the actions.
	Actions map[string]Script
	// Merge keeps the kind's own actions beside these.
	Merge bool
}

// Actions runs the actions that users made.
type Actions struct {
	runner Runner
	rules  *kinds[ActionRule]
}

// NewActions makes them ready for use.
func NewActions(r Runner, list []ActionRule) *Actions {
	all := make(map[string]ActionRule, len(list))
	for _, rule := range list {
		all[rule.Kind] = rule
	}
	return &Actions{runner: r, rules: newKinds(all)}
}

// Discover returns what the discovery script of the object's kind returned.
// builtin says whether the kind's own actions count too.
func (a *Actions) Discover(obj *unstructured.Unstructured) (found any, builtin bool, err error) {
	rule, ok := a.rules.of(obj.GroupVersionKind().GroupKind())
	switch {
	case !ok:
		return nil, true, nil
	case rule.Discovery.Source == "":
		return nil, rule.Merge, nil
	}
	r := a.runner.Run(rule.Discovery, []map[string]any{{"obj": obj.Object}})[0]
	if r.Problem != "" {
		return nil, rule.Merge, errors.New(r.Problem)
	}
	return r.Value, rule.Merge, nil
}

// Run returns what the script of an action returned; false when the users have
// no such action for the object's kind.
func (a *Actions) Run(obj *unstructured.Unstructured, name string, params map[string]string) (returned any, known bool, err error) {
	rule, ok := a.rules.of(obj.GroupVersionKind().GroupKind())
	if !ok {
		return nil, false, nil
	}
	s, ok := rule.Actions[name]
	if !ok {
		return nil, false, nil
	}
	given := make(map[string]any, len(params))
	for k, v := range params {
		given[k] = v
	}
	r := a.runner.Run(s, []map[string]any{{"obj": obj.Object, "actionParams": given}})[0]
	if r.Problem != "" {
		return nil, true, errors.New(r.Problem)
	}
	return r.Value, true, nil
}
