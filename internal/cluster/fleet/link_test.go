package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// linked is a server that can stop answering, and a link to it.
type linked struct {
	*httptest.Server
	*link
	silent atomic.Bool
	asked  atomic.Int64
	free   chan struct{}
}

func newLinked(t *testing.T) *linked {
	s := &linked{free: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		switch {
		case s.silent.Load():
			<-s.free
		case r.URL.Query().Get("watch") != "":
			fmt.Fprintln(w, "first")
			_ = http.NewResponseController(w).Flush()
			<-s.free
			fmt.Fprintln(w, "second")
		default:
			fmt.Fprint(w, "token="+r.Header.Get("Authorization"))
		}
	}))
	s.link = newLink(func() string { return `"prod"` }, newBreaker(time.Now))
	s.link.use(&way{http.DefaultTransport})
	t.Cleanup(s.Server.Close)
	return s
}

func (s *linked) get(t *testing.T, query string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: s.link}).Do(r)
}

// fails is why a request is not answered.
func (s *linked) fails(t *testing.T) error {
	t.Helper()
	response, err := s.get(t, "")
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func (s *linked) text(t *testing.T) string {
	t.Helper()
	response, err := s.get(t, "")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestARequestEndsInTime(t *testing.T) {
	s := newLinked(t)
	defer close(s.free)
	s.limit, s.slow = 50*time.Millisecond, 10*time.Millisecond
	s.silent.Store(true)
	err := s.fails(t)
	if fault.ReasonOf(err) != "Timeout" || fault.ClassOf(err) != fault.Transient || destination.Lost(err) {
		t.Errorf("the error is %v", err)
	}
	select {
	case <-s.suspect:
	default:
		t.Error("a slow request is no reason for a look")
	}
	if len(s.flying) != 0 {
		t.Errorf("%d requests are kept", len(s.flying))
	}
}

// TestOpening: the requests that wait end at once, those that come are not sent,
// and a watch goes on where it was.
func TestOpening(t *testing.T) {
	s := newLinked(t)
	response, err := s.get(t, "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Scan()
	s.silent.Store(true)
	waiting := make(chan error, 1)
	go func() { waiting <- s.fails(t) }()
	for s.asked.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	cause := errors.New("no answer within 5s")
	if s.breaker.failed(`"prod"`, cause) || !s.breaker.failed(`"prod"`, cause) || s.breaker.failed(`"prod"`, errors.New("another")) {
		t.Error("it does not open at the second failure, once")
	}
	s.ground(s.breaker.fault())
	err = <-waiting
	if fault.ClassOf(err) != fault.Waiting || !destination.Lost(err) {
		t.Errorf("the request that waited ended with %v", err)
	}
	before := s.asked.Load()
	if err = s.fails(t); !destination.Lost(err) || s.asked.Load() != before {
		t.Errorf("a request was sent, or ended with %v", err)
	}
	if text := s.breaker.fault().Error(); !strings.Contains(text, `cluster "prod" cannot be reached: no answer within 5s; last seen 20`) {
		t.Errorf("it says %q", text)
	}
	close(s.free)
	if !lines.Scan() || lines.Text() != "second" {
		t.Errorf("the watch ended: %v", lines.Err())
	}
	s.silent.Store(false)
	if err := s.look(t.Context(), s.URL, time.Minute); err != nil || !s.breaker.succeeded() || s.breaker.succeeded() {
		t.Errorf("it does not close, once: %v", err)
	}
	s.text(t)
}

func TestLook(t *testing.T) {
	s := newLinked(t)
	defer close(s.free)
	if err := s.look(t.Context(), s.URL, time.Minute); err != nil {
		t.Error(err)
	}
	s.silent.Store(true)
	if err := s.look(t.Context(), s.URL, 20*time.Millisecond); err == nil || err.Error() != "no answer within 20ms" {
		t.Errorf("silence is %v", err)
	}
	for code, there := range map[int]bool{401: true, 403: true, 500: true, 502: false, 503: false, 504: false} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		if err := s.look(t.Context(), proxy.URL, time.Minute); (err == nil) != there {
			t.Errorf("an answer of %d is %v", code, err)
		}
		proxy.Close()
		if err := s.look(t.Context(), proxy.URL, time.Minute); err == nil {
			t.Error("a closed port answers")
		}
	}
}

// TestRotation: whoever holds the link is signed in anew with the next request.
func TestRotation(t *testing.T) {
	s := newLinked(t)
	defer close(s.free)
	access := Access{}
	for _, token := range []string{"one", "two"} {
		entry := destination.Cluster{Server: s.URL}
		entry.Config.BearerToken = newSecret(token)
		w, err := access.way(entry)
		if err != nil {
			t.Fatal(err)
		}
		s.use(w)
		if got := s.text(t); got != "token=Bearer "+token {
			t.Errorf("it is signed in with %q", got)
		}
	}
}

func TestAClosedPortIsTheCluster(t *testing.T) {
	s := newLinked(t)
	s.Server.Close()
	err := s.fails(t)
	if !destination.Lost(err) || fault.ClassOf(err) != fault.Transient {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if destination.Lost(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("whoever gave up hears %v", err)
	}
}
