package trace_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/trace"
)

// collector takes traces as the real ones do.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[string]string // name to trace/parent
	raw   string
	token string
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		data, _ := io.ReadAll(body)
		var req tracepb.ExportTraceServiceRequest
		if r.URL.Path != "/v1/traces" || proto.Unmarshal(data, &req) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw += string(data)
		c.token = r.Header.Get("X-Token")
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					c.spans[s.Name] = string(s.TraceId) + "/" + string(s.ParentSpanId) + "/" + string(s.SpanId)
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// TestFromWebhookToApplied: what comes of a push is a part of its trace, though a queue is in between.
func TestFromWebhookToApplied(t *testing.T) {
	c := collect(t)
	tr, err := trace.Open(t.Context(), trace.Options{Address: c.URL, Headers: map[string]string{"X-Token": "t"}, Attributes: map[string]string{"env": "test"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := tr.Span(t.Context(), "webhook", "provider", "github")
	tr.Remember(ctx, "git.example.com/shop")
	end(nil)
	ctx, end = tr.Span(tr.Follow(t.Context(), "git.example.com/other", "git.example.com/shop"), "reconcile", "app", "shop")
	_, inner := tr.Span(ctx, "apply", "objects", 3)
	inner(fault.Terminalf("Rejected", "the value hush"))
	end(nil)
	_, other := tr.Span(tr.Follow(t.Context(), "git.example.com/other"), "elsewhere")
	other(nil)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := func(name string, i int) string { return strings.Split(c.spans[name], "/")[i] }
	if len(c.spans) != 4 {
		t.Fatalf("there are %d spans", len(c.spans))
	}
	if part("reconcile", 0) != part("webhook", 0) || part("reconcile", 1) != part("webhook", 2) || part("apply", 1) != part("reconcile", 2) {
		t.Errorf("the spans are not in one trace: %q", c.spans)
	}
	if part("elsewhere", 0) == part("webhook", 0) {
		t.Error("another place is in the same trace")
	}
	if strings.Contains(c.raw, "hush") || !strings.Contains(c.raw, "Rejected") || c.token != "t" {
		t.Error("what is told of an error is not its kind alone, or the header is missing")
	}
}

func TestOff(t *testing.T) {
	tr, err := trace.Open(t.Context(), trace.Options{})
	if err != nil || tr.On() {
		t.Fatal(err, tr.On())
	}
	ctx, end := tr.Span(t.Context(), "x")
	end(nil)
	tr.Remember(ctx, "a")
	if tr.Follow(ctx, "a") != ctx || tr.Close(ctx) != nil {
		t.Error("it does something")
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"collector:4317": "4318", "collector": "neither", "ftp://collector": "neither", "collector:4318": "", "https://c/otlp/v1/traces": "",
	} {
		_, err := trace.Open(t.Context(), trace.Options{Address: address})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
