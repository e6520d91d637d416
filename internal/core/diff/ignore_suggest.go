package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// SuggestRule is the YAML that makes an Application ignore these differences
// of one object, to be committed into its spec. Fields become JSON pointers;
// what is below a list item with a name becomes a jq expression, which holds
// when the list is put in another order. A path that cannot be read is a
// comment.
func SuggestRule(k object.Key, paths []string) string {
	rule := v1alpha1.ResourceIgnoreDifferences{Group: k.Group, Kind: k.Kind, Name: k.Name, Namespace: k.Namespace}
	var comments []string
	for _, text := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		p, err := ParsePath(text)
		if err != nil {
			comments = append(comments, fmt.Sprintf("# not covered: %v\n", err))
			continue
		}
		if ptr, ok := p.pointer(); ok {
			rule.JSONPointers = append(rule.JSONPointers, ptr.String())
			continue
		}
		rule.JQPathExpressions = append(rule.JQPathExpressions, p.jq())
	}
	if rule.JSONPointers == nil && rule.JQPathExpressions == nil {
		return strings.Join(comments, "")
	}
	raw, err := yaml.Marshal(map[string]any{"ignoreDifferences": []any{rule}})
	if err != nil {
		return fmt.Sprintf("# no rule can be written: %v\n", err)
	}
	return string(raw) + strings.Join(comments, "")
}

// Covers says which rule makes a difference not count: the origin of the first
// that alone makes both sides agree at the path. A path through a list item
// without a name is covered when its whole list then agrees.
func (r Rules) Covers(live, predicted *unstructured.Unstructured, path string) (origin string, ok bool) {
	p, err := ParsePath(path)
	if err != nil {
		return "", false
	}
	p = p.list()
	if agree(p, live, predicted) {
		return "", false
	}
	for _, rule := range r.For(object.KeyOf(live)).rules {
		l, o, problems := Rules{rules: []ready{rule}}.Strip(live, predicted)
		if len(problems) == 0 && agree(p, l, o) {
			return rule.Origin, true
		}
	}
	return "", false
}

func agree(p Path, a, b *unstructured.Unstructured) bool {
	x, inA := p.find(a.Object)
	y, inB := p.find(b.Object)
	return inA == inB && reflect.DeepEqual(x, y)
}
