package plan_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
)

// world is a cluster for tests of decisions: a map of objects, where an apply
// merges maps and replaces everything else. The real server's merging is
// tested on the real server.
type world map[object.Key]*unstructured.Unstructured

var scopes = map[schema.GroupKind]plan.Scope{
	{Kind: "ConfigMap"}:                 plan.ScopeNamespaced,
	{Kind: "Secret"}:                    plan.ScopeNamespaced,
	{Kind: "Service"}:                   plan.ScopeNamespaced,
	{Kind: "Namespace"}:                 plan.ScopeCluster,
	{Group: "apps", Kind: "Deployment"}: plan.ScopeNamespaced,
	{Group: "batch", Kind: "Job"}:       plan.ScopeNamespaced,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: plan.ScopeCluster,
	{Group: v1alpha1.Group, Kind: "Application"}:              plan.ScopeNamespaced,
}

var open = policy.Project{
	Name: "default", SourceRepos: []string{"*"}, NamespaceWhitelistNil: true,
	Destinations:     []policy.Destination{{Server: "*", Namespace: "*"}},
	ClusterWhitelist: []policy.Kind{{Group: "*", Kind: "*"}},
}

func parse(t *testing.T, name string, data []byte) []*unstructured.Unstructured {
	t.Helper()
	objs, err := manifest.Parse(name+".yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// input is the plan's view of the world for an application in namespace shop.
func (w world) input(manifests []*unstructured.Unstructured) plan.Input {
	desired, repeated := plan.Desire(plan.Mark{App: "shop", Destination: "shop"}, manifests, scopes)
	in := plan.Input{
		App: plan.App{
			Instance: "shop",
			Self:     object.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: "argocd", Name: "shop"},
		},
		Project: open, Desired: desired, Repeated: repeated,
		Verdicts: map[object.Key]diff.Verdict{},
		Cluster:  plan.View{Scopes: scopes},
	}
	for _, k := range slices.SortedFunc(maps.Keys(w), object.Compare) {
		in.Live = append(in.Live, object.FactOf(w[k], v1alpha1.FieldManagerApply))
	}
	return in
}

func (w world) answers(in plan.Input) map[object.Key]plan.Answer {
	out := map[object.Key]plan.Answer{}
	for _, q := range plan.Ask(in) {
		live := w[q.Object.Key]
		out[q.Object.Key] = plan.Answer{Live: live, Predicted: merge(live, q.Object.Body)}
	}
	return out
}

func (w world) plan(manifests []*unstructured.Unstructured) plan.Plan {
	in := w.input(manifests)
	return plan.Compute(in, w.answers(in))
}

// execute does a step as the engine would.
func (w world) execute(s plan.Step, p plan.Progress) {
	for _, it := range s.Items {
		if o, ok := plan.Settle(it, p); ok {
			p.Done[it.Key] = o
			continue
		}
		if it.Action == plan.Prune {
			delete(w, it.Key)
			p.Done[it.Key] = plan.Outcome{Code: plan.CodePruned, Message: "pruned"}
			continue
		}
		w[it.Key] = merge(w[it.Key], it.Desired.Body)
		p.Done[it.Key] = plan.Applied(it, w[it.Key], false)
	}
}

func merge(live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil {
		return desired.DeepCopy()
	}
	out := live.DeepCopy()
	mergeMaps(out.Object, desired.DeepCopy().Object)
	return out
}

func mergeMaps(into, from map[string]any) {
	for k, v := range from {
		fm, ok := v.(map[string]any)
		im, also := into[k].(map[string]any)
		if ok && also {
			mergeMaps(im, fm)
			continue
		}
		into[k] = v
	}
}
