package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// link carries the requests to one cluster. Those who send them keep it for as
// long as they live; how the cluster is reached may change under them. A
// request that is not answered ends in time, at once if it is known that the
// cluster does not answer.
type link struct {
	name func() string
	way  atomic.Pointer[way]
	// breaker is nil for the cluster that we run in: where that does not answer
	// there is nobody to tell.
	breaker *breaker
	// limit bounds a request, slow is when it is worth a look at the cluster.
	limit, slow time.Duration
	// suspect is sent to when the cluster should be looked at now.
	suspect chan struct{}

	mu sync.Mutex
	// flying are the requests that wait for an answer.
	flying map[*flight]struct{}
}

// flight is a request that waits for an answer.
type flight struct{ cancel context.CancelCauseFunc }

// way is how a cluster is reached: signed in, by the proxy, with the right
// certificates.
type way struct{ http.RoundTripper }

// requestLimit is a little more than API servers allow themselves, which with
// slow webhooks may be a minute.
const requestLimit = 65 * time.Second

// slowTime is when a request is so slow that the cluster may be gone.
const slowTime = 3 * time.Second

func newLink(name func() string, b *breaker) *link {
	return &link{
		name: name, breaker: b, limit: requestLimit, slow: slowTime,
		suspect: make(chan struct{}, 1), flying: map[*flight]struct{}{},
	}
}

// use changes how the cluster is reached. Watches that run go on as they were
// made; what comes after goes the new way.
func (l *link) use(w *way) {
	old := l.way.Swap(w)
	if old == nil {
		return
	}
	utilnet.CloseIdleConnectionsFor(old.RoundTripper)
	l.doubt()
}

// doubt asks for a look at the cluster.
func (l *link) doubt() {
	select {
	case l.suspect <- struct{}{}:
	default:
	}
}

// RoundTrip sends a request.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.breaker != nil {
		if err := l.breaker.fault(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	end := func() { cancel(nil) }
	stream := streams(r.URL)
	if !stream {
		end = l.fly(cancel)
	}
	response, err := l.way.Load().RoundTrip(r.WithContext(ctx))
	if err != nil {
		err = l.explain(r.Context(), ctx, err)
		end()
		return nil, err
	}
	if l.breaker != nil {
		l.breaker.answered()
	}
	explain := func(err error) error { return l.explain(r.Context(), ctx, err) }
	if stream {
		// Whoever watches knows the ways in which a stream breaks off, and goes on
		// where it was.
		explain = func(err error) error {
			if r.Context().Err() == nil {
				l.doubt()
			}
			return err
		}
	}
	response.Body = &body{ReadCloser: response.Body, end: end, explain: explain}
	return response, nil
}

// fly bounds a request. end is to be called when it is over.
func (l *link) fly(cancel context.CancelCauseFunc) (end func()) {
	f := &flight{cancel: cancel}
	l.mu.Lock()
	l.flying[f] = struct{}{}
	l.mu.Unlock()
	slow := time.AfterFunc(l.slow, l.doubt)
	late := time.AfterFunc(l.limit, func() {
		cancel(fault.Transientf("Timeout", "cluster %s did not answer within %s", l.name(), l.limit))
	})
	return func() {
		slow.Stop()
		late.Stop()
		l.mu.Lock()
		delete(l.flying, f)
		l.mu.Unlock()
		cancel(nil)
	}
}

// ground ends the requests that wait for an answer. Watches stay: if the cluster
// goes on where it stopped, so do they.
func (l *link) ground(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.flying {
		f.cancel(why)
	}
}

// explain says what became of a request, to those who did not end it themselves.
func (l *link) explain(caller, ctx context.Context, err error) error {
	if caller.Err() != nil {
		return err
	}
	if decided, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		return decided
	}
	if decided, ok := errors.AsType[*fault.Error](err); ok {
		// It was not sent; that says nothing of the cluster.
		return decided
	}
	l.doubt()
	return fault.Transientf(destination.Unreachable, "cluster %s cannot be reached: %w", l.name(), err)
}

// streams says that a request has no end of its own.
func streams(u *url.URL) bool {
	query := u.Query()
	for _, name := range []string{"watch", "follow"} {
		if on, err := strconv.ParseBool(query.Get(name)); err == nil && on {
			return true
		}
	}
	return false
}

// body ends a request when its answer was read, or nobody wants to.
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

// Close ends the request.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// look asks the cluster for its version. Whatever it says, it is there; only
// what stands before it may say that it is not.
func (l *link) look(ctx context.Context, host string, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/version", nil)
	if err != nil {
		return err
	}
	response, err := l.way.Load().RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	_ = response.Body.Close()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("what stands before it answers %s", response.Status)
	}
	return nil
}
