package field_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/field"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	delete(u.Object, "apiVersion")
	delete(u.Object, "kind")
	return u.Object
}

const head = "apiVersion: v1\nkind: K\n"

// owned is what a manager owns in the tests: two containers by name, one
// image, a set, the existence of a map and a whole list.
const owned = head + `
f:spec:
  f:containers:
    k:{"name":"a"}:
      .: {}
      f:name: {}
      f:image: {}
    k:{"name":"b"}:
      .: {}
      f:name: {}
  f:finalizers:
    v:"x": {}
  f:selector: {.: {}}
  f:args: {}
`

const body = head + `
spec:
  replicas: 3
  containers:
  - {name: a, image: "a:1", theirs: 1}
  - {name: b, image: "b:1"}
  - {name: c}
  finalizers: [w, x]
  selector: {app: theirs}
  args: [one, two]
status: {ready: true}
`

func TestHash(t *testing.T) {
	sum := func(text string) string {
		h := sha256.New()
		if !field.Hash(h, parse(t, owned), parse(t, text), false) {
			return "off"
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	first := sum(body)
	if first == "off" {
		t.Fatal("the gate is off")
	}
	replace := func(old, with string) string {
		out := body
		i := indexOf(t, out, old)
		return out[:i] + with + out[i+len(old):]
	}
	cases := map[string]struct {
		body string
		want string
	}{
		"status":                        {replace("ready: true", "ready: false"), "same"},
		"a field of others":             {replace("replicas: 3", "replicas: 4"), "same"},
		"others' field in our item":     {replace("theirs: 1", "theirs: 2"), "same"},
		"others' item":                  {replace("- {name: c}", "- {name: d}"), "same"},
		"others' item between ours":     {replace("  - {name: b, image: \"b:1\"}", "  - {name: z}\n  - {name: b, image: \"b:1\"}"), "same"},
		"others' image":                 {replace("b:1", "b:2"), "same"},
		"content of a map we only have": {replace("app: theirs", "app: other"), "same"},
		"our image":                     {replace("a:1", "a:2"), "moved"},
		"our list":                      {replace("[one, two]", "[two, one]"), "moved"},
		"order of our items": {
			replace("  - {name: a, image: \"a:1\", theirs: 1}\n  - {name: b, image: \"b:1\"}", "  - {name: b, image: \"b:1\"}\n  - {name: a, image: \"a:1\", theirs: 1}"), "moved",
		},
		"our item is gone":  {replace("name: b", "name: bb"), "off"},
		"our field is gone": {replace("image: \"a:1\", ", ""), "off"},
		"our value is gone": {replace("[w, x]", "[w]"), "off"},
		"a list is a map":   {replace("[one, two]", "{one: two}"), "moved"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := sum(c.body)
			switch {
			case got == first:
				got = "same"
			case got != "off":
				got = "moved"
			}
			if got != c.want {
				t.Errorf("the hash is %s, want %s", got, c.want)
			}
		})
	}
}

// TestHashOfWhatIsNotKept: the server does not keep an empty map that somebody
// owns; in the same version its absence is a fact like another.
func TestHashOfWhatIsNotKept(t *testing.T) {
	set := parse(t, head+"f:spec: {f:labels: {}, f:kept: {}}")
	sum := func(text string, sameVersion bool) (string, bool) {
		h := sha256.New()
		ok := field.Hash(h, set, parse(t, text), sameVersion)
		return hex.EncodeToString(h.Sum(nil)), ok
	}
	absent, ok := sum(head+"spec: {kept: 1}", true)
	present, ok2 := sum(head+"spec: {kept: 1, labels: {a: b}}", true)
	if !ok || !ok2 || absent == present {
		t.Errorf("absent %q (%t), present %q (%t)", absent, ok, present, ok2)
	}
	if _, ok := sum(head+"spec: {kept: 1}", false); ok {
		t.Error("the gate is on for another version")
	}
}

func indexOf(t *testing.T, s, sub string) int {
	t.Helper()
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return i
		}
	}
	t.Fatalf("there is no %q", sub)
	return 0
}

func TestDelta(t *testing.T) {
	other := head + `
spec:
  replicas: 5
  containers:
  - {name: b, image: "b:9"}
  - {name: a, image: "a:2", theirs: 7}
  finalizers: [w]
  selector: {app: x}
`
	var got []string
	for _, d := range field.Delta(parse(t, owned), parse(t, body), parse(t, other)) {
		got = append(got, fmt.Sprintf("%s: %v -> %v", d.Path, d.Live, d.Other))
	}
	want := []string{
		"spec.args: [one two] -> <nil>",
		"spec.containers[a].image: a:1 -> a:2",
		"spec.containers (order): [a b] -> [b a]",
		`spec.finalizers[="x"]: x -> <nil>`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := field.Delta(parse(t, owned), parse(t, body), parse(t, body)); len(d) != 0 {
		t.Errorf("a body differs from itself: %v", d)
	}
}

func TestSets(t *testing.T) {
	set := parse(t, owned)
	image := []string{"f:spec", "f:containers", `k:{"name":"a"}`, "f:image"}
	if !field.Has(set, image) || field.Has(set, []string{"f:spec", "f:replicas"}) {
		t.Error("Has is wrong")
	}
	if field.Has(field.Without(set, image), image) {
		t.Error("Without left it there")
	}
	if !field.Has(set, image) {
		t.Error("Without changed its input")
	}
	if d := cmp.Diff(set, field.With(field.Without(set, image), image)); d != "" {
		t.Errorf("With does not undo Without:\n%s", d)
	}
	alone := field.With(nil, []string{"f:data", "f:k"})
	if got := field.Without(alone, []string{"f:data", "f:k"}); len(got) != 0 {
		t.Errorf("an empty branch stays: %v", got)
	}
}

func TestTakeOver(t *testing.T) {
	u := &unstructured.Unstructured{Object: parse(t, head+`
metadata:
  managedFields:
  - {manager: kubectl, operation: Update, apiVersion: v1, fieldsV1: {f:data: {f:k: {}}}}
  - {manager: other, operation: Apply, apiVersion: v1, fieldsV1: {f:data: {f:k: {}, f:l: {}}}}
  - {manager: scaler, operation: Update, subresource: scale, apiVersion: v1, fieldsV1: {f:data: {f:k: {}}}}
`)}
	u.Object["apiVersion"], u.Object["kind"] = "v1", "K"
	before := u.DeepCopy()
	got := field.TakeOver(u, "me", [][]string{{"f:data", "f:k"}})
	want := []any{
		map[string]any{"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsV1": map[string]any{"f:data": map[string]any{"f:l": map[string]any{}}}},
		map[string]any{"manager": "scaler", "operation": "Update", "subresource": "scale", "apiVersion": "v1", "fieldsV1": map[string]any{"f:data": map[string]any{"f:k": map[string]any{}}}},
		map[string]any{"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{"f:k": map[string]any{}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, u); d != "" {
		t.Errorf("the object was changed:\n%s", d)
	}
}

func TestAgree(t *testing.T) {
	a := parse(t, head+"spec: {x: 1, list: [{name: a, v: 1}]}")
	b := parse(t, head+"spec: {x: 1, list: [{name: b}, {name: a, v: 1}], other: 1}")
	ways := [][]string{{"f:spec", "f:x"}, {"f:spec", "f:list", `k:{"name":"a"}`}, {"f:spec", "f:none"}}
	if !field.Agree(a, b, ways) {
		t.Error("they agree on these")
	}
	for _, way := range [][]string{{"f:spec", "f:other"}, {"f:spec", "f:list"}} {
		if field.Agree(a, b, append(ways, way)) {
			t.Errorf("they do not agree on %s", field.Display(way))
		}
	}
}
