package main

import (
	"context"
	"log/slog"

	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/core/transition"
	"github.com/towline-cd/towline/internal/event"
	"github.com/towline-cd/towline/internal/metric"
)

// openReports makes those who are told of transitions.
func (p *parts) openReports(config *rest.Config) error {
	var err error
	if p.events, err = event.NewWriter(config); err != nil {
		return err
	}
	p.metrics = metric.New(metric.Options{
		Apps: func() []*v1alpha1.Application {
			if p.shift.Load() == nil {
				return nil
			}
			return p.hub.Known()
		},
		Sets: func() []*v1alpha1.ApplicationSet {
			if p.shift.Load() == nil {
				return nil
			}
			return p.hub.KnownSets()
		},
		Owned:      func(set *v1alpha1.ApplicationSet) int { return len(p.hub.Generated(set.UID)) },
		Server:     p.serverOf,
		Labels:     func() []string { return p.settings.Current().Metrics.Labels },
		SetLabels:  func() []string { return p.settings.Current().Metrics.SetLabels },
		Conditions: func() []string { return p.settings.Current().Metrics.Conditions },
		Clusters:   p.clusters,
		Audits: func() (int64, int64) {
			t := p.shift.Load()
			if t == nil {
				return 0, 0
			}
			a := t.engine.Audited()
			return a.Asked, a.Wrong
		},
		LostEvents:  p.events.Lost,
		LostRecords: p.ledger.Lost,
		Leading:     p.elector.Leading,
		Refused:     p.ways.fence.Refused,
		Ready:       p.state,
	})
	p.notified = p.metrics.Notices()
	clientmetrics.Register(p.metrics.Clients())
	return nil
}

// observe passes a transition on. Neither of the two holds the engine up.
func (p *parts) observe(t transition.Transition) {
	p.events.Observe(t)
	p.metrics.Observe(t)
}

func (p *parts) applicationChanged(old, app *v1alpha1.Application) {
	if app == nil {
		p.metrics.Forget(old)
	}
	p.tellServer(old, app)
	p.telling.Lock()
	defer p.telling.Unlock()
	if t := p.shift.Load(); t != nil {
		t.controller.ApplicationChanged(old, app)
		t.herald.Changed(old, app)
	} else if app != nil && (old == nil || old.Spec.Destination != app.Spec.Destination) {
		p.warm(app)
	}
}

func (p *parts) setChanged(old, set *v1alpha1.ApplicationSet) {
	if set == nil {
		p.metrics.ForgetSet(old)
	}
	p.tellServerOfSet(old, set)
	if t := p.shift.Load(); t != nil {
		t.controller.SetChanged(old, set)
	}
}

func (p *parts) countChange(server string, ch cluster.Change) {
	f := ch.New
	if f == nil {
		f = ch.Old
	}
	p.metrics.ObjectChanged(server, f.Key.Group, f.Key.Kind)
}

// serveMetrics serves until ctx ends. Syncing does not stop because somebody
// else has the port, but it is said loudly.
func (p *parts) serveMetrics(ctx context.Context, address string) {
	if address == "" {
		return
	}
	if err := p.metrics.Serve(ctx, address); err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "metrics and health are not served; choose another --metrics-address", "error", err)
	}
}
