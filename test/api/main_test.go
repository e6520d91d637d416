// Package api_test asks the server of the real binary what clients of Argo CD ask, on the real control plane: whether each
// path answers in the form that they know, who is let in, and whether a planted secret comes out anywhere. It must not
// reach into the server.
package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	return workshop.Run("api", func(dir string) (code int, err error) {
		if binary, err = workshop.Towline(context.Background(), dir); err != nil {
			return 1, err
		}
		logs, err := podLogs(dir)
		if err != nil {
			return 1, err
		}
		return controlplane.Main(m, controlplane.Options{Name: "api", Nodes: 1, KwokConfig: []string{logs}}), nil
	})
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
