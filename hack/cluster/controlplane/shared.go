package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
)

// shared is the one cluster of this test process. It is the only package-level state here: the tests of a package
// have no other place to meet.
var shared struct {
	once  sync.Once
	main  bool
	opts  Options
	plane *Plane
	err   error
}

// Main runs the tests of a package and then stops the shared cluster, if a test started it. Use it in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m, controlplane.Options{})) }
//
// If a test panics the process ends without coming back here; on Linux the cluster ends with it, and the next
// start removes the temporary folder.
func Main(m *testing.M, opts Options) int {
	shared.main, shared.opts = true, opts
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		received, ok := <-signals
		if !ok {
			return
		}
		stopShared()
		code := 1
		if s, ok := received.(syscall.Signal); ok {
			code = 128 + int(s)
		}
		os.Exit(code)
	}()
	code := m.Run()
	signal.Stop(signals)
	close(signals)
	stopShared()
	return code
}

// Shared returns the one cluster of this test process and starts it with the first call. With
// TOWLINE_TEST_CLUSTER=<name> it is the running cluster of that name instead, which stays. It skips the test
// under -short.
func Shared(tb testing.TB) *Plane {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a real control plane: run without -short")
	}
	if !shared.main {
		tb.Fatal("using the shared control plane: the package's TestMain must call controlplane.Main")
	}
	shared.once.Do(func() { shared.plane, shared.err = startShared(tb.Context()) })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.plane
}

func startShared(ctx context.Context) (*Plane, error) {
	if name := os.Getenv("TOWLINE_TEST_CLUSTER"); name != "" {
		return Attach(name)
	}
	// A cold build outlasts the time limit of go test, so a test never starts one.
	if _, err := Find(ctx); err != nil {
		return nil, err
	}
	return Start(ctx, shared.opts)
}

func stopShared() {
	// Waits for a start that is under way, and keeps a later one from happening.
	shared.once.Do(func() {})
	if shared.plane == nil {
		return
	}
	if err := shared.plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
