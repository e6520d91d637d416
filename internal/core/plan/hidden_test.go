package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

func TestHidden(t *testing.T) {
	maps, nodes, secrets := schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Node"}, schema.GroupKind{Kind: "Secret"}
	view := plan.View{
		Scopes:     map[schema.GroupKind]plan.Scope{maps: plan.ScopeNamespaced, secrets: plan.ScopeNamespaced, nodes: plan.ScopeCluster},
		Blind:      map[schema.GroupKind]string{secrets: "may not be read"},
		Namespaces: []string{"shop"},
	}
	all := view
	all.Namespaces = nil
	for _, c := range []struct {
		view plan.View
		key  object.Key
		says string
	}{
		{view, object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, ""},
		{view, object.Key{Kind: "ConfigMap", Namespace: "other", Name: "a"}, `namespace "other" is not among those`},
		{view, object.Key{Kind: "Secret", Namespace: "shop", Name: "a"}, "may not be read"},
		{view, object.Key{Kind: "Node", Name: "a"}, ""},
		{view, object.Key{Group: "not", Kind: "Served", Namespace: "other", Name: "a"}, ""},
		{all, object.Key{Kind: "ConfigMap", Namespace: "other", Name: "a"}, ""},
	} {
		if got := c.view.Hidden(c.key); !strings.HasPrefix(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%s is hidden: %q", c.key, got)
		}
	}
}
