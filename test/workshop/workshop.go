// Package workshop makes the programs that the tests of this folder start: towline as it is shipped, and the login provider
// beside it. It must not know what is tested with them.
package workshop

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Run gives a suite a folder for what it needs, for as long as its tests run, and returns their exit code. An error is what
// kept them from running.
func Run(suite string, tests func(dir string) (code int, err error)) int {
	code, err := inFolder("towline-"+suite+"-", tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func inFolder(name string, tests func(dir string) (int, error)) (int, error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return tests(dir)
}

// Towline builds the product into a folder.
func Towline(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "towline")
	return program, build(ctx, "CGO_ENABLED=0", "-trimpath", "-o", program)
}

// Racing builds the product with the race detector.
func Racing(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "towline-race")
	return program, build(ctx, "CGO_ENABLED=1", "-race", "-o", program)
}

// Mortal builds the product with its failpoints, without the race detector: what it dies of is not a race.
func Mortal(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "towline-faults")
	return program, build(ctx, "CGO_ENABLED=0", "-trimpath", "-tags", "faults", "-o", program)
}

func build(ctx context.Context, environment string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, []string{"./cmd/towline"})...)
	cmd.Dir, cmd.Env = Root(), append(os.Environ(), environment)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building towline: %w\n%s", err, out)
	}
	return nil
}

// Root is the folder of the repository: a test runs in the folder of its package. Outside of it, whatever is looked for
// is missing by its name.
func Root() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for at := here; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
	}
	return here
}

// Port is one of this machine that nobody has now.
func Port(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
