package diff_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/diff"
)

const manager = "argocd-controller"

// owned is an object whose fields the manager owns through Apply.
func owned(fields, content map[string]any) *unstructured.Unstructured {
	out := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "web"}}
	maps.Copy(out, content)
	if fields != nil {
		meta, _ := out["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		meta["managedFields"] = []any{map[string]any{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}}
		out["metadata"] = meta
	}
	return &unstructured.Unstructured{Object: out}
}

func f(names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		out["f:"+n] = map[string]any{}
	}
	return out
}

func spec(kv ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[fmt.Sprint(kv[i])] = kv[i+1]
	}
	return map[string]any{"spec": m}
}

func TestJudge(t *testing.T) {
	ab := map[string]any{"f:spec": f("a", "b")}
	a := map[string]any{"f:spec": f("a")}
	cases := map[string]struct {
		live, predicted *unstructured.Unstructured
		want            string
		confirmed       bool
	}{
		"equal":                      {owned(a, spec("a", "1")), owned(a, spec("a", "1")), "", true},
		"ours changed":               {owned(a, spec("a", "2")), owned(a, spec("a", "1")), "spec.a: \"2\" -> \"1\"\n", true},
		"another's field":            {owned(a, spec("a", "1", "x", "1")), owned(a, spec("a", "1", "x", "2")), "", true},
		"a new field":                {owned(a, spec("a", "1")), owned(ab, spec("a", "1", "b", "2")), "spec.b: nothing -> \"2\"\n", false},
		"a dropped field":            {owned(ab, spec("a", "1", "b", "2")), owned(a, spec("a", "1")), "spec.b: \"2\" -> nothing\n", false},
		"dropped, and another's too": {owned(ab, spec("a", "1", "b", "2")), owned(a, spec("a", "1", "b", "2")), "", false},
		"a rival took the value":     {owned(nil, spec("a", "2")), owned(a, spec("a", "1")), "spec.a: \"2\" -> \"1\"\n", false},
		"a rival holds the same":     {owned(nil, spec("a", "1")), owned(a, spec("a", "1")), "", false},
		"nobody tracks fields":       {owned(nil, spec("a", "1", "x", "1")), owned(nil, spec("a", "1", "x", "2")), "spec.x: \"1\" -> \"2\"\n", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes, confirmed := diff.Judge(c.live, c.predicted, manager)
			if d := cmp.Diff(c.want, show(t, changes)); d != "" {
				t.Errorf("the changes differ (-want +got):\n%s", d)
			}
			if confirmed != c.confirmed {
				t.Errorf("confirmed is %v", confirmed)
			}
		})
	}
}

// TestNoSecretLeavesTheJudge is TestNoSecretLeaves for what is judged by the
// fields that we own, and for what an earlier manifest left behind.
func TestNoSecretLeavesTheJudge(t *testing.T) {
	one, two := base64.StdEncoding.EncodeToString([]byte(plain)), base64.StdEncoding.EncodeToString([]byte(other))
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	keys := map[string]any{"f:data": f("password", "tls.key")}
	whole := f("data", "stringData")
	notes := map[string]any{"f:metadata": map[string]any{"f:annotations": f(lastApplied)}}
	secret := func(fields, content map[string]any) *unstructured.Unstructured {
		u := owned(fields, content)
		u.SetKind("Secret")
		return u
	}
	data := func(v string) map[string]any {
		return map[string]any{"data": map[string]any{"password": v, "tls.key": v}}
	}
	annotated := func(v string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "web", "annotations": map[string]any{lastApplied: `{"data":"` + v + `"}`}}}
	}
	cases := map[string][2]*unstructured.Unstructured{
		"keys":                    {secret(keys, data(one)), secret(keys, data(two))},
		"the whole map":           {secret(whole, data(one)), secret(whole, data(two))},
		"the map came":            {secret(keys, nil), secret(keys, data(two))},
		"the map went":            {secret(keys, data(one)), secret(f(), nil)},
		"stringData":              {secret(whole, map[string]any{"stringData": map[string]any{"p": plain}}), secret(whole, nil)},
		"the last-applied record": {secret(notes, annotated(one)), secret(notes, annotated(two))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes, _ := diff.Judge(c[0], c[1], manager)
			if len(changes) == 0 {
				t.Fatal("the change was not seen")
			}
			desired := secret(nil, nil)
			left := diff.Left(desired, c[0], c[0], c[0])
			text := fmt.Sprintf("%+v %+v", changes, diff.LeftBehind(c[0], left, manager))
			for _, s := range []string{plain, other, one, two} {
				if strings.Contains(text, s) {
					t.Errorf("%q leaves in %s", s, text)
				}
			}
		})
	}
}
