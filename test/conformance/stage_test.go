package conformance_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// stage is what all cases share: a cluster and a git server.
type stage struct {
	plane   *controlplane.Plane
	git     *gitserver.Server
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	audit   *audit
	scratch string
	houses  *houses
}

func newStage(t *testing.T) *stage {
	t.Helper()
	plane := controlplane.Shared(t)
	s := &stage{plane: plane, git: gitserver.New(t), scratch: t.TempDir(), houses: &houses{all: map[string]*house{}}}
	config, err := plane.RESTConfig()
	check(t, err)
	// Our own requests must not wait for each other.
	config.QPS, config.Burst = 1000, 2000
	config.WarningHandler = rest.NoWarnings{}
	s.client, err = kubernetes.NewForConfig(config)
	check(t, err)
	s.dynamic, err = dynamic.NewForConfig(config)
	check(t, err)
	facts, err := discovery.NewDiscoveryClientForConfig(config)
	check(t, err)
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(repoRoot(), "config", "crd")},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
	} {
		cmd := exec.CommandContext(t.Context(), plane.Kubectl(), append([]string{"--kubeconfig", plane.Kubeconfig()}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(facts))
	s.audit = &audit{path: plane.AuditLog(), client: s.client, seen: map[string]bool{}}
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
