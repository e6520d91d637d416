package conformance_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/test/workshop"
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
	apply := exec.CommandContext(t.Context(), plane.Kubectl(), "--kubeconfig", plane.Kubeconfig(),
		"apply", "-k", filepath.Join(workshop.Root(), "config", "crd"))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("installing the CRDs: %v\n%s", err, out)
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(facts))
	s.served(t, "Application", "AppProject", "ApplicationSet")
	s.audit = &audit{path: plane.AuditLog(), client: s.client, seen: map[string]bool{}}
	return s
}

// served waits until the API server serves our kinds.
func (s *stage) served(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		for limit := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			_, err := s.mapper.RESTMapping(schema.GroupKind{Group: "argoproj.io", Kind: kind})
			if err == nil {
				break
			}
			if time.Now().After(limit) {
				t.Fatal(err)
			}
			s.mapper.Reset()
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
