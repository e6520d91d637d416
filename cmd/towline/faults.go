//go:build faults

package main

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/engine"
)

// dieAt names the environment variable that says at which point of a run the
// process dies, as by a power cut: 0 is before its first write, 1 after it, 2
// before the second, and so on.
const dieAt = "TOWLINE_DIE_AT"

// unruled names the environment variable that makes projects forbid nothing, so
// that a test sees what holds behind our own rules.
const unruled = "TOWLINE_UNRULED"

// withFaults makes a process die before or after one of its writes. It exists
// for tests of crashes, and only in builds with the tag "faults".
func withFaults(config *rest.Config) {
	if os.Getenv(unruled) != "" {
		engine.Unrule()
	}
	at, err := strconv.ParseInt(os.Getenv(dieAt), 10, 64)
	if err != nil {
		return
	}
	writes := &atomic.Int64{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &mortal{next: next, at: at, writes: writes} })
}

type mortal struct {
	next   http.RoundTripper
	at     int64
	writes *atomic.Int64
}

// RoundTrip sends a request, unless the process dies of it.
func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	// Events tell of what happened; nothing is decided from them.
	if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" || strings.HasSuffix(r.URL.Path, "/events") {
		return m.next.RoundTrip(r)
	}
	n := m.writes.Add(1) - 1
	if m.at == 2*n {
		die()
	}
	resp, err := m.next.RoundTrip(r)
	if m.at == 2*n+1 {
		die()
	}
	return resp, err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
