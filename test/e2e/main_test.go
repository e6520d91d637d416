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
// the tests have it. typist is the same for single commands, always without:
// they are many, short, and mostly alone.
var binary, typist string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "towline-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	typist = filepath.Join(dir, "towline")
	binary = typist
	if err := build(typist, []string{"CGO_ENABLED=0"}, "-trimpath"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if raceEnabled {
		binary = filepath.Join(dir, "towline-race")
		if err := build(binary, nil, "-race"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return controlplane.Main(m, controlplane.Options{Name: "e2e", Nodes: 1, Audit: controlplane.AuditMetadata})
}

func build(path string, environment []string, flags ...string) error {
	cmd := exec.CommandContext(context.Background(), "go", append(append([]string{"build", "-o", path}, flags...), "./cmd/towline")...)
	cmd.Dir, cmd.Env = repoRoot(), append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building towline: %w\n%s", err, out)
	}
	return nil
}

// repoRoot: a test runs in the folder of its package.
func repoRoot() string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return root
}
