package main

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/trace"
)

// logSet says which flags of the log somebody gave: they count more than the settings.
type logSet struct{ format, level bool }

// tell has the process tell of itself as the settings say: how the log is written, and where traces go.
func (o runOptions) tell(ctx context.Context, p *parts, s *settings.Settings) error {
	format, level := o.logFormat, o.logLevel
	if !o.logSet.format {
		format = cmp.Or(s.Logging.Format, format)
	}
	if !o.logSet.level {
		level = cmp.Or(s.Logging.Level, level)
	}
	if err := logging(format, level); err != nil {
		slog.WarnContext(ctx, "what argocd-cmd-params-cm says of the log cannot be followed", "error", err)
	}
	t := s.Tracing
	options := trace.Options{
		Address: cmp.Or(o.otlp, t.Address), Insecure: !t.Secure, Headers: t.Headers, Attributes: t.Attributes, Version: version,
	}
	var err error
	if p.tracer, err = trace.Open(ctx, options); err != nil {
		if o.otlp != "" {
			return err
		}
		// An installation of Argo CD that is taken over may have the address of its own.
		slog.WarnContext(ctx, "no traces are sent", "key", "otlp.address", "error", err)
		if p.tracer, err = trace.Open(ctx, trace.Options{}); err != nil {
			return err
		}
	}
	if p.tracer.On() {
		slog.InfoContext(ctx, "traces are sent", "address", options.Address)
	}
	return nil
}

// closeTracer sends what is left, if somebody takes it.
func (p *parts) closeTracer() {
	if p.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := p.tracer.Close(ctx); err != nil {
		slog.Warn("the last traces could not be sent", "error", err)
	}
}

// traced is an engine whose work is told in traces: in that of the push that it comes of, if there was one of late.
type traced struct {
	*engine.Engine
	p *parts
}

// Reconcile does the work for one application.
func (t traced) Reconcile(ctx context.Context, name string) (engine.Result, error) {
	if !t.p.tracer.On() {
		return t.Engine.Reconcile(ctx, name)
	}
	var places []string
	if app, err := t.p.hub.Application(ctx, name); err == nil {
		for _, s := range app.Sources() {
			places = append(places, repository.Place(s.RepoURL))
		}
	}
	ctx, end := t.p.tracer.Span(t.p.tracer.Follow(ctx, places...), "reconcile", "app", name)
	result, err := t.Engine.Reconcile(ctx, name)
	end(err)
	return result, err
}
