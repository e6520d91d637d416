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
	{Kind: "ConfigMap"}:                                               plan.ScopeNamespaced,
	{Kind: "Secret"}:                                                  plan.ScopeNamespaced,
	{Kind: "Service"}:                                                 plan.ScopeNamespaced,
	{Kind: "Namespace"}:                                               plan.ScopeCluster,
	{Group: "apps", Kind: "Deployment"}:                               plan.ScopeNamespaced,
	{Group: "batch", Kind: "Job"}:                                     plan.ScopeNamespaced,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     plan.ScopeNamespaced,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         plan.ScopeCluster,
	{Group: v1alpha1.Group, Kind: "Application"}:                      plan.ScopeNamespaced,
	{Group: "example.com", Kind: "Boat"}:                              plan.ScopeNamespaced,
	{Group: "example.com", Kind: "Unheard"}:                           plan.ScopeNamespaced,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: plan.ScopeCluster,
	{Kind: "PersistentVolumeClaim"}:                                   plan.ScopeNamespaced,
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
	mark := plan.Mark{App: "shop", Destination: "shop"}
	wish := plan.Desire(mark, manifests, scopes)
	in := plan.Input{
		App: plan.App{
			Instance: "shop",
			Self:     object.Key{Group: v1alpha1.Group, Kind: "Application", Namespace: "argocd", Name: "shop"},
		},
		Project: open, Desired: wish.Objects, Repeated: wish.Repeated, Hooks: wish.Hooks, Mark: mark,
		Verdicts: map[object.Key]diff.Verdict{},
		Cluster:  plan.View{Scopes: scopes},
		Server:   v1alpha1.InClusterServer, ClusterName: v1alpha1.InClusterName,
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

// execute does a step as the engine would, and shows the plan what it made.
func (w world) execute(s plan.Step, p plan.Plan, progress plan.Progress) {
	for i, it := range s.Items {
		at := slices.IndexFunc(p.Items, func(other plan.Item) bool { return other.Task() == it.Task() })
		switch o, ok := plan.Settle(it, progress); {
		case s.Do == plan.DoNote:
			progress.Done[it.Task()] = s.Notes[i]
		case s.Do == plan.DoRelease:
			f := *it.Live
			f.Held = false
			p.Items[at].Live = &f
			w[it.Key].SetFinalizers(nil)
		case s.Do == plan.DoClear:
			delete(w, it.Key)
			p.Items[at].Live = nil
		case ok:
			progress.Done[it.Task()] = o
		case it.Action == plan.Prune:
			delete(w, it.Key)
			p.Items[at].Live = nil
			progress.Done[it.Task()] = plan.Outcome{Code: plan.CodePruned, Message: "pruned"}
		default:
			w[it.Key] = merge(w[it.Key], it.Desired.Body)
			progress.Done[it.Task()] = plan.Applied(it, w[it.Key], false)
			f := object.FactOf(w[it.Key], v1alpha1.FieldManagerApply)
			p.Items[at].Live = &f
		}
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
