package object_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

func decode(t testing.TB, s string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal([]byte(s), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDigestTellsValuesApart(t *testing.T) {
	// Each of these says something else than all others.
	different := []string{
		`{}`, `{"a":null}`, `{"a":""}`, `{"a":"null"}`, `{"a":{}}`, `{"a":[]}`, `{"a":false}`, `{"a":true}`, `{"a":0}`,
		`{"a":1}`, `{"a":"1"}`, `{"a":1.5}`, `{"a":"1.5"}`, `{"a":-1}`, `{"a":"true"}`, `{"a":["b"]}`, `{"a":["b","c"]}`,
		`{"a":["c","b"]}`, `{"a":["bc"]}`, `{"a":[["b"],"c"]}`, `{"a":[["b","c"]]}`, `{"a":{"b":"c"}}`, `{"a":{"bc":""}}`,
		`{"a":{},"b":"c"}`, `{"a":{"b":null}}`, `{"ab":"c"}`, `{"a":"bc"}`, `{"a":"b","c":"d"}`, `{"a":"b","c":"e"}`,
		`{"a":"s1:b"}`, `{"a":[null]}`, `{"a":[null,null]}`, `{"a":[{}]}`, `{"a":[[]]}`, `{"a":10}`, `{"a":[1,0]}`,
	}
	seen := map[object.Digest]string{}
	for _, s := range different {
		d := object.DigestOf(decode(t, s))
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", s, other)
		}
		seen[d] = s
	}
}

// TestDigestStays holds the encoding: a digest may be on disk, written by an
// earlier process.
func TestDigestStays(t *testing.T) {
	a := object.DigestOf(decode(t, `{"b":[1,2.5,null,true],"a":{"x":"y"}}`))
	b := object.DigestOf(decode(t, `{"a":{"x":"y"},"b":[1,2.5,null,true]}`))
	if a != b {
		t.Error("the order of keys matters")
	}
	if a.String() != "8b5a39656bfa70fe2a63598a129e1139" {
		t.Errorf("the digest is now %s: what was kept under the old one is lost", a)
	}
}

// drawValue makes a JSON value as decoding makes it.
func drawValue(t *rapid.T, depth int) any {
	most := 6
	if depth == 0 {
		most = 4
	}
	switch rapid.IntRange(0, most).Draw(t, "type") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "string")
	case 3:
		return rapid.Int64().Draw(t, "int")
	case 4:
		// A whole float would come back from JSON as an integer.
		return float64(rapid.Int32().Draw(t, "float")) + 0.5
	case 5:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			out = append(out, drawValue(t, depth-1))
		}
		return out
	default:
		return drawMap(t, depth-1)
	}
}

func drawMap(t *rapid.T, depth int) map[string]any {
	out := map[string]any{}
	keys := rapid.SampledFrom([]string{
		"a", "b", "", "metadata", "status", "spec", "data", "annotations", "labels", "managedFields", "name",
		"ownerReferences", "containers", "image", "stringData", "template", "finalizers", "deletionTimestamp", "kind", "apiVersion",
	})
	for range rapid.IntRange(0, 5).Draw(t, "size") {
		out[keys.Draw(t, "key")] = drawValue(t, depth)
	}
	return out
}

func TestDigestSurvivesCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: drawMap(t, 3)}
		raw, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		again := &unstructured.Unstructured{}
		if err := kjson.Unmarshal(raw, &again.Object); err != nil {
			t.Fatal(err)
		}
		want, live := object.DigestOf(u), object.LiveDigest(u, "m")
		for name, v := range map[string]*unstructured.Unstructured{"copy": u.DeepCopy(), "JSON": again} {
			if object.DigestOf(v) != want || object.LiveDigest(v, "m") != live {
				t.Errorf("the %s of %s has another digest", name, raw)
			}
		}
	})
}

// TestOddObjectsDoNotPanic feeds everything that reads objects with objects
// that no server would send: a manifest in Git may be one.
func TestOddObjectsDoNotPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: drawMap(t, 4)}
		if rapid.Bool().Draw(t, "secret") {
			u.Object["apiVersion"], u.Object["kind"] = "v1", "Secret"
		}
		before := object.DigestOf(u)
		_ = object.FactOf(u, "m")
		_ = object.NewObject(u)
		_ = object.Redact(u)
		_ = object.Images(u)
		_, _ = object.TrackingOf(u)
		_ = object.Stamp(u, "app", "ns")
		if object.DigestOf(u) != before {
			t.Error("reading changed the object")
		}
		object.EncodeStringData(u)
	})
}

func TestFactOfNothing(t *testing.T) {
	for name, u := range map[string]*unstructured.Unstructured{
		"no object": {}, "no metadata": decode(t, `{"apiVersion":"v1","kind":"Pod"}`),
		"metadata is text": decode(t, `{"apiVersion":"v1","kind":"Pod","metadata":"web"}`),
		"name is a number": decode(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":1}}`),
	} {
		if f := object.FactOf(u, "m"); f.App != "" || f.Key.Name != "" {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

const liveDeployment = `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {
    "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "10", "generation": 3, "labels": {"app": "web", "theirs": "x"},
    "managedFields": [
      {"manager": "argocd-controller", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {"f:replicas": {}, "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}, "k:{\"name\":\"b\"}": {".": {}, "f:image": {}}}}}},
      {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:paused": {}}}},
      {"manager": "argocd-controller", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {}}},
      {"manager": "argocd-controller", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {}}}
    ]
  },
  "spec": {"replicas": 2, "paused": false, "containers": [{"name": "a", "image": "a:1", "tty": true}, {"name": "b", "image": "b:1"}]},
  "status": {"readyReplicas": 1}
}`

// gate is what a change does to the digest.
type gate string

const (
	same  gate = "same"
	moves gate = "moves"
	off   gate = "off"
)

func TestLiveDigest(t *testing.T) {
	for name, c := range gateCases() {
		t.Run(name, func(t *testing.T) {
			want := object.LiveDigest(decode(t, liveDeployment), v1alpha1.FieldManagerApply)
			if want.IsZero() {
				t.Fatal("the gate is off from the start")
			}
			u := decode(t, liveDeployment)
			c.change(u)
			got := moves
			switch d := object.LiveDigest(u, v1alpha1.FieldManagerApply); {
			case d.IsZero():
				got = off
			case d == want:
				got = same
			}
			if got != c.want {
				t.Errorf("the gate: %s, want %s", got, c.want)
			}
		})
	}
}

type gateCase struct {
	want   gate
	change func(*unstructured.Unstructured)
}

func gateCases() map[string]gateCase {
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, value, path...) }
	}
	// entry changes a field of the i-th entry of managedFields.
	entry := func(i int, key string, value any) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			list, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
			if m, ok := list[i].(map[string]any); ok {
				m[key] = value
			}
			_ = unstructured.SetNestedSlice(u.Object, list, "metadata", "managedFields")
		}
	}
	container := func(name, image string) any { return map[string]any{"name": name, "image": image} }
	a, b := container("a", "a:1"), container("b", "b:1")
	nothing := map[string]any{}
	return map[string]gateCase{
		"nothing":                       {same, func(*unstructured.Unstructured) {}},
		"status":                        {same, set(int64(2), "status", "readyReplicas")},
		"no status":                     {same, func(u *unstructured.Unstructured) { delete(u.Object, "status") }},
		"resourceVersion":               {same, set("11", "metadata", "resourceVersion")},
		"generation":                    {same, set(int64(4), "metadata", "generation")},
		"uid":                           {same, set("u2", "metadata", "uid")},
		"deletionTimestamp":             {same, set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")},
		"another's field":               {same, set(true, "spec", "paused")},
		"another's label":               {same, set("y", "metadata", "labels", "theirs")},
		"a new label":                   {same, set("y", "metadata", "labels", "new")},
		"a new annotation":              {same, set("y", "metadata", "annotations", "new")},
		"another's entry":               {same, entry(1, "fieldsV1", nothing)},
		"the time of our entry":         {same, entry(0, "time", "2026-02-02T00:00:00Z")},
		"our entry for a subresource":   {same, entry(2, "fieldsV1", nothing)},
		"our entry through Update":      {same, entry(3, "fieldsV1", nothing)},
		"another's field in our item":   {same, set([]any{a, b}, "spec", "containers")},
		"another's item among ours":     {same, set([]any{container("x", "x:1"), a, container("y", "y:1"), b}, "spec", "containers")},
		"our value":                     {moves, set(int64(3), "spec", "replicas")},
		"the type of our value":         {moves, set("2", "spec", "replicas")},
		"our label":                     {moves, set("other", "metadata", "labels", "app")},
		"our value in an item":          {moves, set([]any{a, container("b", "b:2")}, "spec", "containers")},
		"the order of our items":        {moves, set([]any{b, a}, "spec", "containers")},
		"we own less":                   {moves, entry(0, "fieldsV1", map[string]any{"f:spec": map[string]any{"f:replicas": nothing}})},
		"the version of our entry":      {moves, entry(0, "apiVersion", "apps/v1beta1")},
		"our value is gone":             {moves, func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "replicas") }},
		"our item is gone":              {moves, set([]any{a}, "spec", "containers")},
		"our entry is another's":        {off, entry(0, "manager", "rival")},
		"our entry is no Apply":         {off, entry(0, "operation", "Update")},
		"no entries":                    {off, func(u *unstructured.Unstructured) { u.SetManagedFields(nil) }},
		"no metadata":                   {off, func(u *unstructured.Unstructured) { delete(u.Object, "metadata") }},
		"our entry names odd elements":  {off, entry(0, "fieldsV1", map[string]any{"x:y": nothing})},
		"our entry has a broken key":    {off, entry(0, "fieldsV1", map[string]any{"f:spec": map[string]any{"f:containers": map[string]any{"k:{": nothing}}})},
		"our entry is for another kind": {moves, entry(0, "fieldsV1", map[string]any{"f:rules": nothing})},
	}
}
