package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/registrar"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/source/signature"
)

// openWriting makes what the wishes of people are written with. Whoever leads writes them, and so they go through the
// fence.
func (p *parts) openWriting(o *server.Options) error {
	editor, err := hub.New(p.ways.fenced, p.namespace)
	if err != nil {
		return err
	}
	clusters, err := registrar.NewHub(p.ways.fenced, p.namespace)
	if err != nil {
		return err
	}
	repositories, err := registrar.NewRepositories(p.ways.fenced, p.namespace)
	if err != nil {
		return err
	}
	o.Writing = server.Writing{
		Applications: p.hub.ByHand(), Projects: editor.Projects(), Sets: editor.ApplicationSets(), Clusters: clusters,
		Repositories: trying{repositories, p}, Trust: repositories, Keys: signature.Keys,
	}
	return nil
}

// trying signs in to repositories besides writing them down.
type trying struct {
	*registrar.Repositories
	p *parts
}

// Try asks a repository for what it has, by an entry that need not stand anywhere.
func (t trying) Try(ctx context.Context, r repository.Repository) error {
	return tryRepository(ctx, r, fetchOptions{Fetching: t.p.settings.Current().Fetching}, t.p.settings.Repositories().Trust())
}

// Admission says what is wrong with an application that is to be stored.
func (l looker) Admission(ctx context.Context, app *v1alpha1.Application) ([]string, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.Admission(ctx, app)
}

// RunAction runs an action.
func (l looker) RunAction(ctx context.Context, app *v1alpha1.Application, act engine.Act) ([]string, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.RunAction(ctx, app, act)
}

// EditObject changes an object.
func (l looker) EditObject(
	ctx context.Context, app *v1alpha1.Application, k object.Key, edit func(*unstructured.Unstructured) (wish.Patch, error),
) (*unstructured.Unstructured, error) {
	e, err := l.engine()
	if err != nil {
		return nil, err
	}
	return e.EditObject(ctx, app, k, edit)
}

// DeleteObject deletes an object.
func (l looker) DeleteObject(ctx context.Context, app *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error {
	e, err := l.engine()
	if err != nil {
		return err
	}
	return e.DeleteObject(ctx, app, k, how)
}
