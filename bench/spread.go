package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/settings"
)

const (
	// spreadName is a set over clusters, and spreadClusters how many there are
	// before one more comes. Nobody is at their addresses: the Applications are
	// made and not synced.
	spreadName     = "spread"
	spreadClusters = 9
)

func clusterName(i int) string { return fmt.Sprintf("cluster-%02d", i) }

// spread is a set of as many Applications for each cluster as its list is long.
func (g *generating) spread(each int) map[string]any {
	elements := make([]any, each)
	for i := range elements {
		elements[i] = map[string]any{"app": appName(i), "namespace": namespaceOf(i)}
	}
	template := g.template("{{ .name }}-{{ .app }}", "{{ .namespace }}", "0")
	if spec, ok := template["spec"].(map[string]any); ok {
		spec["destination"] = map[string]any{"server": "{{ .server }}", "namespace": "{{ .namespace }}"}
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": spreadName, "namespace": controlNamespace},
		"spec": map[string]any{
			"goTemplate": true,
			"generators": []any{map[string]any{"matrix": map[string]any{"generators": []any{
				map[string]any{"clusters": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"fleet": spreadName}}}},
				map[string]any{"list": map[string]any{"elements": elements}},
			}}}},
			"template": template,
		},
	}
}

// join registers a cluster.
func (g *generating) join(ctx context.Context, i int) error {
	return create(ctx, g.client.Resource(secretKind).Namespace(controlNamespace), map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name": clusterName(i), "labels": map[string]any{v1alpha1.LabelSecretType: v1alpha1.SecretTypeCluster, "fleet": spreadName},
		},
		"stringData": map[string]any{"name": clusterName(i), "server": "https://" + clusterName(i) + ".invalid", "config": "{}"},
	})
}

// oneMoreCluster measures what a cluster costs that is added to others: its own
// Applications, and no write of another one.
func (g *generating) oneMoreCluster(ctx context.Context) error {
	n, r := g.scale.apps/10, g.report
	for i := range spreadClusters {
		if err := g.join(ctx, i); err != nil {
			return err
		}
	}
	if err := create(ctx, g.client.Resource(setKind).Namespace(controlNamespace), g.spread(n)); err != nil {
		return err
	}
	settle := order{Do: "spread", Object: spreadName, Count: spreadClusters}
	if _, err := g.engine.tell(settle); err != nil {
		return err
	}
	start := time.Now()
	err := each(ctx, n, func(ctx context.Context, i int) error {
		app := g.template("more-"+appName(i), namespaceOf(i), "0")
		app["apiVersion"], app["kind"] = "argoproj.io/v1alpha1", "Application"
		return create(ctx, g.bare.Resource(appKind).Namespace(bareFleet), app)
	})
	if err != nil {
		return err
	}
	bare := time.Since(start).Seconds()
	window, err := openWindow(ctx, g.plane)
	if err != nil {
		return err
	}
	if err := g.join(ctx, spreadClusters); err != nil {
		return err
	}
	settle.Count++
	took, err := g.engine.tell(settle)
	if err != nil {
		return err
	}
	t, err := window.close(ctx, engineUser)
	if err != nil {
		return err
	}
	r.keep(took)
	r.row(fmt.Sprintf("one more cluster than %d", spreadClusters), took.Wall, took.CPU,
		t.onApps["create"], t.onApps["patch"], t.onApps["delete"])
	r.note("cluster_seconds", took.Wall)
	r.note("cluster_bare_seconds", bare)
	r.note("cluster_ratio", took.Wall/bare)
	r.assert(t.onApps["create"] == n && len(t.onApps) == 1, "one more cluster cost %v of Applications, not %d creations", t.onApps, n)
	others := 0
	for _, key := range t.written {
		if isApplication(key) && !strings.Contains(key, "/"+clusterName(spreadClusters)+"-") {
			others++
		}
	}
	r.assert(others == 0, "one more cluster wrote %d Applications of others", others)
	return nil
}

// known are the clusters that generators know of: those of the secrets, once
// somebody wants them.
func (p *enginePart) known() []appset.Cluster {
	store := p.secrets.Load()
	if store == nil {
		return []appset.Cluster{{Name: v1alpha1.InClusterName, Server: v1alpha1.InClusterServer, Local: true}}
	}
	var out []appset.Cluster
	for _, c := range store.Clusters().All() {
		out = append(out, appset.Cluster{
			Name: c.Name, Server: c.Server, Project: c.Project, Labels: c.Labels, Annotations: c.Annotations, Local: c.Secret == "",
		})
	}
	return out
}

// generateSpread waits until as many clusters are known, and generates the set,
// as a change of a cluster secret has it done.
func (p *enginePart) generateSpread(ctx context.Context, o order) error {
	if err := p.watchSecrets(ctx); err != nil {
		return err
	}
	for len(p.secrets.Load().Clusters().All())-1 < o.Count {
		select {
		case <-p.joined:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := p.engine.ReconcileSet(ctx, o.Object, engine.SetLook{})
	return err
}

// watchSecrets begins to watch the cluster secrets.
func (p *enginePart) watchSecrets(ctx context.Context) error {
	if p.secrets.Load() != nil {
		return nil
	}
	config, err := p.setup.client()
	if err != nil {
		return err
	}
	store, err := settings.New(config, controlNamespace, settings.Listeners{Clusters: func(_, _ *destination.Set) {
		select {
		case p.joined <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	go func() { _ = store.Run(ctx) }()
	if !store.WaitReady(ctx) {
		return errors.New("waiting for the cluster secrets: interrupted")
	}
	p.secrets.Store(store)
	return nil
}
