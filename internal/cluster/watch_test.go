package cluster

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestStallThatIsOver: the objects of a kind come while it is asked why they do
// not. What was found out then is not held against the kind.
func TestStallThatIsOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		comes bool
		blind bool
	}{
		{"they come meanwhile", true, false},
		{"they do not come", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked func()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked()
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
			}))
			defer server.Close()
			woken := false
			cluster, err := Open(&rest.Config{Host: server.URL}, Options{Viewed: func() { woken = true }})
			if err != nil {
				t.Fatal(err)
			}
			k := kind{GroupVersionKind: configMaps.WithVersion("v1"), Resource: "configmaps"}
			w := &kindWatch{kind: k, client: cluster.dynamic.Resource(k.gvr()), settled: make(chan struct{})}
			cluster.watches[watched{kind: configMaps}] = w
			cluster.catalog.blind = map[schema.GroupKind]string{}
			asked = func() {
				if c.comes {
					cluster.note(t.Context(), w, nil)
				}
			}
			cluster.noteStall(t.Context(), w)
			_, blind := cluster.View().Blind[configMaps]
			if blind != c.blind || cluster.View().Unread[configMaps] != c.blind || !woken {
				t.Errorf("the kind is blind: %v, and somebody was woken: %v", blind, woken)
			}
		})
	}
}
