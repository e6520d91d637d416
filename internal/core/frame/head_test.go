package frame_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/frame"
)

func nobody(frame.Head, runtime.Object) runtime.Object { return nil }

// managed are applications whose metadata has managedFields at every place, and what only looks like it.
func managed() map[string]string {
	const head, fields = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{`,
		`"managedFields":[{"manager":"a \"]}","fieldsV1":{"f:a":{"k:{\"b\":\"]\\\\\"}":{}}}}]`
	rest := `},"spec":{"project":"p"}}`
	return map[string]string{
		"in between":  head + `"labels":{"a":"{"},` + fields + `,"name":"web","namespace":"n","resourceVersion":"7"` + rest,
		"last":        head + `"name":"web",` + fields + rest,
		"first":       head + fields + `,"name":"web"` + rest,
		"alone":       head + fields + rest,
		"twice":       head + fields + `,"name":"web",` + fields + rest,
		"none":        head + `"name":"web","generation":3` + rest,
		"empty":       head + rest,
		"null":        head + `"managedFields":null,"name":"web"` + rest,
		"in a label":  head + `"annotations":{"managedFields":"x","text":"\"managedFields\":["},"name":"web"` + rest,
		"spaces":      strings.ReplaceAll(head, ":", ": ") + fields + ` , "name" : "web"` + rest,
		"escaped key": head + `"m\u0061nagedFields":[{"manager":"m"}],"name":"web"` + rest,
		"cut off":     head + fields[:40],
		"no end":      head + `"name":"web"`,
		"not closed":  head + `"name":"web` + rest,
		"a bracket":   head + `"name":"web"]` + rest,
		"no value":    head + `"name":,"namespace":"n"` + rest,
	}
}

// unusual is what no server writes, and is read as it is.
var unusual = []string{"escaped key", "spaces", "twice", "alone"}

// TestLeanIsTheSame but for managedFields.
func TestLeanIsTheSame(t *testing.T) {
	all := managed()
	maps.Copy(all, texts())
	read := frame.Typed[v1alpha1.Application](v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind))
	for name, text := range all {
		t.Run(name, func(t *testing.T) {
			whole, kind, ok := read([]byte(text), nil)
			data := []byte(text)
			lean, leanKind, leanOK := frame.Lean(read, nobody)(data, nil)
			if ok != leanOK {
				t.Fatalf("read: %v, lean: %v", ok, leanOK)
			}
			if string(data) != text {
				t.Error("the text was written to, which belongs to somebody else")
			}
			if o, isObject := lean.(metav1.Object); isObject && ok {
				w, _ := whole.(metav1.Object)
				if !slices.Contains(unusual, name) && o.GetManagedFields() != nil {
					t.Error("managedFields were read")
				}
				w.SetManagedFields(nil)
				o.SetManagedFields(nil)
			}
			if diff := cmp.Diff([]any{whole, kind}, []any{lean, leanKind}); diff != "" {
				t.Errorf("the lean way reads something else (-whole +lean):\n%s", diff)
			}
		})
	}
}

func TestWhatIsKnownIsNotReadAgain(t *testing.T) {
	kind := v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind)
	mine := &v1alpha1.Application{}
	var asked []frame.Head
	read := frame.Lean(frame.Typed[v1alpha1.Application](kind), func(h frame.Head, into runtime.Object) runtime.Object {
		asked = append(asked, h)
		if into != nil {
			return nil
		}
		return mine
	})
	text := []byte(managed()["in between"])
	if got, gvk, ok := read(text, nil); !ok || got != runtime.Object(mine) || *gvk != kind {
		t.Errorf("got %v %v %v, want what is known", got, gvk, ok)
	}
	into := &v1alpha1.Application{}
	if got, _, ok := read(text, into); !ok || got != runtime.Object(into) || into.Name != "web" {
		t.Errorf("got %v, want what is not known read into what the caller has", got)
	}
	head := frame.Head{Kind: kind, Namespace: "n", Name: "web", Version: "7"}
	want := []frame.Head{head, head}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func BenchmarkLean(b *testing.B) {
	kind := v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind)
	whole := frame.Typed[v1alpha1.Application](kind)
	text := []byte(strings.Replace(managed()["in between"], `"f:a":{`, `"f:a":{`+strings.Repeat(`"f:b":{".":{},"f:c":{}},`, 40), 1))
	for name, read := range map[string]frame.Read{
		"whole": whole, "lean": frame.Lean(whole, nobody),
		"known": frame.Lean(whole, func(frame.Head, runtime.Object) runtime.Object { return &v1alpha1.Application{} }),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := read(text, nil); !ok {
					b.Fatal("not read")
				}
			}
		})
	}
}
