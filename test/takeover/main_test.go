// Package takeover_test takes over from a real Argo CD and gives back, on the
// real control plane, and looks in the audit log whether a workload felt it. The
// binary of Argo CD comes from outside: TOWLINE_ARGOCD is its path. Without one
// the test is skipped. It must not know how either controller works.
package takeover_test

import (
	"context"
	"os"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
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
	return workshop.Run("takeover", func(dir string) (code int, err error) {
		if binary, err = workshop.Towline(context.Background(), dir); err != nil {
			return 1, err
		}
		return controlplane.Main(m, controlplane.Options{Name: "takeover", Nodes: 2, Audit: controlplane.AuditMetadata}), nil
	})
}
