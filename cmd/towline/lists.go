package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/listing"
	"github.com/towline-cd/towline/internal/server/stream"
)

// lists are what applications and sets are listed and streamed from.
type lists struct {
	apps, sets       *catalog.Catalog
	changes, setting *stream.Hub
}

// openLists makes them, and gives them to the server.
func (p *parts) openLists(o *server.Options) {
	epoch := strings.ToLower(rand.Text()[:8])
	l := &lists{changes: stream.NewHub(epoch, stream.Limits{}), setting: stream.NewHub(epoch, stream.Limits{})}
	l.apps = catalog.New(catalog.Options{Cluster: p.clusterName, Changed: l.changes.Changed})
	l.sets = catalog.New(catalog.Options{Changed: l.setting.Changed})
	p.lists = l
	encode := func(app *v1alpha1.Application) ([]byte, error) { return p.server.Encode(app) }
	o.Listing = http.HandlerFunc(listing.New(listing.Options{
		Catalog: l.apps, Applications: p.hub, Namespace: p.namespace, Cursor: l.changes.ID, Encode: encode,
		Eye: func(r *http.Request) catalog.Eye { return p.eye(server.CallerOf(r), "applications") },
	}).Applications)
	apps := stream.New(stream.Options{
		Hub: l.changes, Catalog: l.apps, Applications: p.hub, Namespace: p.namespace, Encode: encode, Who: p.listener("applications"),
		Tree: func(ctx context.Context, key catalog.Key) ([]byte, error) {
			app, err := p.hub.Application(ctx, object.AppName(p.namespace, key.Namespace, key.Name))
			if err != nil {
				return nil, err
			}
			return p.server.EncodeTree(ctx, app)
		},
	})
	sets := stream.New(stream.Options{
		Hub: l.setting, Catalog: l.sets, Applications: p.hub, Namespace: p.namespace, Member: "applicationSet",
		Who: p.listener("applicationsets"),
		Encode: func(stub *v1alpha1.Application) ([]byte, error) {
			set, err := p.hub.ApplicationSet(context.Background(), object.AppName(p.namespace, stub.Namespace, stub.Name))
			if err != nil {
				return nil, err
			}
			return p.server.EncodeSet(set)
		},
	})
	o.Streams = server.Streams{
		Applications: http.HandlerFunc(apps.WatchApplications), Tree: http.HandlerFunc(apps.WatchTree),
		Events: http.HandlerFunc(apps.Events), Sets: http.HandlerFunc(sets.WatchApplications),
	}
}

// clusterName is what people call the cluster of a destination.
func (p *parts) clusterName(d v1alpha1.ApplicationDestination) string {
	if c, err := p.settings.Clusters().Find(d); err == nil {
		return c.Name
	}
	return d.Server + d.Name
}

// eye is what a caller may see. What it saw is good until the rules change.
func (p *parts) eye(c server.Caller, resource string) catalog.Eye {
	version := p.rights.version.Load()
	may := p.rights.Allowing(c, resource, "get")
	return catalog.Eye{
		Key: fmt.Sprintf("%d %s %q %q", version, resource, c.Subject, c.Groups),
		May: func(project, namespace, name string) bool {
			object := project + "/" + name
			if namespace != "" && namespace != p.namespace {
				object = project + "/" + namespace + "/" + name
			}
			return may(object)
		},
	}
}

// listener is who listens to a stream.
func (p *parts) listener(resource string) func(*http.Request) stream.Caller {
	return func(r *http.Request) stream.Caller {
		c := server.CallerOf(r)
		return stream.Caller{
			Name: c.Subject, Eye: func() catalog.Eye { return p.eye(c, resource) }, Still: func() bool { return server.Still(r) == nil },
			// That something of a kind changed is told to everybody who signed in; what it is they have to ask for.
			Topic: func(string) bool { return true },
		}
	}
}

// tellServer tells those who list, listen and wait of a change of an application.
func (p *parts) tellServer(old, app *v1alpha1.Application) {
	of := app
	if of == nil {
		of = old
	}
	if app == nil {
		p.lists.apps.Remove(catalog.Key{Namespace: old.Namespace, Name: old.Name})
	} else if err := p.lists.apps.Upsert(app); err != nil {
		slog.Warn("an application cannot be listed", "app", object.AppName(p.namespace, app.Namespace, app.Name), "error", err)
	}
	p.server.ApplicationChanged(object.AppName(p.namespace, of.Namespace, of.Name), app)
}

// tellServerOfSet tells of a change of a set.
func (p *parts) tellServerOfSet(old, set *v1alpha1.ApplicationSet) {
	if set == nil {
		p.lists.sets.Remove(catalog.Key{Namespace: old.Namespace, Name: old.Name})
	} else if err := p.lists.sets.Upsert(stream.Stub(set)); err != nil {
		slog.Warn("a set cannot be listed", "set", set.Name, "error", err)
	}
	p.announce(server.TopicSets)
}

// announce tells those who wait, and the pages that show it, that something of a topic is another.
func (p *parts) announce(topic string) {
	p.server.Changed(topic)
	if p.lists != nil {
		p.lists.changes.Notify(topic)
	}
}

// touched says that the tree of an application looks different.
func (p *parts) touched(app string) {
	namespace, name := object.SplitAppName(p.namespace, app)
	p.lists.changes.Touch(catalog.Key{Namespace: namespace, Name: name})
}

func (l *lists) close() {
	l.changes.Close()
	l.setting.Close()
}

// recheck has streams ask again what their callers may see.
func (l *lists) recheck() {
	if l == nil {
		return
	}
	l.changes.Recheck()
	l.setting.Recheck()
}
