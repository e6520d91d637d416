package frame_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/frame"
)

// The proof of the quick way is that nobody can tell it from the other one.

const (
	object = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","generation":9007199254740993,"managedFields":` +
		`[{"manager":"m","fieldsV1":{"f:spec":{".":{},"k:{\"a\":1}":{}}}}]},"spec":{"replicas":3,"ratio":0.5,"big":1e21,"text":"\u00fc\n\u2028","none":null,"list":[1,"b",{}]}}`
	app = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"web","resourceVersion":"7","managedFields":` +
		`[{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{}}}]},"spec":{"project":"default","destination":{"namespace":"n"},` +
		`"source":{"repoURL":"r","helm":{"valuesObject":{"a":[1,2.5]}}}},"status":{"health":{"status":"Healthy"},"reconciledAt":"2026-01-02T15:04:05Z"}}`
	refusal = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
)

func texts() map[string]string {
	return map[string]string{
		"object":              object,
		"application":         app,
		"kind first":          `{"kind":"Application","apiVersion":"argoproj.io/v1alpha1","metadata":{"name":"web"},"spec":{"project":"p"}}`,
		"wrong type":          `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"web"},"spec":{"project":7}}`,
		"refusal":             refusal,
		"list":                `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"name":"a"}}]}`,
		"items that are none": `{"apiVersion":"a/v1","kind":"Cart","metadata":{"name":"a"},"items":"none"}`,
		"no kind":             `{"apiVersion":"v1","metadata":{"name":"a"}}`,
		"no version":          `{"kind":"ConfigMap","metadata":{"name":"a"}}`,
		"twice":               `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","a":"2"},"Data":{"b":"3"}}`,
		"cut off":             object[:len(object)-9],
		"more after it":       object + `{}`,
		"an array":            `[{"apiVersion":"v1"}]`,
		"nothing":             ``,
	}
}

// ways are client-go's own and ours, for objects of any kind and for applications.
func ways(t *testing.T) map[string][2]runtime.NegotiatedSerializer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	loose := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	typed := serializer.NewCodecFactory(scheme).WithoutConversion()
	read := frame.Typed[v1alpha1.Application](v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind))
	return map[string][2]runtime.NegotiatedSerializer{
		"any":   {loose, frame.Quick(loose, frame.Unstructured)},
		"typed": {typed, frame.Quick(typed, read)},
	}
}

// answer is what came out.
type answer struct {
	Object runtime.Object
	Kind   *schema.GroupVersionKind
	Err    bool
}

func TestObjectsAreTheSame(t *testing.T) {
	for way, both := range ways(t) {
		for name, text := range texts() {
			for into, make := range map[string]func() runtime.Object{
				"nothing":      func() runtime.Object { return nil },
				"unstructured": func() runtime.Object { return &unstructured.Unstructured{} },
				"application":  func() runtime.Object { return &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{}} },
				"status":       func() runtime.Object { return &metav1.Status{} },
			} {
				t.Run(way+"/"+name+"/into "+into, func(t *testing.T) {
					var answers [2]answer
					for i, s := range both {
						d, err := runtime.NewClientNegotiator(s, v1alpha1.GroupVersion()).Decoder(runtime.ContentTypeJSON, nil)
						if err != nil {
							t.Fatal(err)
						}
						out, kind, err := d.Decode([]byte(text), nil, make())
						answers[i] = answer{Object: out, Kind: kind, Err: err != nil}
						if err != nil {
							answers[i].Object, answers[i].Kind = nil, nil
						}
					}
					if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
						t.Errorf("client-go reads something else (-client-go +quick):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestStreamsAreTheSame reads a row of events, the last of which may be broken, from one buffer as clients do.
func TestStreamsAreTheSame(t *testing.T) {
	for name, stream := range map[string][]string{
		"as servers write": {
			`{"type":"ADDED","object":` + object + "}\n", `{"type":"MODIFIED","object":` + app + "}\n",
			`{"type":"BOOKMARK","object":{"kind":"Application","apiVersion":"argoproj.io/v1alpha1","metadata":{"resourceVersion":"9"}}}` + "\n",
			`{"type":"DELETED","object":` + app + "}\n", `{"type":"ERROR","object":` + refusal + "}\n",
		},
		"another order":   {`{"object":` + app + `,"type":"ADDED"}`, `{"type":"ADDED","object":` + app + `}`},
		"with spaces":     {`{ "type": "ADDED", "object": ` + app + ` }`, `{"type":"ADDED","object": ` + app + ` } `},
		"no such type":    {`{"type":"GREW","object":` + app + `}`},
		"a quoted type":   {`{"type":"AD\u0044ED","object":` + app + `}`},
		"no object":       {`{"type":"ADDED"}`},
		"an empty object": {`{"type":"ADDED","object":null}`},
		"cut off":         {`{"type":"ADDED","object":` + app + "}\n", `{"type":"ADDED","object":` + app[:40]},
	} {
		for way, both := range ways(t) {
			t.Run(way+"/"+name, func(t *testing.T) {
				if diff := cmp.Diff(play(t, both[0], stream), play(t, both[1], stream)); diff != "" {
					t.Errorf("client-go reads something else (-client-go +quick):\n%s", diff)
				}
			})
		}
	}
}

// play reads a stream to its end.
func play(t *testing.T, s runtime.NegotiatedSerializer, stream []string) (seen []any) {
	t.Helper()
	objects, events, framer, err := runtime.NewClientNegotiator(s, v1alpha1.GroupVersion()).StreamDecoder(runtime.ContentTypeJSON, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := io.NopCloser(strings.NewReader(strings.Join(stream, "")))
	d := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(body), events), objects)
	for range len(stream) + 1 {
		kind, object, err := d.Decode()
		if err != nil {
			return append(seen, err != nil)
		}
		seen = append(seen, kind, object)
	}
	return seen
}

func BenchmarkEvent(b *testing.B) {
	loose := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	text := `{"type":"ADDED","object":` + strings.Replace(object, `"list":[1,"b",{}]`, `"list":[`+strings.Repeat(`{"name":"a","value":"text"},`, 40)+`1]`, 1) + "}\n"
	for name, s := range map[string]runtime.NegotiatedSerializer{"client-go": loose, "quick": frame.Quick(loose, frame.Unstructured)} {
		b.Run(name, func(b *testing.B) {
			objects, events, _, err := runtime.NewClientNegotiator(s, schema.GroupVersion{}).StreamDecoder(runtime.ContentTypeJSON, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				var got metav1.WatchEvent
				if _, _, err := events.Decode([]byte(text), nil, &got); err != nil {
					b.Fatal(err)
				}
				if _, err := runtime.Decode(objects, got.Object.Raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
