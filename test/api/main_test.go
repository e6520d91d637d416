// Package api_test asks the server of the real binary what clients of Argo CD ask, on the real control plane: whether each
// path answers in the form that they know, who is let in, and whether a planted secret comes out anywhere. It must not
// reach into the server.
package api_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "towline-api-")
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
	logs, err := podLogs(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return controlplane.Main(m, controlplane.Options{Name: "api", Nodes: 1, KwokConfig: []string{logs}})
}

// podLogs has all pods write the same lines; nothing runs in them.
func podLogs(dir string) (config string, err error) {
	lines, config := filepath.Join(dir, "pod.log"), filepath.Join(dir, "logs.yaml")
	text := "2026-01-02T15:04:05.000000000Z stdout F the first line\n2026-01-02T15:04:06.000000000Z stdout F the last line\n"
	if err := os.WriteFile(lines, []byte(text), 0o600); err != nil {
		return "", err
	}
	object := "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterLogs\nmetadata: {name: all}\nspec: {logs: [{logsFile: " + lines + ", follow: true}]}\n"
	return config, os.WriteFile(config, []byte(object), 0o600)
}

// repoRoot: a test runs in the folder of its package.
func repoRoot() string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return root
}
