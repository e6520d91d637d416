// Package takeover_test takes over from a real Argo CD and gives back, on the
// real control plane, and looks in the audit log whether a workload felt it. The
// binary of Argo CD comes from outside: TOWLINE_ARGOCD is its path. Without one
// the test is skipped. It must not know how either controller works.
package takeover_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// The variables that name what comes from outside: the binary, with the
// git-verify-wrapper.sh of the same release beside it, and a folder with helm and
// kustomize where they are not on the PATH already.
const (
	envPeer  = "TOWLINE_ARGOCD"
	envTools = "TOWLINE_ARGOCD_TOOLS"
)

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(envPeer) == "" {
		return m.Run() // which says that it skips
	}
	dir, err := os.MkdirTemp("", "towline-takeover-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "towline")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", binary, "./cmd/towline")
	cmd.Dir, cmd.Env = repoRoot(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building towline: %v\n%s", err, out)
		return 1
	}
	return controlplane.Main(m, controlplane.Options{Name: "takeover", Nodes: 2, Audit: controlplane.AuditMetadata})
}

func repoRoot() string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return root
}
