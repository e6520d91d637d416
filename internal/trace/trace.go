// Package trace tells a collector of OpenTelemetry, over HTTP, how long the parts of the work take: from the webhook that
// told of a commit to the objects that were applied. It must not hold anybody up, and it is silent unless somebody says
// where the collector is. Nothing but names, counts and kinds of errors is told: texts may hold what is nobody's business.
package trace

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Options say where traces go.
type Options struct {
	// Address is the collector: host:port, or a URL. Empty is nowhere.
	Address string
	// Insecure is that it speaks plain HTTP; a URL says so itself.
	Insecure            bool
	Headers, Attributes map[string]string
	Version             string
}

// Tracer makes spans. It is safe for use by many goroutines.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider

	mu sync.Mutex
	// pushes are the spans of what was told of a place, so that what comes of it is a part of the same trace.
	pushes map[string]push
}

type push struct {
	span trace.SpanContext
	at   time.Time
}

// Open makes a tracer. The collector is not asked: what it does not take is dropped.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	t := &Tracer{tracer: noop.NewTracerProvider().Tracer(""), pushes: map[string]push{}}
	if o.Address == "" {
		return t, nil
	}
	options, err := endpoint(o)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("opening the way to the collector of traces: %w", err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", "towline"), attribute.String("service.version", o.Version)}
	for k, v := range o.Attributes {
		attributes = append(attributes, attribute.String(k, v))
	}
	t.provider = sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(resource.NewSchemaless(attributes...)))
	t.tracer = t.provider.Tracer("towline")
	return t, nil
}

// endpoint reads the address. Argo CD speaks gRPC to its collector, whose usual port is 4317; that of HTTP is 4318.
func endpoint(o Options) ([]otlptracehttp.Option, error) {
	options := []otlptracehttp.Option{otlptracehttp.WithHeaders(o.Headers), otlptracehttp.WithTimeout(10 * time.Second)}
	if strings.Contains(o.Address, "://") {
		u, err := url.Parse(o.Address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("the address %q of the collector of traces is neither host:port nor a URL of http or https", o.Address)
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		return append(options, otlptracehttp.WithEndpointURL(u.String())), nil
	}
	_, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("the address %q of the collector of traces is neither host:port nor a URL", o.Address)
	}
	if port == "4317" {
		return nil, fmt.Errorf("the collector of traces at %q is spoken to over HTTP, and 4317 is its port of gRPC; give that of HTTP, "+
			"which usually is 4318", o.Address)
	}
	if o.Insecure {
		options = append(options, otlptracehttp.WithInsecure())
	}
	return append(options, otlptracehttp.WithEndpoint(o.Address)), nil
}

// On says that traces go somewhere.
func (t *Tracer) On() bool { return t.provider != nil }

// Span begins a span in that of the context. Attributes are keys and values, as slog has them.
func (t *Tracer) Span(ctx context.Context, name string, attributes ...any) (inner context.Context, end func(error)) {
	if t.provider == nil {
		return ctx, func(error) {}
	}
	inner, span := t.tracer.Start(ctx, name, trace.WithAttributes(pairs(attributes)...))
	return inner, func(err error) {
		if err != nil {
			// What an error says may repeat what somebody was sent.
			span.SetStatus(codes.Error, fault.ReasonOf(err))
		}
		span.End()
	}
}

func pairs(list []any) []attribute.KeyValue {
	var out []attribute.KeyValue
	for i := 0; i+1 < len(list); i += 2 {
		key := fmt.Sprint(list[i])
		switch v := list[i+1].(type) {
		case int:
			out = append(out, attribute.Int(key, v))
		case bool:
			out = append(out, attribute.Bool(key, v))
		case []string:
			out = append(out, attribute.StringSlice(key, v))
		default:
			out = append(out, attribute.String(key, fmt.Sprint(v)))
		}
	}
	return out
}

const (
	// lasts is how long what comes of a push is a part of its trace, and mostPushes how many are remembered.
	lasts      = 15 * time.Minute
	mostPushes = 1024
)

// Remember has what is done for places be a part of the present span's trace.
func (t *Tracer) Remember(ctx context.Context, places ...string) {
	span := trace.SpanContextFromContext(ctx)
	if t.provider == nil || !span.IsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if len(t.pushes)+len(places) > mostPushes {
		for k, p := range t.pushes {
			if now.Sub(p.at) > lasts {
				delete(t.pushes, k)
			}
		}
	}
	for _, place := range places {
		if len(t.pushes) < mostPushes {
			t.pushes[place] = push{span, now}
		}
	}
}

// Follow is a context in the trace of the last push to one of the places, if there was one of late.
func (t *Tracer) Follow(ctx context.Context, places ...string) context.Context {
	if t.provider == nil {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var last push
	for _, place := range places {
		if p, ok := t.pushes[place]; ok && time.Since(p.at) <= lasts && p.at.After(last.at) {
			last = p
		}
	}
	if last.at.IsZero() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, last.span)
}

// Close sends what is left.
func (t *Tracer) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
