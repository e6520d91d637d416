package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

func TestOrphans(t *testing.T) {
	fact := func(kind, name, app string, owned bool) *object.Fact {
		return &object.Fact{Key: object.Key{Kind: kind, Namespace: "n", Name: name}, App: app, Owned: owned}
	}
	project := policy.Project{
		Name: "p", NamespaceWhitelistNil: true, NamespaceBlacklist: []policy.Kind{{Kind: "LimitRange"}},
		Orphans: &policy.Orphans{Warn: true, Ignore: []policy.Kind{{Kind: "Secret"}}},
	}
	there := map[string]bool{"web": true}
	var many []*object.Fact
	for i := range 7 {
		many = append(many, fact("ConfigMap", fmt.Sprint(i), "", false))
	}
	p := plan.Plan{Items: []plan.Item{{Key: object.Key{Kind: "ConfigMap", Namespace: "n", Name: "desired"}}}}
	const out = "; add them to Git, delete them, or list them in orphanedResources.ignore of project \"p\""
	cases := map[string]struct {
		facts []*object.Fact
		want  string
	}{
		"nobody's":                    {[]*object.Fact{fact("ConfigMap", "a", "", false)}, "Application has 1 orphaned resources (ConfigMap a)" + out},
		"of an application":           {[]*object.Fact{fact("ConfigMap", "a", "web", false)}, ""},
		"of one that is gone":         {[]*object.Fact{fact("ConfigMap", "a", "gone", false)}, "Application has 1 orphaned resources (ConfigMap a)" + out},
		"desired, and not marked yet": {[]*object.Fact{fact("ConfigMap", "desired", "", false)}, ""},
		"of another object":           {[]*object.Fact{fact("Pod", "a", "", true)}, ""},
		"what every namespace has":    {[]*object.Fact{fact("ServiceAccount", "default", "", false), fact("Endpoints", "a", "", false)}, ""},
		"ignored":                     {[]*object.Fact{fact("Secret", "a", "", false)}, ""},
		"what the project may not":    {[]*object.Fact{fact("LimitRange", "a", "", false)}, ""},
		"what is in no namespace":     {[]*object.Fact{{Key: object.Key{Kind: "ConfigMap", Name: "a"}}}, ""},
		"many are counted, not told":  {many, "Application has 7 orphaned resources (ConfigMap 0, ConfigMap 1, ConfigMap 2, ConfigMap 3, ConfigMap 4, …)" + out},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, f := range p.Orphans(c.facts, project, there) {
				got += f.Message
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if f := p.Orphans(c.facts, policy.Project{NamespaceWhitelistNil: true}, there); f != nil {
				t.Errorf("a project that does not ask is told %v", f)
			}
		})
	}
}
