package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/listing"
	feed "github.com/towline-cd/towline/internal/server/stream"
	"github.com/towline-cd/towline/web"
)

// perDeployment is how many objects stand for a Deployment: itself, a
// ReplicaSet, and five pods. As few pods are drawn one by one.
const perDeployment = 7

// uiWorld is the real server with its real pages, over applications that it
// makes up: what is measured is the browser.
type uiWorld struct {
	*listWorld
	trees map[string]server.Tree
}

func newUIWorld(apps int, graphs ...int) *uiWorld {
	w := &uiWorld{listWorld: newListWorld(apps), trees: map[string]server.Tree{}}
	for _, n := range graphs {
		app := listApp(len(w.apps))
		app.Name = graphName(n)
		app.Status.Resources = nil
		tree := server.Tree{}
		for d := range n / perDeployment {
			name := fmt.Sprintf("%s-%04d", listNames[d%len(listNames)], d)
			app.Status.Resources = append(app.Status.Resources, v1alpha1.ResourceStatus{
				Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "graph", Name: name, Status: v1alpha1.SyncStatusCodeSynced,
				Health: &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy},
			})
			tree.Nodes = append(tree.Nodes, familyOf(name)...)
		}
		w.byName[app.Name] = len(w.apps)
		w.apps = append(w.apps, app)
		w.trees[app.Name] = tree
	}
	return w
}

func graphName(n int) string { return fmt.Sprintf("graph-%d", n) }

// familyOf is a Deployment and what came from it.
func familyOf(name string) []server.Node {
	node := func(group, kind, name string, above *server.NodeRef) server.Node {
		n := server.Node{
			NodeRef: server.NodeRef{Group: group, Version: "v1", Kind: kind, Namespace: "graph", Name: name, UID: kind + name},
			Health:  &server.Health{Status: string(v1alpha1.HealthStatusHealthy)},
		}
		if above != nil {
			n.ParentRefs = []server.NodeRef{*above}
		}
		return n
	}
	deployment := node("apps", "Deployment", name, nil)
	set := node("apps", "ReplicaSet", name+"-5d8f7c", &deployment.NodeRef)
	out := []server.Node{deployment, set}
	for i := range perDeployment - len(out) {
		out = append(out, node("", "Pod", fmt.Sprintf("%s-5d8f7c-%d", name, i), &set.NodeRef))
	}
	return out
}

func (w *uiWorld) Known() []*v1alpha1.Application { return w.all() }

func (w *uiWorld) Project(context.Context, string) (*v1alpha1.AppProject, error) {
	return nil, errors.New("there are no projects")
}

func (w *uiWorld) KnownProjects() []*v1alpha1.AppProject { return nil }

func (w *uiWorld) PatchApplication(ctx context.Context, name string, _ []byte) (*v1alpha1.Application, error) {
	return w.Application(ctx, name)
}

// everybody is let in, and may see everything.
type everybody struct{}

func (everybody) Verify(context.Context, string) (server.Caller, error) {
	return server.Caller{Subject: "bench", Username: "bench", Issuer: v1alpha1.TokenIssuer}, nil
}

func (everybody) Check(context.Context, server.Caller) error { return nil }

func (everybody) Decide(server.Caller, server.Question) server.Verdict {
	return server.Verdict{Allowed: true}
}

func (everybody) Allowing(server.Caller, string, string) func(string) bool {
	return func(string) bool { return true }
}

// serve listens until the context ends, and says where. change makes the next
// state of an application, as a controller would.
func (w *uiWorld) serve(ctx context.Context) (base string, change func(number int) error, err error) {
	hub := feed.NewHub("bench", feed.Limits{})
	cat := catalog.New(catalog.Options{Changed: hub.Changed})
	for _, app := range w.all() {
		if err := cat.Upsert(app); err != nil {
			return "", nil, err
		}
	}
	encode := func(app *v1alpha1.Application) ([]byte, error) { return json.Marshal(app) }
	all := catalog.Eye{All: true}
	lists := listing.New(listing.Options{
		Catalog: cat, Applications: w, Namespace: listNamespace, Encode: encode, Cursor: hub.ID,
		Eye: func(*http.Request) catalog.Eye { return all },
	})
	streams := feed.New(feed.Options{
		Hub: hub, Catalog: cat, Applications: w, Namespace: listNamespace, Encode: encode,
		Who: func(*http.Request) feed.Caller {
			return feed.Caller{Name: "bench", Eye: func() catalog.Eye { return all }, Still: func() bool { return true }}
		},
		Tree: func(_ context.Context, key catalog.Key) ([]byte, error) { return json.Marshal(w.trees[key.Name]) },
	})
	s, err := server.New(server.Options{
		Namespace: listNamespace, Verifier: everybody{}, Decider: everybody{}, Hub: w, Pages: web.Files(),
		Listing: http.HandlerFunc(lists.Applications),
		Streams: server.Streams{Applications: http.HandlerFunc(streams.WatchApplications), Events: http.HandlerFunc(streams.Events)},
	})
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening: %w", err)
	}
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = h.Close() })
	return "http://" + listener.Addr().String(), func(number int) error { return cat.Upsert(w.change(number, time.Now())) }, nil
}
