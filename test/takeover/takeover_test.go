package takeover_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
	"github.com/towline-cd/towline/internal/core/takeover"
	"github.com/towline-cd/towline/internal/hub"
)

// As whom the two act: the audit log tells them apart by it.
const (
	userTheirs = "takeover-argocd"
	userOurs   = "takeover-towline"
)

// patience is how long anything may take. Machines are noisy.
const patience = 15 * time.Minute

// stage is the cluster with both of them.
type stage struct {
	*testing.T
	plane           *controlplane.Plane
	git             *gitserver.Server
	kube            kubernetes.Interface
	dynamic         dynamic.Interface
	hub             *hub.Client
	dir             string
	control, prefix string
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits for something that no single watch tells; what is missing is said
// if it does not come.
func (s *stage) until(what string, missing func() string) {
	s.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Second) {
		if last = missing(); last == "" {
			return
		}
	}
	s.Fatalf("it did not come that %s: %s", what, last)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	if os.Getenv(envPeer) == "" {
		t.Skipf("there is no Argo CD to take over from; %s names its binary", envPeer)
	}
	if testing.Short() {
		t.Skip("needs the control plane; run without -short")
	}
	for _, tool := range []string{"redis-server", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("Argo CD needs %s, which is not on the PATH", tool)
		}
	}
	s := &stage{T: t, plane: controlplane.Shared(t), git: gitserver.New(t), dir: t.TempDir(), control: "argocd", prefix: "take-"}
	config, err := s.plane.RESTConfig()
	s.must(err)
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.dynamic, err = dynamic.NewForConfig(config)
	s.must(err)
	s.hub, err = hub.New(config, s.control)
	s.must(err)
	return s
}

// TestTakeover is the promise: taking over from Argo CD, and going back, changes
// no workload.
func TestTakeover(t *testing.T) {
	s := newStage(t)
	s.install()
	const count = 50
	manifests, repository := s.applications(count)
	s.must(s.git.Create("fleet", repository))
	newPeer(s)
	s.kubectl(manifests, "apply", "-f", "-")
	s.settled(count)
	before, theirs := s.photograph(), s.verdicts()
	began := time.Now()

	kubeconfig, err := s.plane.KubeconfigFor(userOurs, "system:masters")
	s.must(err)
	ours := s.begin("towline", []string{"POD_NAME=towline-0"}, binary, "run", "--kubeconfig", kubeconfig, "--namespace", s.control,
		"--data", t.TempDir(), "--listen", "", "--peer-listen", "", "--metrics-address", "127.0.0.1:0")
	t.Cleanup(ours.end)
	s.Logf("check:\n%s", s.towline("migrate", "check"))
	s.Logf("takeover:\n%s", s.towline("migrate", "takeover", "--yes"))
	s.refresh()
	s.settled(count)
	s.same("the takeover", before, s.photograph())
	s.agree("Argo CD and Towline", theirs, s.verdicts())

	s.Logf("handback:\n%s", s.towline("migrate", "handback", "--yes"))
	s.refresh()
	s.settled(count)
	s.same("the handback", before, s.photograph())
	s.agree("before and after", theirs, s.verdicts())
	s.audited(began)
}

func (s *stage) towline(args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), binary, append(args, "--kubeconfig", s.plane.Kubeconfig(), "--namespace", s.control)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Errorf("towline %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// settled waits until all applications are there, in sync and healthy.
func (s *stage) settled(count int) {
	s.Helper()
	s.until("all applications are in sync and healthy", func() string {
		list, err := s.hub.Applications(s.Context(), metav1.ListOptions{})
		s.must(err)
		var open []string
		for i := range list.Items {
			app := &list.Items[i]
			op := app.Status.OperationState
			if app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced || app.Status.Health.Status != v1alpha1.HealthStatusHealthy ||
				app.Operation != nil || op == nil || op.Phase != v1alpha1.OperationSucceeded {
				open = append(open, fmt.Sprintf("%s %s/%s %v", app.Name, app.Status.Sync.Status, app.Status.Health.Status, app.Status.Conditions))
			}
		}
		if len(list.Items) != count {
			return fmt.Sprintf("%d of %d are there; %v", len(list.Items), count, open)
		}
		return strings.Join(open, "\n")
	})
}

// The kinds whose objects nobody may touch.
var watched = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "secrets"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}

// photograph is all objects of the applications: who they are, and what they say
// apart from their status and from who wrote it.
func (s *stage) photograph() map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, gvr := range watched {
		list, err := s.dynamic.Resource(gvr).List(s.Context(), metav1.ListOptions{})
		s.must(err)
		for i := range list.Items {
			u := &list.Items[i]
			if !strings.HasPrefix(u.GetNamespace(), s.prefix) {
				continue
			}
			content := map[string]any{"uid": u.GetUID(), "labels": u.GetLabels()}
			for _, part := range []string{"spec", "data", "rules"} {
				content[part] = u.Object[part]
			}
			text, err := json.Marshal(content)
			s.must(err)
			out[gvr.Resource+" "+u.GetNamespace()+"/"+u.GetName()] = string(text)
		}
	}
	return out
}

func (s *stage) same(after string, before, now map[string]string) {
	s.Helper()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			s.Errorf("%s changed %s\nfrom %s\nto   %s", after, name, before[name], now[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[name]; !ok {
			s.Errorf("%s made %s", after, name)
		}
	}
	s.Logf("%s: %d objects as before", after, len(before))
}

func (s *stage) verdicts() map[string]*v1alpha1.Application {
	s.Helper()
	list, err := s.hub.Applications(s.Context(), metav1.ListOptions{})
	s.must(err)
	out := map[string]*v1alpha1.Application{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

// agree lists every difference between two sets of verdicts. Those of whole
// applications are failures.
func (s *stage) agree(who string, a, b map[string]*v1alpha1.Application) {
	s.Helper()
	differences := 0
	for _, name := range slices.Sorted(maps.Keys(a)) {
		for _, d := range takeover.Compare(a[name], b[name].Status) {
			differences++
			if d.Object == "" {
				s.Errorf("%s disagree on %s: %s", who, name, d)
			} else {
				s.Logf("%s disagree on %s: %s", who, name, d)
			}
		}
		if len(a[name].Status.History) != len(b[name].Status.History) {
			s.Errorf("%s: %s was synced again: %d entries in its history, and then %d", who, name, len(a[name].Status.History), len(b[name].Status.History))
		}
	}
	s.Logf("%s: %d differences in the verdicts of %d applications", who, differences, len(a))
}

// audited looks in the audit log for what nobody may have done since.
func (s *stage) audited(since time.Time) {
	s.Helper()
	events, err := controlplane.NewTrail(s.plane.AuditLog(), "takeover-").Events()
	s.must(err)
	counts := map[string]int{}
	for _, e := range events {
		if e.Time.Before(since) || e.DryRun || e.Code >= 400 || e.User != userOurs && e.User != userTheirs ||
			slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			continue
		}
		counts[fmt.Sprintf("%s %s %s", e.User, e.Verb, e.Resource)]++
		if strings.HasPrefix(e.Namespace, s.prefix) && e.Resource != "events" {
			s.Errorf("%s wrote to what is deployed: %s %s %s/%s (%s)", e.User, e.Verb, e.Resource, e.Namespace, e.Name, e.URI)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		s.Logf("writes: %d × %s", counts[name], name)
	}
}
