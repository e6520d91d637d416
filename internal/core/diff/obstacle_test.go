package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/field"
)

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: K\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestObstacles: what may be why the server refuses a manifest.
func TestObstacles(t *testing.T) {
	const kubectlHolds = `
metadata: {managedFields: [
  {manager: kubectl, operation: Update, fieldsV1: {f:spec: {f:old: {f:a: {}, f:b: {}, f:default: {}}}}}]}
`
	const rivalHolds = `
metadata: {managedFields: [
  {manager: kubectl, operation: Update, fieldsV1: {f:spec: {f:old: {f:a: {}, f:b: {}}}}},
  {manager: rival, operation: Update, fieldsV1: {f:spec: {f:old: {f:default: {}}}}}]}
`
	const spec = "spec: {old: {a: 1, b: 2, default: 3}}\n"
	cases := map[string]struct {
		desired, live, earlier string
		refused                []string
		want                   string
	}{
		"a branch that was left goes with its defaults": {
			"spec: {new: 1}", kubectlHolds + spec, "spec: {old: {a: 1, b: 2}}", nil, "spec.old",
		},
		"but not with what a rival has there": {
			"spec: {new: 1}", rivalHolds + spec, "spec: {old: {a: 1, b: 2}}", nil, "spec.old.a spec.old.b",
		},
		"nor with what the manifest has there": {
			"spec: {new: 1, old: {b: 2}}", kubectlHolds + spec, "spec: {old: {a: 1, b: 2}}", nil, "spec.old.a",
		},
		"a default that the server names": {
			"spec: {new: 1}", spec, "", []string{"spec.old"}, "spec.old",
		},
		"which holds what was left":            {"spec: {new: 1}", rivalHolds + spec, "spec: {old: {a: 1}}", []string{"spec.old"}, "spec.old"},
		"what the manifest has is none":        {"spec: {old: {}}", spec, "", []string{"spec.old"}, ""},
		"nor is what does not stand":           {"spec: {new: 1}", spec, "", []string{"spec.other"}, ""},
		"the index of a list is anybody's":     {"spec: {new: 1}", spec, "", []string{"spec.old[0].a"}, ""},
		"nor what a controller holds":          {"spec: {}", "metadata: {managedFields: [{manager: hpa, operation: Update, subresource: scale, fieldsV1: {f:spec: {f:replicas: {}}}}]}\nspec: {replicas: 3}", "", []string{"spec.replicas"}, ""},
		"a refusal of the whole names nothing": {"spec: {new: 1}", spec, "", []string{"spec", ""}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, way := range diff.Obstacles(read(t, c.desired), read(t, c.live), read(t, c.earlier), c.refused) {
				got = append(got, field.Display(way))
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestCleared: the merge that stands for a takeover and an apply.
func TestCleared(t *testing.T) {
	live := read(t, `
metadata: {managedFields: [
  {manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:ours: {}, f:shared: {}, f:kept: {}, f:list: {'k:{"name":"a","protocol":"TCP"}': {f:x: {}}}}}},
  {manager: kubectl, operation: Update, fieldsV1: {f:spec: {f:shared: {}}}}]}
spec: {ours: 1, shared: 2, kept: 3, old: 4, list: [{name: a, protocol: TCP, x: 1}]}
`)
	desired := read(t, "spec: {kept: 3, list: [{name: a}, {name: b}]}")
	item := `k:{"name":"a","protocol":"TCP"}`
	patch, done := diff.Cleared(desired, live, [][]string{{"f:spec", "f:old"}, {"f:spec", "f:list", item}, {"f:spec", "f:list", item, "f:z"}}, manager)
	want := read(t, "spec: {kept: 3, old: null, ours: null, list: [{name: a, x: null, z: null}, {name: b}]}")
	if d := cmp.Diff(want.Object, patch.Object); d != "" {
		t.Errorf("the patch (-want +got):\n%s", d)
	}
	if d := cmp.Diff([][]string{{"f:spec", "f:old"}, {"f:spec", "f:list", item, "f:z"}}, done); d != "" {
		t.Errorf("what it removes (-want +got):\n%s", d)
	}
}

func TestImmutable(t *testing.T) {
	const refusal = `StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields ` +
		`other than 'replicas', 'template' and 'minReadySeconds' are forbidden`
	live := read(t, `
metadata: {managedFields: [{manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:ours: {}}}}]}
spec: {replicas: 1, serviceName: db, size: 1Gi, list: [{a: 1, default: 2}], ours: 1, default: 1}
`)
	cases := map[string]struct{ desired, refusal, want string }{
		"named":                  {"spec: {replicas: 2, serviceName: other, size: 1024Mi, ours: 1}", refusal, "spec.serviceName"},
		"in a list":              {"spec: {list: [{a: 2}], ours: 1}", refusal, "spec.list"},
		"the same in a list":     {"spec: {list: [{a: 1}], ours: 1}", refusal, ""},
		"dropped":                {"spec: {serviceName: db}", refusal, "spec.ours"},
		"the server names it":    {"spec: {serviceName: other}", "spec.serviceName: field is immutable", ""},
		"what is not a manifest": {"data: {}", refusal, "spec.ours"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := diff.Immutable(read(t, c.desired), live, c.refusal, manager)
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestToldOnce: a branch that is held as a whole before and in parts after.
func TestToldOnce(t *testing.T) {
	parts := map[string]any{"f:spec": map[string]any{"f:deep": f("a", "b")}}
	whole := map[string]any{"f:spec": f("deep")}
	deep := func(kv ...any) map[string]any { return spec("deep", spec(kv...)["spec"]) }
	cases := map[string]struct {
		live, predicted *unstructured.Unstructured
		want            string
	}{
		"the parts say all": {
			owned(whole, deep("a", "1", "b", "1")), owned(parts, deep("a", "2", "b", "1")), "spec.deep.a: \"1\" -> \"2\"\n",
		},
		"the whole says more": {
			owned(whole, deep("a", "1", "b", "1", "c", "1")), owned(parts, deep("a", "2", "b", "1")),
			"spec.deep: {\"a\":\"1\",\"b\":\"1\",\"c\":\"1\"} -> {\"a\":\"2\",\"b\":\"1\"}\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes, _ := diff.Judge(c.live, c.predicted, manager)
			if d := cmp.Diff(c.want, show(t, changes)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
