package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/settings"
)

// generator is the controller's own engine, for somebody who looks.
type generator struct {
	config   *rest.Config
	client   *hub.Client
	settings *settings.Settings
	book     *repository.Set
	clusters *destination.Set
}

func newGenerator(ctx context.Context, f cli.Flags) (cli.Generator, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	g := &generator{config: config}
	if g.client, err = hub.New(config, f.Namespace); err != nil {
		return nil, err
	}
	if g.settings, err = settings.Read(ctx, config, f.Namespace); err != nil {
		return nil, err
	}
	if g.book, err = settings.ReadRepositories(ctx, config, f.Namespace); err != nil {
		return nil, err
	}
	if g.clusters, err = settings.ReadClusters(ctx, config, f.Namespace); err != nil {
		return nil, err
	}
	return g, nil
}

// Generate is what a set stands for.
func (g *generator) Generate(ctx context.Context, set *v1alpha1.ApplicationSet) ([]*v1alpha1.Application, []appset.Problem, error) {
	dir, err := os.MkdirTemp("", "towline-generate-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder to fetch into: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	from, err := openSources(dir, fetchOptions{book: g.book})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = from.close() }()
	answers, err := newOracle(g.config, oracleOptions{namespace: g.client.Namespace(), sets: g.settings.Sets, trust: g.book.Trust})
	if err != nil {
		return nil, nil, err
	}
	e := engine.New(engine.Options{
		SetOptions: engine.SetOptions{Oracle: answers, Known: func() []appset.Cluster { return generatorClusters(g.clusters) }},
		Hub:        g.client, Sources: from, Verifier: from.git, Namespace: g.client.Namespace(),
		Settings: func() engine.Settings {
			return engine.Settings{Sets: engine.SetSettings{StrictGlobs: g.settings.Sets.StrictGlobs}}
		},
		Compiler: compiler, Now: time.Now,
	})
	result, err := e.Generate(ctx, set)
	return result.Apps, result.Problems, err
}
