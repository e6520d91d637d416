package main

import (
	"context"
	"time"

	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/metric"
	"github.com/towline-cd/towline/internal/source"
	"github.com/towline-cd/towline/internal/source/chart"
)

// meter counts for the engine.
type meter struct{ *metric.Metrics }

// Requested counts a request to a cluster.
func (m meter) Requested(r engine.Requested) { m.Asked(metric.Request(r)) }

// countFetches has questions to those who hold content counted. They are asked before there is anybody who counts.
func (p *parts) countFetches(o *fetchOptions) {
	o.asked = func(a source.Asked) {
		if p.metrics != nil {
			p.metrics.GitAsked(a.Repo, a.What, a.Took, a.Err)
		}
	}
	o.pulled = func(a chart.Asked) {
		if p.metrics != nil {
			p.metrics.RegistryAsked(a.Repo, a.What, a.Took, a.Err)
		}
	}
	o.waits = func(repoURL string) func() {
		if p.metrics == nil {
			return func() {}
		}
		return p.metrics.Pending(repoURL)
	}
}

// timedSets measures looks at ApplicationSets.
type timedSets struct {
	controller.SetReconciler
	metrics   *metric.Metrics
	namespace string
}

// ReconcileSet looks at a set.
func (t timedSets) ReconcileSet(ctx context.Context, name string, l engine.SetLook) (engine.SetResult, error) {
	start := time.Now()
	result, err := t.SetReconciler.ReconcileSet(ctx, name, l)
	namespace, short := object.SplitAppName(t.namespace, name)
	t.metrics.SetLooked(namespace, short, time.Since(start))
	return result, err
}
