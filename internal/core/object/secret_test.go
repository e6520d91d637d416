package object_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

func TestEncodeStringData(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"alone":              {`{"apiVersion":"v1","kind":"Secret","stringData":{"a":"x"}}`, `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA=="}}`},
		"empty value":        {`{"apiVersion":"v1","kind":"Secret","stringData":{"a":""}}`, `{"apiVersion":"v1","kind":"Secret","data":{"a":""}}`},
		"empty":              {`{"apiVersion":"v1","kind":"Secret","stringData":{}}`, `{"apiVersion":"v1","kind":"Secret","data":{}}`},
		"wins over data":     {`{"apiVersion":"v1","kind":"Secret","data":{"a":"b2xk","b":"eQ=="},"stringData":{"a":"x"}}`, `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":"eQ=="}}`},
		"data only":          {`{"apiVersion":"v1","kind":"Secret","data":{"a":"eA=="}}`, `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA=="}}`},
		"not a Secret":       {`{"apiVersion":"v1","kind":"ConfigMap","stringData":{"a":"x"}}`, `{"apiVersion":"v1","kind":"ConfigMap","stringData":{"a":"x"}}`},
		"another's Secret":   {`{"apiVersion":"example.com/v1","kind":"Secret","stringData":{"a":"x"}}`, `{"apiVersion":"example.com/v1","kind":"Secret","stringData":{"a":"x"}}`},
		"no text, no data":   {`{"apiVersion":"v1","kind":"Secret","stringData":{"a":1}}`, `{"apiVersion":"v1","kind":"Secret","stringData":{"a":1}}`},
		"not a map at all":   {`{"apiVersion":"v1","kind":"Secret","stringData":"x"}`, `{"apiVersion":"v1","kind":"Secret","stringData":"x"}`},
		"text of many runes": {`{"apiVersion":"v1","kind":"Secret","stringData":{"a":"ü"}}`, `{"apiVersion":"v1","kind":"Secret","data":{"a":"w7w="}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := decode(t, c.in)
			object.EncodeStringData(u)
			if d := cmp.Diff(decode(t, c.want).Object, u.Object); d != "" {
				t.Errorf("the object differs (-want +got):\n%s", d)
			}
		})
	}
}

// TestEncodeStringDataAllOrNothing: what is left for the server to refuse is
// left as it was. Encoding some keys of it depends on the order of a map, so
// the same manifest would have another digest each time.
func TestEncodeStringDataAllOrNothing(t *testing.T) {
	const in = `{"apiVersion":"v1","kind":"Secret","data":{"z":"eA=="},
		"stringData":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7","h":8}}`
	for range 20 {
		u := decode(t, in)
		object.EncodeStringData(u)
		if d := cmp.Diff(decode(t, in).Object, u.Object); d != "" {
			t.Fatalf("the object was half encoded (-want +got):\n%s", d)
		}
	}
}

func TestRedact(t *testing.T) {
	const plain, coded = "hunter2", "aHVudGVyMg=="
	u := decode(t, `{"apiVersion":"v1","kind":"Secret","type":"Opaque",
		"metadata":{"name":"web","annotations":{"mine":"stays","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"p\":\"`+coded+`\"}}"}},
		"data":{"p":"`+coded+`","a.b":"`+coded+`"},"stringData":{"q":"`+plain+`"}}`)
	before := u.DeepCopy()
	out := object.Redact(u)
	if d := cmp.Diff(before.Object, u.Object); d != "" {
		t.Errorf("the input was changed:\n%s", d)
	}
	want := decode(t, `{"apiVersion":"v1","kind":"Secret","type":"Opaque",
		"metadata":{"name":"web","annotations":{"mine":"stays","kubectl.kubernetes.io/last-applied-configuration":"++++++++"}},
		"data":{"p":"++++++++","a.b":"++++++++"},"stringData":{"q":"++++++++"}}`)
	if d := cmp.Diff(want.Object, out.Object); d != "" {
		t.Errorf("the redacted object differs (-want +got):\n%s", d)
	}
	raw, err := json.Marshal(out)
	if err != nil || strings.Contains(string(raw), plain) || strings.Contains(string(raw), coded) {
		t.Errorf("a secret leaves: %s, %v", raw, err)
	}
}

func TestRedactLeavesOthers(t *testing.T) {
	if object.Redact(nil) != nil {
		t.Error("nothing became something")
	}
	for _, u := range []*unstructured.Unstructured{body("v1", "ConfigMap", "shop", "web"), body("example.com/v1", "Secret", "shop", "web")} {
		if object.Redact(u) != u {
			t.Errorf("%s was copied", object.KeyOf(u))
		}
	}
}

func TestMask(t *testing.T) {
	for _, c := range []struct{ before, after any }{{"a", "b"}, {nil, "b"}, {"a", nil}, {map[string]any{"a": "b"}, []any{"c"}}} {
		before, after := object.Mask(c.before, c.after)
		if before == after || (before == nil) != (c.before == nil) || (after == nil) != (c.after == nil) {
			t.Errorf("%v and %v became %v and %v", c.before, c.after, before, after)
		}
		for _, v := range []any{before, after} {
			if s, ok := v.(string); v != nil && (!ok || strings.Trim(s, "+") != "") {
				t.Errorf("the mask is %v", v)
			}
		}
	}
}

func TestOption(t *testing.T) {
	cases := []struct{ options, name, want string }{
		{"", "Prune", ""},
		{"Prune=false", "Prune", "false"},
		{"Prune", "Prune", "true"},
		{"Prune=", "Prune", ""},
		{"Prune=true,Prune=false", "Prune", "false"},
		{"Validate=false, Prune=confirm", "Prune", "confirm"},
		{" Prune=false ,", "Prune", "false"},
		{"PruneLast=true", "Prune", ""},
		{"prune=false", "Prune", ""},
		{"A=b=c", "A", "b=c"},
	}
	for _, c := range cases {
		if got := object.Option(c.options, c.name); got != c.want {
			t.Errorf("Option(%q, %q) is %q, want %q", c.options, c.name, got, c.want)
		}
	}
}

func TestImages(t *testing.T) {
	const containers = `"initContainers":[{"image":"init:1"},{"name":"no image"}],"containers":[{"image":"app:1"},{"image":"side:1"},{"image":""},{"image":2},"odd"]`
	cases := map[string]struct {
		in   string
		want []string
	}{
		"pod":          {`{"kind":"Pod","spec":{` + containers + `}}`, []string{"init:1", "app:1", "side:1"}},
		"deployment":   {`{"kind":"Deployment","spec":{"template":{"spec":{` + containers + `}}}}`, []string{"init:1", "app:1", "side:1"}},
		"cron job":     {`{"kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":{"spec":{` + containers + `}}}}}}`, []string{"init:1", "app:1", "side:1"}},
		"none":         {`{"kind":"ConfigMap"}`, nil},
		"spec is text": {`{"kind":"Pod","spec":"x"}`, nil},
		"not a list":   {`{"kind":"Pod","spec":{"containers":{}}}`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, object.Images(decode(t, c.in))); d != "" {
				t.Errorf("the images differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestFactOf(t *testing.T) {
	u := decode(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"7",
		"deletionTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"u0","apiVersion":"apps/v1"}],
		"annotations":{"helm.sh/resource-policy":"keep","argocd.argoproj.io/compare-options":"IgnoreExtraneous",
			"argocd.argoproj.io/ignore-healthcheck":"true","argocd.argoproj.io/sync-options":"Prune=false",
			"argocd.argoproj.io/tracking-id":"shop:/Pod:shop/web"}},
		"spec":{"containers":[{"image":"app:1"}]}}`)
	want := object.Fact{
		Key: object.Key{Kind: "Pod", Namespace: "shop", Name: "web"}, Version: "v1", UID: "u1", ResourceVersion: "7",
		Digest: object.LiveDigest(u, "m"), App: "shop", Owned: true, Deleting: true, Keep: true, Extra: true, Quiet: true,
		Options: "Prune=false", Images: []string{"app:1"},
		Health:  health.Health{Status: health.Progressing, Message: "Pending deletion"},
		Owners:  []object.Owner{{UID: "u0", Group: "apps", Kind: "ReplicaSet", Name: "web"}},
		Columns: "status=Terminating ready=0/1 restarts=0",
	}
	if d := cmp.Diff(want, object.FactOf(u, "m")); d != "" {
		t.Errorf("the fact differs (-want +got):\n%s", d)
	}
	plain := object.FactOf(body("v1", "ConfigMap", "shop", "web"), v1alpha1.FieldManagerApply)
	if plain.Owned || plain.Deleting || plain.Keep || plain.Extra || plain.Quiet || plain.App != "" || plain.Options != "" || plain.Images != nil {
		t.Errorf("an object that asks for nothing got %+v", plain)
	}
	if plain.Health != (health.Health{}) {
		t.Errorf("a kind without health has %+v", plain.Health)
	}
}

func TestFactOfOptionsSayNo(t *testing.T) {
	u := body("v1", "ConfigMap", "shop", "web")
	u.SetAnnotations(map[string]string{
		v1alpha1.AnnotationHelmResourcePolicy: "drop", v1alpha1.AnnotationCompareOptions: "IgnoreExtraneous=false",
		v1alpha1.AnnotationIgnoreHealthCheck: "false",
	})
	if f := object.FactOf(u, "m"); f.Keep || f.Extra || f.Quiet {
		t.Errorf("got %+v", f)
	}
}
