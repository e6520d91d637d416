package diff_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/script"
)

// TestIgnore runs the data files: given a live object and the server's answer
// to a dry-run (given/predicted), when these rules hold (when/rules, as in an
// Application's spec.ignoreDifferences), then these differences and problems
// are left.
func TestIgnore(t *testing.T) {
	files, err := filepath.Glob("testdata/ignore/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no data files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]string{}
			for _, f := range ar.Files {
				section[f.Name] = string(f.Data)
			}
			options := diff.Options{AggregatedRoles: strings.TrimSpace(section["when/aggregatedRoles"]) == "true"}
			rules, _ := diff.NewRules(specRules(t, section["when/rules"]), options)
			live, predicted := thing(t, section["given/live"]), thing(t, section["given/predicted"])
			liveBefore, predictedBefore := live.DeepCopy(), predicted.DeepCopy()
			if d := cmp.Diff(section["then"], left(t, rules, live, predicted)); d != "" {
				t.Errorf("what is left differs (-want +got):\n%s", d)
			}
			if d := cmp.Diff(liveBefore, live) + cmp.Diff(predictedBefore, predicted); d != "" {
				t.Errorf("the input was changed:\n%s", d)
			}
		})
	}
}

// specRules are rules as the engine makes them of a spec.
func specRules(t testing.TB, text string) []diff.Rule {
	t.Helper()
	var spec []v1alpha1.ResourceIgnoreDifferences
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	out := make([]diff.Rule, len(spec))
	for i, s := range spec {
		out[i] = diff.Rule{
			Group: s.Group, Kind: s.Kind, Name: s.Name, Namespace: s.Namespace,
			Pointers: s.JSONPointers, Managers: s.ManagedFieldsManagers, Origin: fmt.Sprintf("spec.ignoreDifferences[%d]", i),
		}
		for _, source := range s.JQPathExpressions {
			e := diff.NamedExpr{Source: source}
			del, err := script.Compile(source, script.Limits{})
			e.Del = del
			if err != nil {
				e.Problem = err.Error()
			}
			out[i].Exprs = append(out[i].Exprs, e)
		}
	}
	return out
}

func thing(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func left(t testing.TB, rules diff.Rules, live, predicted *unstructured.Unstructured) string {
	t.Helper()
	l, p, problems := rules.Strip(live, predicted)
	var b strings.Builder
	for _, c := range diff.Compare(l, p) {
		fmt.Fprintf(&b, "%s: %s -> %s\n", c.Path, jsonOf(t, c.Live), jsonOf(t, c.Desired))
	}
	for _, f := range problems {
		if f.Severity != finding.Error || f.Reason != finding.Comparison || f.Key != object.KeyOf(live) {
			t.Errorf("the problem is %+v", f)
		}
		fmt.Fprintf(&b, "problem: %s\n", f.Message)
	}
	return b.String()
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	if v == nil {
		return "nothing"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestNewRulesNamesWhatIsWrong(t *testing.T) {
	_, got := diff.NewRules(specRules(t, `
- {kind: Pod, jsonPointers: [a/b, /fine]}
- {group: "[", kind: Pod}
- {kind: Pod, jqPathExpressions: [".["]}
- {kind: Pod, managedFieldsManagers: [argocd-controller]}
`), diff.Options{})
	if len(got) != 4 {
		t.Fatalf("the findings are %+v", got)
	}
	for i, want := range []string{`"/a/b"`, "* for any", "correct it", "another manager"} {
		f := got[i]
		if f.Severity != finding.Warning || !strings.HasPrefix(f.Message, fmt.Sprintf("spec.ignoreDifferences[%d]: ", i)) || !strings.Contains(f.Message, want) {
			t.Errorf("finding %d is %+v, want %q in it", i, f, want)
		}
	}
}

// TestStatus: whose status is left out. Compare never shows a status, so this
// looks at the sides.
func TestStatus(t *testing.T) {
	crd := thing(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {a: 1}, spec: {status: 1}}")
	pod := thing(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {a: 1}, spec: {status: 1}}")
	for _, c := range []struct {
		option   diff.StatusField
		crd, pod bool
	}{{diff.StatusOfAll, true, true}, {diff.StatusOfCRDs, true, false}, {diff.StatusOfNone, false, false}} {
		t.Run(string(c.option), func(t *testing.T) {
			rules, _ := diff.NewRules(nil, diff.Options{Status: c.option})
			for u, ignored := range map[*unstructured.Unstructured]bool{crd: c.crd, pod: c.pod} {
				l, p, problems := rules.Strip(u, u)
				for _, side := range []*unstructured.Unstructured{l, p} {
					if _, has := side.Object["status"]; has == ignored || problems != nil {
						t.Errorf("%s has a status: %t, %v", u.GetKind(), has, problems)
					}
					if _, has, _ := unstructured.NestedInt64(side.Object, "spec", "status"); !has {
						t.Error("a field of that name elsewhere is gone")
					}
				}
			}
		})
	}
}

// TestManagedFieldsStay: whatever the rules are, who owns what stays with both
// sides, since the judgement goes by it.
func TestManagedFieldsStay(t *testing.T) {
	u := thing(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {a: b}, managedFields: [{manager: m, operation: Apply, fieldsV1: {"f:spec": {}}}]}}`)
	rules, _ := diff.NewRules(specRules(t, `[{kind: Pod, jsonPointers: [/metadata], jqPathExpressions: [.metadata.managedFields], managedFieldsManagers: [m]}]`), diff.Options{})
	l, p, problems := rules.Strip(u, u)
	for _, side := range []*unstructured.Unstructured{l, p} {
		want := u.DeepCopy()
		want.SetLabels(nil)
		if d := cmp.Diff(want, side); d != "" || problems != nil {
			t.Errorf("%v, (-want +got):\n%s", problems, d)
		}
	}
}

func TestNoRuleNoCopy(t *testing.T) {
	u := thing(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}}")
	rules, _ := diff.NewRules(specRules(t, "[{kind: Service, jsonPointers: [/spec]}]"), diff.Options{Status: diff.StatusOfNone})
	if l, p, problems := rules.Strip(u, u); l != u || p != u || problems != nil {
		t.Error("an object that no rule is about was copied")
	}
}

func TestDigest(t *testing.T) {
	digest := func(text string, o diff.Options) object.Digest {
		rules, _ := diff.NewRules(specRules(t, text), o)
		return rules.Digest()
	}
	const base = `[{group: g, kind: k, name: web, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`
	seen := map[object.Digest]string{}
	for _, text := range []string{
		base, `[]`,
		`[{group: G, kind: k, name: web, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: K, name: web, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: api, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: web, namespace: S, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: web, namespace: s, jsonPointers: [/b, /a], jqPathExpressions: [.a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: web, namespace: s, jsonPointers: [/a], jqPathExpressions: [/b, .a], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: web, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.b], managedFieldsManagers: [m]}]`,
		`[{group: g, kind: k, name: web, namespace: s, jsonPointers: [/a, /b], jqPathExpressions: [.a], managedFieldsManagers: [m, n]}]`,
		`[{group: g, kind: k, jsonPointers: [/a]}, {group: g, kind: k, jsonPointers: [/b]}]`,
		`[{group: g, kind: k, jsonPointers: [/b]}, {group: g, kind: k, jsonPointers: [/a]}]`,
	} {
		d := digest(text, diff.Options{})
		if before, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", text, before)
		}
		seen[d] = text
	}
	if seen[digest(base, diff.Options{})] != base {
		t.Error("the digest of the same rules differs")
	}
	none := digest(base, diff.Options{Status: diff.StatusOfNone})
	if none == digest(base, diff.Options{}) || none == digest(base, diff.Options{Status: diff.StatusOfNone, AggregatedRoles: true}) {
		t.Error("options do not count")
	}
}

// TestDigestForAnObject: a rule about other objects, or one that moved, asks
// nothing again.
func TestDigestForAnObject(t *testing.T) {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	digest := func(text string) object.Digest {
		rules, _ := diff.NewRules(specRules(t, text), diff.Options{})
		return rules.For(k).Digest()
	}
	const mine = `{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}`
	if digest("["+mine+"]") != digest("[{kind: Service, jsonPointers: [/spec]}, "+mine+"]") {
		t.Error("a rule about Services changes the digest for a Deployment")
	}
	if digest("["+mine+"]") == digest("["+mine+", {group: apps, kind: '*', jsonPointers: [/spec/x]}]") {
		t.Error("a new rule does not change the digest")
	}
}
