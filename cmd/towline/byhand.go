package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/settings"
)

// byHand is the hub for commands, which also make applications.
type byHand struct{ *hub.Client }

// CreateApplication makes one. Whoever calls it has looked whether one is there.
func (h byHand) CreateApplication(ctx context.Context, app *v1alpha1.Application, _ bool) (*v1alpha1.Application, error) {
	return h.MakeApplication(ctx, app)
}

// hands are the controller's own engine, for whoever does something with live objects.
type hands struct{ *engine.Engine }

// PatchObject changes an object.
func (h hands) PatchObject(
	ctx context.Context, app *v1alpha1.Application, k object.Key, p wish.Patch,
) (*unstructured.Unstructured, error) {
	return h.EditObject(ctx, app, k, func(*unstructured.Unstructured) (wish.Patch, error) { return p, nil })
}

// remoteActor has a server do the same.
type remoteActor struct{ client.Apps }

// RunAction runs an action. The server does not say what it did.
func (a remoteActor) RunAction(ctx context.Context, app *v1alpha1.Application, act engine.Act) ([]string, error) {
	if err := a.Act(ctx, app, act.Object, act.Name, act.Params); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("ran %s on %s", act.Name, act.Object)}, nil
}

// known finds clusters by the hub's list, and opens none.
type known struct{ set *destination.Set }

// Find says which cluster a destination means.
func (k known) Find(d v1alpha1.ApplicationDestination) (server, name string, open bool, err error) {
	entry, err := k.set.Find(d)
	return entry.Server, entry.Name, false, err
}

// For opens none: nothing of a cluster is needed to judge an application.
func (k known) For(v1alpha1.ApplicationDestination) (engine.Cluster, string, string, error) {
	return nil, "", "", errors.New("this command opens no cluster")
}

// admission is what the server of an installation would say to an application.
func admission(ctx context.Context, app *v1alpha1.Application, f cli.Flags) ([]string, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	c, err := hub.New(config, f.Namespace)
	if err != nil {
		return nil, err
	}
	s, err := settings.Read(ctx, config, f.Namespace)
	if err != nil {
		return nil, err
	}
	book, err := settings.ReadRepositories(ctx, config, f.Namespace)
	if err != nil {
		return nil, err
	}
	clusters, err := settings.ReadClusters(ctx, config, f.Namespace)
	if err != nil {
		return nil, err
	}
	tenancy := ownRights(s)
	e := engine.New(engine.Options{
		Namespace: f.Namespace,
		Hub:       c,
		Clusters:  known{clusters},
		Scoped: scoped{
			repositories: func() *repository.Set { return book },
			clusters:     func() *destination.Set { return clusters },
		},
		Settings: func() engine.Settings { return engine.Settings{Tenancy: tenancy} },
		Tracker:  s.Tracker,
		Now:      time.Now,
	})
	return e.Admission(ctx, app)
}

const (
	// longestFetch and mostFetched bound what a URL that somebody typed leads to.
	longestFetch = 30 * time.Second
	mostFetched  = 16 << 20
)

// fetch reads a file that somebody named by its URL.
func fetch(url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longestFetch)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", url, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", url, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %q: the answer is %s", url, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostFetched+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %q: %w", url, err)
	case len(text) > mostFetched:
		return nil, fmt.Errorf("reading %q: it is larger than %d MiB", url, mostFetched>>20)
	}
	return text, nil
}
