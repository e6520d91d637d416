package plan_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

// TestDigestOfAView: everything that a view says moves its digest. A field that
// is added has to be added here, and to the digest.
func TestDigestOfAView(t *testing.T) {
	web := schema.GroupKind{Group: "example.com", Kind: "Web"}
	seen := map[object.Digest]string{plan.View{}.Digest(): "nothing"}
	views := map[string]plan.View{
		"Scopes":     {Scopes: map[schema.GroupKind]plan.Scope{web: plan.ScopeCluster}},
		"Blind":      {Blind: map[schema.GroupKind]string{web: "why"}},
		"Stale":      {Stale: map[schema.GroupKind]string{web: "why"}},
		"Unread":     {Unread: map[schema.GroupKind]bool{web: true}},
		"Excluded":   {Excluded: map[schema.GroupKind]bool{web: true}},
		"Schemas":    {Schemas: map[schema.GroupKind]string{web: "why"}},
		"Kube":       {Kube: &manifest.Kube{Version: "1.36", Digest: "apis"}},
		"Namespaces": {Namespaces: []string{"shop"}},
		"Identity":   {Identity: "shop"},
		"Gaps":       {Gaps: []string{"shop"}},
	}
	for name, v := range views {
		if other, twice := seen[v.Digest()]; twice {
			t.Errorf("the digest of %s is that of %s", name, other)
		}
		seen[v.Digest()] = name
	}
	// Version and Content are names of the rest.
	if n := reflect.TypeFor[plan.View]().NumField(); len(seen)-1 != n-2 {
		t.Errorf("a view has %d fields, and %d are looked at", n, len(seen)-1)
	}
	// The same of what is about one kind: all but the APIs, and what others are like.
	about := map[object.Digest]string{plan.View{}.About([]schema.GroupKind{web}): "nothing"}
	for name, v := range views {
		d := v.About([]schema.GroupKind{web})
		if other, twice := about[d]; twice {
			t.Errorf("%s says the same of the kind as %s", name, other)
		}
		about[d] = name
	}
	other := plan.View{Scopes: map[schema.GroupKind]plan.Scope{{Kind: "Other"}: plan.ScopeCluster}, Kube: &manifest.Kube{Digest: "apis"}}
	if other.About([]schema.GroupKind{web}) != (plan.View{Kube: &manifest.Kube{}}).About([]schema.GroupKind{web}) {
		t.Error("what is said of others is a part of it")
	}
	if (plan.View{Namespaces: []string{}}).Digest() == (plan.View{}).Digest() {
		t.Error("no namespaces are as good as all")
	}
}
