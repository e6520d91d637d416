// Package truth_test asks the real server, in many small situations, whether
// what Towline says is true. Each file of testdata is a situation: how an
// object came to be, what Git says, what happened, and what Towline has to
// say and to do about it. The package must not reach into the engine: it
// looks at what a user sees, and compares it with what the server says.
package truth_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

var (
	update  = flag.Bool("update", false, "write what was seen into testdata; read the difference before you believe it")
	program = flag.String("towline", "", "a towline to test, instead of building one")
)

// part is which of how many parts of the situations are played, such as 1/3;
// all of them without it. CI plays another part for each commit, since all take
// as long as everything else together.
var part = os.Getenv("TOWLINE_TRUTH_PART")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		// Nothing here runs without the control plane; do not build for it.
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "towline-truth-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if *program == "" {
		*program = filepath.Join(dir, "towline")
		if err := build(*program); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return controlplane.Main(m, controlplane.Options{Name: "truth", Nodes: 1, Audit: controlplane.AuditMetadata})
}

func build(path string) error {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", path, "./cmd/towline")
	cmd.Dir = repoRoot()
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
