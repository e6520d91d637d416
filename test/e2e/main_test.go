// Package e2e_test runs the real binary against the real control plane and a
// real git server, and looks at what a user would look at: the cluster, the
// Applications, the command line and, for costs, the API server's audit log.
// It must not reach into the engine.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// binary is the program under test, built once, with the race detector where
// the tests have it.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "towline-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "towline")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.CommandContext(context.Background(), "go", append(args, "./cmd/towline")...)
	build.Dir = repoRoot()
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building towline: %v\n%s", err, out)
		return 1
	}
	return controlplane.Main(m, controlplane.Options{Name: "e2e", Nodes: 1, Audit: controlplane.AuditMetadata})
}

// repoRoot: a test runs in the folder of its package.
func repoRoot() string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return root
}
