// Package e2e_test runs the real binary against the real control plane and a
// real git server, and looks at what a user would look at: the cluster, the
// Applications, the command line and, for costs, the API server's audit log.
// It must not reach into the engine.
package e2e_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
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
	return workshop.Run("e2e", func(dir string) (code int, err error) {
		if plain, err = workshop.Towline(context.Background(), dir); err != nil {
			return 1, err
		}
		if os.Getenv("TOWLINE_RACE") != "" {
			if racing, err = workshop.Racing(context.Background(), dir); err != nil {
				return 1, err
			}
		}
		var forwards string
		if forwards, forwarded, err = portForwards(dir); err != nil {
			return 1, err
		}
		return controlplane.Main(m, controlplane.Options{
			Name: "e2e", Nodes: 1, Audit: controlplane.AuditMetadata, KwokConfig: []string{forwards},
			// Some distributions let only those name an owner who may change the owner's finalizers. What is allowed there is
			// allowed anywhere.
			APIServerArgs: []string{"enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		}), nil
	})
}
