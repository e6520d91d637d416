package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/stream"
)

// stubs has no whole applications: what is sent is found by Encode.
type stubs struct{ *catalog.Catalog }

func (s stubs) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	if _, found := s.Row(catalog.Key{Namespace: "argocd", Name: name}); !found {
		return nil, errors.New("not found")
	}
	app := &v1alpha1.Application{}
	app.Name = name
	return app, nil
}

func TestAStreamOfApplicationSets(t *testing.T) {
	set := &v1alpha1.ApplicationSet{}
	set.Name, set.Namespace, set.ResourceVersion = "fleet", "argocd", "1"
	set.Spec.Template.Spec.Project = "shop"
	hub := stream.NewHub("epoch", stream.Limits{})
	sets := catalog.New(catalog.Options{Changed: hub.Changed})
	s := stream.New(stream.Options{
		Hub: hub, Catalog: sets, Applications: stubs{sets}, Namespace: "argocd", Member: "applicationSet",
		Who: func(*http.Request) stream.Caller {
			return stream.Caller{Eye: func() catalog.Eye { return catalog.Eye{Projects: map[string]bool{"shop": true}} }}
		},
		Encode: func(stub *v1alpha1.Application) ([]byte, error) {
			return json.Marshal(map[string]any{"metadata": map[string]any{"name": stub.Name}, "spec": map[string]any{"generators": []any{}}})
		},
	})
	server := httptest.NewServer(http.HandlerFunc(s.WatchApplications))
	defer server.Close()
	defer hub.Close()
	if err := sets.Upsert(stream.Stub(set)); err != nil {
		t.Fatal(err)
	}
	l := (&world{server: server}).listen(t, "/")
	expect(t, l.line(), `{"result":{"type":"ADDED","applicationSet":{"metadata":{"name":"fleet"},"spec":{"generators":[]}}}}`)
	sets.Remove(catalog.Key{Namespace: "argocd", Name: "fleet"})
	expect(t, l.line(), `{"result":{"type":"DELETED","applicationSet":{"metadata":{"name":"fleet","namespace":"argocd"}}}}`)
}
