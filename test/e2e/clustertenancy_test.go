package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// reach is an application that names a cluster which is not its project's.
type reach struct {
	name, project string
	// server or cluster is how it names the cluster.
	server, cluster string
	says            string
}

// neighbours are two teams, of which one has a cluster of its own.
type neighbours struct {
	*tenants
	theirs *goal
}

func newNeighbours(t *testing.T) *neighbours {
	f := &neighbours{tenants: newTenants(t)}
	plane, err := f.plane.Extra(t.Context(), "theirs", controlplane.ExtraOptions{Audit: controlplane.AuditMetadata})
	f.must(err)
	t.Cleanup(func() { _ = plane.Stop() })
	f.theirs = &goal{Plane: plane, fixture: f.fixture, name: "theirs"}
	config, err := plane.RESTConfig()
	f.must(err)
	f.theirs.Clientset, err = kubernetes.NewForConfig(config)
	f.must(err)
	f.theirs.namespace(deployNamespace)
	for _, account := range []string{"towline", "deployer"} {
		f.theirs.account(account, rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"})
	}
	f.enter(nil)
	everywhere, server := `{server: "*", namespace: "*"}`, plane.Server()
	for name, destinations := range map[string]string{
		"a":    fmt.Sprintf(`{server: "https://kubernetes.default.svc", namespace: %s}`, f.a),
		"b":    fmt.Sprintf(`{server: %q, namespace: "*"}`, server),
		"most": everywhere + fmt.Sprintf(`, {server: "!%s", namespace: "*"}`, server),
		"all":  everywhere,
	} {
		account := "kube-system:deployer"
		if name == "a" {
			account = f.a + ":deployer"
		}
		f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: %s}
spec:
  sourceRepos: ["*"]
  destinations: [%s]
  destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: %q}]
`, name, f.control, destinations, account)
	}
	return f
}

// enter writes the secret of the cluster.
func (f *neighbours) enter(more map[string]string) {
	f.Helper()
	(&fleet{fixture: f.fixture}).register("theirs", f.theirs.Server(), f.theirs.config(f.theirs.token("towline")), more)
}

// target makes an application for a cluster.
func (f *neighbours) target(r reach) {
	f.Helper()
	to := fmt.Sprintf("server: %q", r.server)
	if r.server == "" {
		to = fmt.Sprintf("name: %q", r.cluster)
	}
	f.must(f.git.Create(r.name, map[string]string{"own.yaml": configMap("own-"+r.name, "", "")}))
	f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: %s
  destination: {%s, namespace: %s}
  source: {repoURL: %q, path: ., targetRevision: main}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, r.name, f.control, r.project, to, deployNamespace, f.git.URL(r.name))
}

// asked are the requests that towline made to the cluster, as itself or as
// somebody else.
func (f *neighbours) asked() []controlplane.Event {
	f.Helper()
	all, err := controlplane.ReadAudit(f.theirs.AuditLog())
	f.must(err)
	var out []controlplane.Event
	for _, e := range all {
		if e.User == "system:serviceaccount:kube-system:towline" {
			out = append(out, e)
		}
	}
	return out
}

// refused waits until each is refused, also where a person asks for a sync.
func (f *neighbours) refused(t *testing.T, all []reach) {
	for _, r := range all {
		f.await(r.name, "refused", func(app *v1alpha1.Application) bool { return tells(app, r.says) })
		if out, errOut, code := f.towline("app", "sync", r.name, "--timeout", "60"); code == 0 || !strings.Contains(out+errOut, r.says) {
			t.Errorf("a sync of %s by hand ended with %d:\n%s%s", r.name, code, out, errOut)
		}
	}
}

// TestTenancyOfClusters: an application that names a cluster of another project,
// in whichever way, is refused, and nothing is asked of that cluster.
func TestTenancyOfClusters(t *testing.T) {
	f := newNeighbours(t)
	f.start()
	server := f.theirs.Server()
	capitals := strings.Replace(server, "https", "HTTPS", 1)
	const none, deny = `matches no allow rule in destinations of project "a"`, `is denied by destinations`
	rules := []reach{
		{"by-server", "a", server, "", none},
		{"by-name", "a", "", "theirs", none},
		{"by-slash", "a", server + "/", "", none},
		{"by-capitals", "a", capitals, "", none},
		{"by-other-host", "a", strings.Replace(server, "127.0.0.1", "localhost", 1), "", "is not known"},
		{"denied-server", "most", server, "", deny},
		{"denied-capitals", "most", capitals, "", deny},
		{"denied-slash", "most", server + "/", "", deny},
		{"denied-name", "most", "", "theirs", deny},
		{"no-project", "nobody", server, "", "does not exist"},
	}
	// This one was where it may be, and moves.
	moved := reach{"moved", "a", "https://kubernetes.default.svc", "", none}
	f.target(moved)
	f.kubectl("-n", f.control, "patch", "application", moved.name, "--type=merge", "-p", `{"spec":{"destination":{"namespace":"`+f.a+`"}}}`)
	f.await(moved.name, "synced", settled)
	f.kubectl("-n", f.control, "patch", "application", moved.name, "--type=merge", "-p", `{"spec":{"destination":{"server":"`+server+`"}}}`)
	for _, r := range rules {
		f.target(r)
	}
	f.refused(t, append(rules, moved))

	// The cluster is one project's alone, whatever the rules of others allow.
	f.enter(map[string]string{"project": "b"})
	const alone = `is for project "b" alone`
	scoped := []reach{
		{"scoped-server", "all", server, "", alone},
		{"scoped-name", "all", "", "theirs", alone},
		{"scoped-capitals", "all", capitals + "/", "", alone},
	}
	for _, r := range scoped {
		f.target(r)
	}
	f.refused(t, scoped)
	f.kubectl("-n", f.control, "delete", "application", "by-name", "--timeout=60s")
	for _, e := range f.asked() {
		t.Errorf("the cluster was asked: %s %s", e.Verb, e.URI)
	}
	t.Run("whose it is", func(t *testing.T) { f.own(t, append(scoped, rules...)) })
}

// own: the project whose cluster it is deploys there, as the account that it
// names; that the cluster is known now lets nobody else in.
func (f *neighbours) own(t *testing.T, others []reach) {
	f.target(reach{name: "own", project: "b", cluster: "theirs"})
	f.await("own", "synced", settled)
	for _, r := range others {
		if r.name == "by-name" {
			continue
		}
		f.refresh(r.name)
		f.await(r.name, "refused", func(app *v1alpha1.Application) bool { return tells(app, r.says) })
		_, err := f.theirs.CoreV1().ConfigMaps(deployNamespace).Get(t.Context(), "own-"+r.name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s is there: %v", r.name, err)
		}
	}
	wrote := 0
	for _, e := range f.asked() {
		if e.Namespace != deployNamespace || e.Verb == "list" || e.Verb == "watch" {
			continue
		}
		if e.Name != "own-own" || e.Impersonated != "system:serviceaccount:kube-system:deployer" {
			t.Errorf("%s %s was asked as %q", e.Verb, e.URI, e.Impersonated)
		}
		if e.Writes() {
			wrote++
		}
	}
	if wrote == 0 {
		t.Error("nothing was written at all")
	}
}
