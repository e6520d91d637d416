package main

import (
	"context"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/script"
	"github.com/towline-cd/towline/internal/settings"
)

// newActor is the controller's own engine for one application, over single
// reads in place of an index: it acts with the rights of whoever runs it, and
// within those of the project.
func newActor(ctx context.Context, app *v1alpha1.Application, f cli.Flags) (a cli.Actor, done func(), err error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, nil, err
	}
	client, err := hub.New(config, f.Namespace)
	if err != nil {
		return nil, nil, err
	}
	s, err := settings.Read(ctx, config, f.Namespace)
	if err != nil {
		return nil, nil, err
	}
	_, clusters, err := snapshot(ctx, config, f.Namespace, app)
	if err != nil {
		return nil, nil, err
	}
	host, tenancy := newScriptHost(), ownRights(s)
	return hands{engine.New(engine.Options{
		Namespace: f.Namespace,
		Hub:       client,
		Clusters:  clusters,
		Settings:  func() engine.Settings { return engine.Settings{Tenancy: tenancy} },
		Tracker:   s.Tracker,
		Actions:   script.NewActions(host, actionRules(s)),
		Now:       time.Now,
	})}, host.Close, nil
}

func actionRules(all *settings.Settings) []script.ActionRule {
	out := make([]script.ActionRule, len(all.Actions))
	for i, a := range all.Actions {
		rule := script.ActionRule{Kind: a.Kind, Merge: a.MergeBuiltin, Actions: map[string]script.Script{}}
		rule.Discovery = script.Script{Origin: a.Origin + " discovery.lua", Source: a.Discovery, OpenLibs: a.OpenLibs}
		for _, d := range a.Definitions {
			rule.Actions[d.Name] = script.Script{Origin: a.Origin + " " + d.Name, Source: d.Source, OpenLibs: a.OpenLibs}
		}
		out[i] = rule
	}
	return out
}
