package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/fault"
)

// clock is a time that only moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// gate is a server behind a fence.
type gate struct {
	*testing.T
	clock *clock
	fence *Fence
	// client goes through the fence, and before is called after that.
	client *http.Client
	before func()
	server *httptest.Server
	hits   atomic.Int64
}

func newGate(t *testing.T, h http.HandlerFunc) *gate {
	g := &gate{T: t, clock: &clock{at: time.Now()}, before: func() {}}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(g.server.Close)
	g.fence = NewFence(Times{Deadline: 10 * time.Second})
	g.fence.now = g.clock.now
	config := &rest.Config{Host: g.server.URL}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			g.before()
			return next.RoundTrip(r)
		})
	})
	through, err := g.fence.Through(config)
	if err != nil {
		t.Fatal(err)
	}
	if g.client, err = rest.HTTPClientFor(through); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.client.CloseIdleConnections)
	return g
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (g *gate) send(method, path string) error {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.server.URL+path, strings.NewReader("{}"))
	if err != nil {
		g.Fatal(err)
	}
	response, err := g.client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

func refused(err error) bool {
	return fault.ReasonOf(err) == NotLeading && fault.ClassOf(err) == fault.Waiting
}

func TestFenceLetsWritesPassWhileTheLeaseIsHeld(t *testing.T) {
	leading := func(g *gate) { g.fence.renew(g.clock.now()) }
	cases := map[string]struct {
		given  func(*gate)
		passes bool
	}{
		"never led":                     {func(*gate) {}, false},
		"leading":                       {leading, true},
		"shortly before it has run out": {func(g *gate) { leading(g); g.clock.pass(9 * time.Second) }, true},
		"it has run out":                {func(g *gate) { leading(g); g.clock.pass(10 * time.Second) }, false},
		"renewed":                       {func(g *gate) { leading(g); g.clock.pass(9 * time.Second); leading(g); g.clock.pass(9 * time.Second) }, true},
		"renewed by an answer from long ago": {func(g *gate) {
			leading(g)
			asked := g.clock.now()
			g.clock.pass(time.Minute)
			g.fence.renew(asked)
		}, false},
		"given up": {func(g *gate) { leading(g); g.fence.shut() }, false},
		"led again": {func(g *gate) {
			leading(g)
			g.fence.shut()
			leading(g)
		}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, func(http.ResponseWriter, *http.Request) {})
			c.given(g)
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				err := g.send(method, "/x")
				if c.passes && err != nil || !c.passes && !refused(err) {
					t.Errorf("%s: %v", method, err)
				}
			}
			if n := g.hits.Load(); c.passes && n != 4 || !c.passes && n != 0 {
				t.Errorf("the server saw %d writes", n)
			}
			for _, ask := range [][2]string{{http.MethodGet, "/x?watch=1"}, {http.MethodPatch, "/x?dryRun=All&force=true"}} {
				if err := g.send(ask[0], ask[1]); err != nil {
					t.Errorf("%s %s, which changes nothing: %v", ask[0], ask[1], err)
				}
			}
		})
	}
}

// A machine that sleeps stops the even clock; the other one tells.
func TestFenceBelievesTheClockThatSaysMore(t *testing.T) {
	at := time.Now()
	later := at.Round(0).Add(time.Hour)
	if got := elapsed(at, later); got < time.Hour-time.Minute {
		t.Errorf("an hour by the clock on the wall counts as %s", got)
	}
	if got := elapsed(at, at.Add(3*time.Second)); got != 3*time.Second {
		t.Errorf("three seconds by the even clock count as %s", got)
	}
}

// A process may be stopped between the look at the clock and the wire.
func TestFenceAsksAgainWhenBytesGoOut(t *testing.T) {
	g := newGate(t, func(http.ResponseWriter, *http.Request) {})
	g.fence.renew(g.clock.now())
	if err := g.send(http.MethodPatch, "/x"); err != nil {
		t.Fatal(err)
	}
	for name, drop := range map[string]bool{"on a new connection": true, "on one that is open": false} {
		t.Run(name, func(t *testing.T) {
			g.before = func() {}
			g.fence.renew(g.clock.now())
			if err := g.send(http.MethodGet, "/x"); err != nil {
				t.Fatal(err)
			}
			if drop {
				g.client.CloseIdleConnections()
			}
			before := g.hits.Load()
			g.before = func() { g.clock.pass(time.Hour) }
			if err := g.send(http.MethodPatch, "/x"); !refused(err) {
				t.Errorf("a write of a process that slept for an hour: %v", err)
			}
			if g.hits.Load() != before {
				t.Error("it arrived")
			}
			g.before = func() {}
			if err := g.send(http.MethodGet, "/x"); err != nil {
				t.Errorf("a read afterwards: %v", err)
			}
			select {
			case <-g.fence.lapsed:
			default:
				t.Error("nobody was told")
			}
		})
	}
}

func TestFenceEndsWhatIsUnderWay(t *testing.T) {
	cases := map[string]struct {
		begin bool // whether the answer has begun
		end   func(*gate)
	}{
		"given up":                        {end: func(g *gate) { g.fence.shut() }},
		"run out":                         {end: func(g *gate) { g.clock.pass(time.Minute); g.fence.lapse() }},
		"given up while the answer comes": {begin: true, end: func(g *gate) { g.fence.shut() }},
		"run out while the answer comes":  {begin: true, end: func(g *gate) { g.clock.pass(time.Minute); g.fence.lapse() }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{})
			g := newGate(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					return
				}
				if c.begin {
					_, _ = io.WriteString(w, "the beginning")
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
			g.fence.renew(g.clock.now())
			ended := make(chan error, 1)
			go func() { ended <- g.send(http.MethodPost, "/x") }()
			<-arrived
			c.end(g)
			select {
			case err := <-ended:
				if !refused(err) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it waits on")
			}
			if n := g.fence.unsent.Load(); n != 0 {
				t.Errorf("%d writes count as unsent", n)
			}
			if err := g.send(http.MethodGet, "/x"); err != nil {
				t.Errorf("a read afterwards: %v", err)
			}
		})
	}
}

func TestFenceLeavesOtherErrorsAlone(t *testing.T) {
	g := newGate(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	g.fence.renew(g.clock.now())
	ctx, cancel := context.WithCancel(t.Context())
	g.before = cancel
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := g.client.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, context.Canceled) || refused(err) {
		t.Errorf("a write that its caller ended: %v", err)
	}
}
