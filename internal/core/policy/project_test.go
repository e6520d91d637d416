package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

func TestOfReadsEveryRule(t *testing.T) {
	p := &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: v1alpha1.AppProjectSpec{
			SourceRepos:                []string{"https://git.example.com/*"},
			Destinations:               []v1alpha1.ApplicationDestination{{Server: "https://a", Namespace: "shop"}, {Name: "b", Namespace: "*"}},
			ClusterResourceWhitelist:   []v1alpha1.ClusterResourceRestriction{{Group: "*", Kind: "Namespace", Name: "shop-*"}},
			ClusterResourceBlacklist:   []v1alpha1.ClusterResourceRestriction{{Group: "x", Kind: "Y"}},
			NamespaceResourceWhitelist: []metav1.GroupKind{{Group: "apps", Kind: "*"}},
			NamespaceResourceBlacklist: []metav1.GroupKind{{Kind: "Secret"}},
		},
	}
	want := policy.Project{
		Name: "team", SourceRepos: []string{"https://git.example.com/*"},
		Destinations:       []policy.Destination{{Server: "https://a", Namespace: "shop"}, {Name: "b", Namespace: "*"}},
		ClusterWhitelist:   []policy.Kind{{Group: "*", Kind: "Namespace", Name: "shop-*"}},
		ClusterBlacklist:   []policy.Kind{{Group: "x", Kind: "Y"}},
		NamespaceWhitelist: []policy.Kind{{Group: "apps", Kind: "*"}},
		NamespaceBlacklist: []policy.Kind{{Kind: "Secret"}},
	}
	if d := cmp.Diff(want, policy.Of(p)); d != "" {
		t.Errorf("the rules differ (-want +got):\n%s", d)
	}
}

// TestAbsentAndEmptyWhitelist: a namespaceResourceWhitelist that is not there
// allows every kind, an empty one allows none. The two must not be confused on
// the way, be it from JSON or over a copy.
func TestAbsentAndEmptyWhitelist(t *testing.T) {
	cases := map[string]struct {
		spec    string
		allowed bool
	}{
		"absent":                           {`{}`, true},
		"null":                             {`{"namespaceResourceWhitelist":null}`, true},
		"empty":                            {`{"namespaceResourceWhitelist":[]}`, false},
		"another kind":                     {`{"namespaceResourceWhitelist":[{"group":"apps","kind":"Deployment"}]}`, false},
		"this kind":                        {`{"namespaceResourceWhitelist":[{"group":"","kind":"ConfigMap"}]}`, true},
		"absent, denied by the other list": {`{"namespaceResourceBlacklist":[{"group":"","kind":"ConfigMap"}]}`, false},
		"absent, the other list is empty":  {`{"namespaceResourceBlacklist":[]}`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			decoded := &v1alpha1.AppProject{}
			if err := json.Unmarshal([]byte(`{"metadata":{"name":"team"},"spec":`+c.spec+`}`), decoded); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(decoded)
			if err != nil {
				t.Fatal(err)
			}
			again := &v1alpha1.AppProject{}
			if err := json.Unmarshal(raw, again); err != nil {
				t.Fatal(err)
			}
			for how, p := range map[string]*v1alpha1.AppProject{"decoded": decoded, "copied": decoded.DeepCopy(), "decoded twice": again} {
				if v := policy.Object(policy.Of(p), "", "ConfigMap", "web", true); v.Allowed != c.allowed {
					t.Errorf("%s: %+v", how, v)
				}
				// Cluster-scoped kinds have no such rule: no list allows none.
				if v := policy.Object(policy.Of(p), "", "Namespace", "web", false); v.Allowed {
					t.Errorf("%s: a Namespace is allowed: %+v", how, v)
				}
			}
		})
	}
}
