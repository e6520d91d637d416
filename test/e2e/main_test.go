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
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// plain is the program under test, built once. racing is the same with the race
// detector, where TOWLINE_RACE asks for it: that program needs five times the
// processor, so only some tests run it.
var plain, racing string

// raced are the tests whose towline is built with the race detector: those in
// which most of it is busy at once. The packages' own tests have it everywhere.
var raced = []string{
	"TestApplicationsInAnyNamespace", "TestBootOfSets", "TestClusters", "TestEvents", "TestKillWhileApplying",
	"TestLeaderThatEndsLetsGo", "TestLifecycle", "TestPlugins", "TestPoll", "TestRollingSync", "TestSeveralSources",
	"TestTenancy", "TestTerminate", "TestWebhooksAtAServerThatDoesNotLead",
}

// program is the one that a test runs.
func program(t *testing.T) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if racing != "" && slices.Contains(raced, name) {
		return racing
	}
	return plain
}

// forwarded is where the port of a pod's API leads to, which is one address for all pods.
var forwarded string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "towline-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plain = filepath.Join(dir, "towline")
	if err := build(plain, []string{"CGO_ENABLED=0"}, "-trimpath"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv("TOWLINE_RACE") != "" {
		racing = filepath.Join(dir, "towline-race")
		if err := build(racing, []string{"CGO_ENABLED=1"}, "-race"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var forwards string
	if forwards, forwarded, err = portForwards(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return controlplane.Main(m, controlplane.Options{
		Name: "e2e", Nodes: 1, Audit: controlplane.AuditMetadata, KwokConfig: []string{forwards},
		// Some distributions let only those name an owner who may change the owner's finalizers. What is allowed there is allowed
		// anywhere.
		APIServerArgs: []string{"enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
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
