package appset

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// selector keeps what all its conditions hold for. Parameters are no labels: a value may be longer than a label's and hold
// any character, so that Kubernetes' own selectors would refuse too much.
type selector []metav1.LabelSelectorRequirement

func selectorOf(in *metav1.LabelSelector) (selector, error) {
	out := selector{}
	for k, v := range in.MatchLabels {
		out = append(out, metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpIn, Values: []string{v}})
	}
	for i, e := range in.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(e.Values) == 0 {
				return nil, fmt.Errorf("matchExpressions[%d] has the operator %s and no values; list some", i, e.Operator)
			}
		default:
			return nil, fmt.Errorf("matchExpressions[%d] has the operator %q; write In, NotIn, Exists or DoesNotExist", i, e.Operator)
		}
		out = append(out, e)
	}
	return out, nil
}

// matches tells whether all conditions hold; value looks one thing up.
func (s selector) matches(value func(key string) (string, bool)) bool {
	for _, c := range s {
		v, ok := value(c.Key)
		holds := false
		switch c.Operator {
		case metav1.LabelSelectorOpIn:
			holds = ok && slices.Contains(c.Values, v)
		case metav1.LabelSelectorOpNotIn:
			holds = !ok || !slices.Contains(c.Values, v)
		case metav1.LabelSelectorOpExists:
			holds = ok
		case metav1.LabelSelectorOpDoesNotExist:
			holds = !ok
		}
		if !holds {
			return false
		}
	}
	return true
}

// keep are the sets of parameters that the selector matches; none means all.
func (s selector) keep(sets []map[string]any) []map[string]any {
	if len(s) == 0 {
		return sets
	}
	var out []map[string]any
	for _, set := range sets {
		value := func(key string) (string, bool) {
			v, ok := lookup(set, key)
			return word(v), ok
		}
		if s.matches(value) {
			out = append(out, set)
		}
	}
	return out
}
