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
    "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "10", "generation": 3, "labels": {"app": "web"},
    "managedFields": [
      {"manager": "argocd-controller", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
      {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:paused": {}}}},
      {"manager": "argocd-controller", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {}}}
    ]
  },
  "spec": {"replicas": 2}, "status": {"readyReplicas": 1}
}`

func TestLiveDigest(t *testing.T) {
	entry := func(t *testing.T, u *unstructured.Unstructured, i int) map[string]any {
		t.Helper()
		list, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
		entries, _ := list.([]any)
		m, ok := entries[i].(map[string]any)
		if !ok {
			t.Fatal("no entry", i)
		}
		return m
	}
	set := func(value any, path ...string) func(*testing.T, *unstructured.Unstructured) {
		return func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		change func(*testing.T, *unstructured.Unstructured)
		moves  bool
	}{
		"nothing":         {change: func(*testing.T, *unstructured.Unstructured) {}},
		"status":          {change: set(int64(2), "status", "readyReplicas")},
		"no status":       {change: func(_ *testing.T, u *unstructured.Unstructured) { delete(u.Object, "status") }},
		"resourceVersion": {change: set("11", "metadata", "resourceVersion")},
		"generation":      {change: set(int64(4), "metadata", "generation")},
		"another manager's fields": {change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 1)["fieldsV1"] = map[string]any{"f:status": map[string]any{}}
		}},
		"the time of our entry": {change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 0)["time"] = "2026-02-02T00:00:00Z"
		}},
		"our entry for a subresource": {change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 2)["fieldsV1"] = map[string]any{}
		}},
		"our fields": {moves: true, change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 0)["fieldsV1"] = map[string]any{"f:spec": map[string]any{}}
		}},
		"the version of our entry": {moves: true, change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 0)["apiVersion"] = "apps/v1beta1"
		}},
		"our entry gone": {moves: true, change: func(t *testing.T, u *unstructured.Unstructured) {
			t.Helper()
			entry(t, u, 0)["manager"] = "rival"
		}},
		"no entries":        {moves: true, change: func(_ *testing.T, u *unstructured.Unstructured) { u.SetManagedFields(nil) }},
		"spec":              {moves: true, change: set(int64(3), "spec", "replicas")},
		"a label":           {moves: true, change: set("x", "metadata", "labels", "new")},
		"an annotation":     {moves: true, change: set("x", "metadata", "annotations", "new")},
		"an owner":          {moves: true, change: set([]any{}, "metadata", "ownerReferences")},
		"uid":               {moves: true, change: set("u2", "metadata", "uid")},
		"deletionTimestamp": {moves: true, change: set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")},
		"apiVersion":        {moves: true, change: set("apps/v2", "apiVersion")},
		"another root":      {moves: true, change: set("x", "data")},
	}
	want := object.LiveDigest(decode(t, liveDeployment), v1alpha1.FieldManagerApply)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := decode(t, liveDeployment)
			c.change(t, u)
			if moved := object.LiveDigest(u, v1alpha1.FieldManagerApply) != want; moved != c.moves {
				t.Errorf("the digest moved: %v, want %v", moved, c.moves)
			}
		})
	}
}

// TestLiveDigestKeepsMetadataApart has two objects that say the same words in
// different places: the digest must not let a field wander out of metadata.
func TestLiveDigestKeepsMetadataApart(t *testing.T) {
	a := decode(t, `{"apiVersion":"example.com/v1","kind":"Route","labels":{"app":"web"},"metadata":{"name":"web"}}`)
	b := decode(t, `{"apiVersion":"example.com/v1","kind":"Route","metadata":{"labels":{"app":"web"},"name":"web"}}`)
	if object.LiveDigest(a, "m") == object.LiveDigest(b, "m") {
		t.Error("labels beside metadata and labels in metadata have the same digest")
	}
}
