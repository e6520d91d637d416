package cluster

import (
	"io"
	"net/http"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// methods notes the requests about one object. Watches tell only while gate can
// be had.
type methods struct {
	http.RoundTripper
	mu   *sync.Mutex
	seen *[]string
	path string
	gate *sync.RWMutex
}

// RoundTrip notes and passes on.
func (m methods) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == m.path {
		m.mu.Lock()
		*m.seen = append(*m.seen, r.Method)
		m.mu.Unlock()
	}
	answer, err := m.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		answer.Body = gated{answer.Body, m.gate}
	}
	return answer, err
}

// gated hands on what came once its gate is open.
type gated struct {
	io.ReadCloser
	gate *sync.RWMutex
}

func (g gated) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	g.gate.RLock()
	defer g.gate.RUnlock()
	return n, err
}

// TestDelete: what is as it was seen goes with one request, and what is not is
// looked at again before anything happens to it.
func TestDelete(t *testing.T) {
	a := newAdmin(t)
	const namespace, name = "delete", "web"
	a.namespace(namespace)
	maps := a.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	var mu sync.Mutex
	var gate sync.RWMutex
	var seen []string
	config := rest.CopyConfig(a.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return methods{next, &mu, &seen, "/api/v1/namespaces/delete/configmaps/web", &gate}
	})
	c := start(t, config, Options{})
	made := func() *unstructured.Unstructured {
		u, err := maps.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
				"name": name, "annotations": map[string]any{v1alpha1.AnnotationTrackingID: "shop:/ConfigMap:delete/web"},
			},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	patch := func(text string) {
		if _, err := maps.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func() {
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for what, test := range map[string]struct {
		meanwhile func()
		reason    string
		requests  []string
		stays     bool
	}{
		"as it was seen":   {meanwhile: func() {}, requests: []string{"DELETE"}},
		"gone":             {meanwhile: remove, requests: []string{"DELETE"}},
		"changed":          {meanwhile: func() { patch(`{"data":{"a":"b"}}`) }, requests: []string{"DELETE", "GET", "DELETE"}},
		"without its mark": {meanwhile: func() { patch(`{"metadata":{"annotations":null}}`) }, reason: "NotOurs", requests: []string{"DELETE", "GET"}, stays: true},
		"made anew":        {meanwhile: func() { remove(); made() }, reason: "Replaced", requests: []string{"DELETE", "GET"}, stays: true},
	} {
		t.Run(what, func(t *testing.T) {
			f := object.FactOf(made(), v1alpha1.FieldManagerApply)
			c.until("the index has it", func() bool {
				at, ok := c.Fact(f.Key)
				return ok && at.ResourceVersion == f.ResourceVersion
			})
			gate.Lock()
			test.meanwhile()
			mu.Lock()
			seen = nil
			mu.Unlock()
			err := c.Delete(t.Context(), f, metav1.DeletePropagationBackground)
			_, known := c.Fact(f.Key)
			gate.Unlock()
			// Only of what was deleted as it was seen the answer tells the rest.
			if want := what != "as it was seen"; known != want {
				t.Errorf("the index knows it: %v, want %v", known, want)
			}
			if fault.ReasonOf(err) != test.reason || (test.reason == "") != (err == nil) {
				t.Errorf("the deletion ended with %v, want reason %q", err, test.reason)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(seen) != len(test.requests) {
				t.Errorf("the requests were %v, want %v", seen, test.requests)
			}
			_, err = maps.Get(t.Context(), name, metav1.GetOptions{})
			if stays := err == nil; stays != test.stays {
				t.Errorf("it stays: %v, want %v", stays, test.stays)
			}
			remove()
		})
	}
}
