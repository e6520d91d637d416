package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/fault"
)

// NotLeading is the reason of a write that was refused because this process
// does not lead, or cannot be sure that it still does.
const NotLeading = "NotLeading"

// errNotLeading waits: whoever leads does the work, and if that is this process
// again it looks at everything anew.
var errNotLeading = fault.Waitingf(NotLeading, "this process does not lead (any more): it writes nothing")

// Fence lets requests that change something pass while the lease is known to be
// held, and ends those that wait for an answer when it is not any more. It asks
// the clock at each request and again when the bytes go out: a process that was
// stopped in between, for however long, writes nothing when it goes on.
type Fence struct {
	now func() time.Time
	// limit is how long after the lease was last renewed writes may be made.
	limit time.Duration
	// lapsed is sent to when a write was refused while the lease was thought to
	// be held.
	lapsed chan struct{}
	// unsent are the writes that have passed and have no answer yet.
	unsent  atomic.Int64
	refused atomic.Int64

	mu sync.Mutex
	// renewed is when the lease was last asked for with success; zero while it is
	// not held.
	renewed time.Time
	timer   *time.Timer
	flights map[*flight]struct{}
}

// flight is a write that is under way.
type flight struct{ cancel context.CancelCauseFunc }

// NewFence makes a fence, shut until somebody leads.
func NewFence(t Times) *Fence {
	return &Fence{now: time.Now, limit: t.Deadline, lapsed: make(chan struct{}, 1), flights: map[*flight]struct{}{}}
}

// Refused is how many writes were not made.
func (f *Fence) Refused() int64 { return f.refused.Load() }

// renew notes that the lease is held, by a request that was begun at a time.
func (f *Fence) renew(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at.Before(f.renewed) {
		return
	}
	f.renewed = at
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = time.AfterFunc(f.limit-elapsed(at, f.now()), f.lapse)
}

// shut refuses writes from now on and ends those that are under way.
func (f *Fence) shut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = time.Time{}
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	for flight := range f.flights {
		flight.cancel(errNotLeading)
	}
}

// lapse ends the writes that are under way if the lease was not renewed in time.
func (f *Fence) lapse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err() == nil {
		return
	}
	for flight := range f.flights {
		flight.cancel(errNotLeading)
	}
	f.tell()
}

// tell tells the elector that the lease is held no more.
func (f *Fence) tell() {
	select {
	case f.lapsed <- struct{}{}:
	default:
	}
}

// err is why a write may not be made now; the caller holds the lock.
func (f *Fence) err() error {
	if f.renewed.IsZero() || elapsed(f.renewed, f.now()) >= f.limit {
		return errNotLeading
	}
	return nil
}

// elapsed is the time between two moments by the clock that says more: the one
// that runs on evenly stands still while a machine sleeps, the other one may be
// set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// check is why a write may not be made now.
func (f *Fence) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err()
	if err != nil && !f.renewed.IsZero() {
		f.tell()
	}
	return err
}

// enter lets a write pass. sent is to be called when its answer begins to come,
// end when it is over.
func (f *Fence) enter(parent context.Context) (ctx context.Context, sent, end func(), err error) {
	f.unsent.Add(1)
	if err := f.check(); err != nil {
		f.unsent.Add(-1)
		f.refused.Add(1)
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(parent)
	flight := &flight{cancel: cancel}
	f.mu.Lock()
	f.flights[flight] = struct{}{}
	f.mu.Unlock()
	end = func() {
		f.mu.Lock()
		delete(f.flights, flight)
		f.mu.Unlock()
		cancel(nil)
	}
	return ctx, func() { f.unsent.Add(-1) }, end, nil
}

// Guard makes all that is sent by a configuration go through the fence.
func (f *Fence) Guard(config *rest.Config) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, fence: f}, nil
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guarded{next: next, fence: f} })
}

// Through is a configuration whose requests go through the fence. All clients
// that are made from it share their connections.
func (f *Fence) Through(config *rest.Config) (*rest.Config, error) {
	config = rest.CopyConfig(config)
	f.Guard(config)
	secure := config.Insecure || len(config.CAData) > 0 || config.CAFile != "" || len(config.CertData) > 0 || config.CertFile != ""
	host, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, secure)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the way to the API server: %w", err)
	}
	return &rest.Config{
		Host: host.String(), Transport: transport, UserAgent: config.UserAgent,
		QPS: config.QPS, Burst: config.Burst, Timeout: config.Timeout, WarningHandler: config.WarningHandler,
	}, nil
}

// guarded sends requests through a fence.
type guarded struct {
	next  http.RoundTripper
	fence *Fence
}

// WrappedRoundTripper lets client-go look behind it.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip sends a request, unless it would change something and may not.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if asks(r) {
		return g.next.RoundTrip(r)
	}
	ctx, sent, end, err := g.fence.enter(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	response, err := g.next.RoundTrip(r.WithContext(ctx))
	sent()
	explain := func(err error) error { return g.fence.explain(r.Context(), ctx, err) }
	if err != nil {
		err = explain(err)
		end()
		return nil, err
	}
	response.Body = &body{ReadCloser: response.Body, end: end, explain: explain}
	return response, nil
}

// asks says that a request changes nothing.
func asks(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return r.URL.Query().Get("dryRun") != ""
}

// explain says what became of a write that the fence ended, to those who did not
// end it themselves.
func (f *Fence) explain(caller, ctx context.Context, err error) error {
	if caller.Err() == nil && (errors.Is(context.Cause(ctx), errNotLeading) || f.check() != nil) {
		return errNotLeading
	}
	return err
}

// body ends a write when its answer was read, or nobody wants to.
type body struct {
	io.ReadCloser
	end     func()
	explain func(error) error
}

// Read reads on.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end()
	default:
		err = b.explain(err)
		b.end()
	}
	return n, err
}

// Close ends the write.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// conn asks once more when the bytes of a write go out. Reads share it, so it
// cannot tell whose bytes they are; while a write is on its way that may not be
// made any more, nothing goes out, and whoever reads begins again.
type conn struct {
	net.Conn
	fence *Fence
}

// Write sends bytes.
func (c *conn) Write(p []byte) (int, error) {
	if c.fence.unsent.Load() > 0 {
		if err := c.fence.check(); err != nil {
			_ = c.Close()
			return 0, err
		}
	}
	return c.Conn.Write(p)
}
