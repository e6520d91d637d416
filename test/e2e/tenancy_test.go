package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// An attack is an application of project a that reaches for what is not its
// project's. Two walls stand in its way: our rules, and the rights of the
// service account that it is written as.
type attack struct {
	name string
	// files are what the application has in Git, besides a ConfigMap of its own.
	files map[string]string
	// project and namespace are a and a's, unless they say otherwise; options
	// are its sync options.
	project, namespace, options string
	// repository is the one that it takes; its own, unless it says otherwise.
	repository string
	// then is done once the application is synced.
	then func(f *tenants)
	// victim is the object that must not be touched.
	victim victim
	// rule is a part of what our rule says. server says that the API server
	// refuses it too.
	rule   string
	server bool
	// stands says that the victim stands since before the attack.
	stands bool
}

// victim is an object. The server counts a namespace to itself.
type victim struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

var (
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
)

// tenants are two teams in one installation.
type tenants struct {
	*fixture
	// a and b are their namespaces, and fresh one that is not there.
	a, b, fresh string
}

func newTenants(t *testing.T) *tenants {
	f := setup(t)
	out := &tenants{fixture: f, a: f.dest, b: f.dest + "-b", fresh: f.dest + "-new"}
	f.kubectl("create", "namespace", out.b)
	for _, namespace := range []string{out.a, out.b} {
		f.kubectl("-n", namespace, "create", "serviceaccount", "deployer")
		f.kubectl("-n", namespace, "create", "role", "deployer", "--verb=*", "--resource=configmaps")
		f.kubectl("-n", namespace, "create", "rolebinding", "deployer", "--role=deployer", "--serviceaccount="+namespace+":deployer")
	}
	f.settings(map[string]string{v1alpha1.KeyImpersonationEnabled: "true"})
	return out
}

// account is as whom the applications of a namespace's project are written.
func account(namespace string) string { return "system:serviceaccount:" + namespace + ":deployer" }

// apply writes a manifest as an administrator does.
func (f *tenants) apply(format string, args ...any) {
	f.Helper()
	if out, err := f.kubectlTry(fmt.Sprintf(format, args...), "apply", "-f", "-"); err != nil {
		f.Fatalf("applying: %v\n%s", err, out)
	}
}

func (f *tenants) projects(attacks []attack) {
	f.Helper()
	repos := map[string][]string{}
	for _, at := range attacks {
		repos[at.owner()] = append(repos[at.owner()], fmt.Sprintf("%q", f.git.URL(at.name)))
	}
	for name, own := range map[string]string{"a": f.a, "b": f.b} {
		f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: %s}
spec:
  sourceRepos: [%s]
  destinations: [{server: "https://kubernetes.default.svc", namespace: %s}, {name: in-cluster, namespace: %s-new}]
  namespaceResourceBlacklist: [{group: "", kind: Secret}]
  destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "%s:deployer"}]
`, name, f.control, strings.Join(repos[name], ", "), own, own, own)
	}
}

func (at attack) owner() string {
	if at.project == "" {
		return "a"
	}
	return at.project
}

// begin makes the application.
func (f *tenants) begin(at attack) {
	f.Helper()
	namespace, repository := at.namespace, at.repository
	if namespace == "" {
		namespace = f.a
	}
	if repository == "" {
		repository = at.name
	}
	f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: %s
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  source: {repoURL: %q, path: ., targetRevision: main}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [%s]}
`, at.name, f.control, at.owner(), namespace, f.git.URL(repository), at.options)
}

func configMap(name, namespace, hook string) string {
	out := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n", name)
	if namespace != "" {
		out += "  namespace: " + namespace + "\n"
	}
	if hook != "" {
		out += "  annotations: {argocd.argoproj.io/hook: " + hook + "}\n"
	}
	return out
}

// attacks are the ways in which an application may reach for what is another's.
// Installations share the cluster, so each has names of its own.
func (f *tenants) attacks(mark string) []attack {
	const inB = `matches no allow rule in destinations of project "a"`
	const aSecret = `denied by namespaceResourceBlacklist "Secret"`
	named := func(name string) string { return mark + "-" + name }
	own := func(name string) string { return "own-" + named(name) }
	out := []attack{
		{
			name: "namespace", files: map[string]string{"x.yaml": configMap(named("namespace"), f.b, "")},
			victim: victim{configMaps, f.b, named("namespace")}, rule: inB, server: true,
		},
		{
			name: "kind", files: map[string]string{"x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: kind}\n"},
			victim: victim{secrets, f.a, "kind"}, rule: aSecret, server: true,
		},
		{
			name: "kind-hook",
			files: map[string]string{"x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: kind-hook, " +
				"annotations: {argocd.argoproj.io/hook: PreSync}}\n"},
			victim: victim{secrets, f.a, "kind-hook"}, rule: aSecret, server: true,
		},
		{
			name: "scope",
			files: map[string]string{"x.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " +
				named("scope") + "}\nrules: []\n"},
			victim: victim{clusterRoles, "", named("scope")}, rule: "not in clusterResourceWhitelist", server: true,
		},
		{
			name: "create-namespace", namespace: f.fresh, options: "CreateNamespace=true",
			victim: victim{namespaces, f.fresh, f.fresh}, rule: "not in clusterResourceWhitelist", server: true,
		},
		{
			name: "repository", repository: named("move"),
			victim: victim{configMaps, f.a, own("move")}, rule: `matches no allow rule in sourceRepos of project "a"`,
		},
		{
			name: "rename", victim: victim{configMaps, f.b, own("rename")}, rule: inB, server: true,
			then: func(f *tenants) {
				f.kubectl("-n", f.control, "patch", "application", named("rename"), "--type=merge", "-p",
					`{"spec":{"destination":{"namespace":"`+f.b+`"}}}`)
			},
		},
		{
			name: "move", project: "b", namespace: f.b, victim: victim{configMaps, f.b, own("move")}, rule: inB, server: true, stands: true,
			then: func(f *tenants) {
				more := configMap(own("move"), "", "") + "data: {more: \"yes\"}\n"
				_, err := f.git.Commit(named("move"), "main", "more", map[string]*string{"own.yaml": &more})
				f.must(err)
				f.kubectl("-n", f.control, "patch", "application", named("move"), "--type=merge", "-p", `{"spec":{"project":"a"}}`)
				f.kubectl("-n", f.control, "annotate", "application", named("move"), v1alpha1.AnnotationRefresh+"=normal", "--overwrite")
			},
		},
	}
	for _, phase := range []string{"PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete"} {
		at := attack{name: strings.ToLower(phase), rule: inB, server: true}
		at.victim = victim{configMaps, f.b, named(at.name)}
		at.files = map[string]string{"x.yaml": configMap(named(at.name), f.b, phase)}
		if phase == "SyncFail" {
			// No server takes such a name, so the sync fails.
			at.files["y.yaml"] = configMap("Bad_Name", "", "")
		}
		if strings.HasSuffix(phase, "Delete") {
			at.then = func(f *tenants) {
				f.kubectl("-n", f.control, "delete", "application", named(at.name), "--wait=false")
			}
		}
		out = append(out, at)
	}
	for i := range out {
		out[i].name = named(out[i].name)
	}
	return out
}

// TestTenancy: with our rules nothing is even asked of the server, and without
// them, which only a build with failpoints can do, the server refuses it: what
// an application writes it writes as the service account of its project.
func TestTenancy(t *testing.T) {
	t.Run("rules", func(t *testing.T) { tenancy(t, true) })
	t.Run("rights", func(t *testing.T) { tenancy(t, false) })
}

func tenancy(t *testing.T, ruled bool) {
	f := newTenants(t)
	mark := "rights"
	if ruled {
		mark = "rules"
	}
	attacks := f.attacks(mark)
	f.projects(attacks)
	for _, at := range attacks {
		files := map[string]string{"own.yaml": configMap("own-"+at.name, "", "")}
		maps.Copy(files, at.files)
		f.must(f.git.Create(at.name, files))
	}
	if ruled {
		f.start()
	} else {
		path, err := mortal()
		f.must(err)
		f.launch(path, "TOWLINE_UNRULED=1")
	}
	for _, at := range attacks {
		f.begin(at)
	}
	for _, at := range attacks {
		if at.then == nil {
			continue
		}
		revision, err := f.git.Revision(at.name, "main")
		f.must(err)
		f.await(at.name, "synced", synced(revision))
	}
	before := f.standing(attacks)
	for _, at := range attacks {
		if at.then != nil {
			at.then(f)
		}
	}
	for _, at := range attacks {
		t.Run(at.name, func(t *testing.T) { f.withstands(t, at, ruled) })
	}
	if now := f.standing(attacks); now != before {
		t.Errorf("what stood was changed: %s, was %s", now, before)
	}
	f.onlyAsAccounts()
}

// standing are the versions of the victims that stood before.
func (f *tenants) standing(attacks []attack) string {
	f.Helper()
	var out []string
	for _, at := range attacks {
		if !at.stands {
			continue
		}
		u, err := f.of(at.victim).Get(f.Context(), at.victim.name, metav1.GetOptions{})
		f.must(err)
		out = append(out, u.GetName()+"@"+u.GetResourceVersion())
	}
	return strings.Join(out, " ")
}

func (f *tenants) of(v victim) dynamic.ResourceInterface {
	if v.namespace == "" || v.resource == namespaces {
		return f.dynamic.Resource(v.resource)
	}
	return f.dynamic.Resource(v.resource).Namespace(v.namespace)
}

// withstands waits until an attack is refused, and looks at what it did.
func (f *tenants) withstands(t *testing.T, at attack, ruled bool) {
	says := "forbidden"
	if ruled {
		says = at.rule
	}
	if !ruled && !at.server {
		t.Skip("only our rules know of repositories")
	}
	f.await(at.name, "refused", func(app *v1alpha1.Application) bool { return tells(app, says) })
	if ruled && at.then == nil {
		out, errOut, code := f.towline("app", "sync", at.name, "--timeout", "60")
		if code == 0 || !strings.Contains(out+errOut, says) {
			t.Errorf("a sync by hand ended with %d:\n%s%s", code, out, errOut)
		}
	}
	if at.stands {
		return // its version is compared when all is over
	}
	if _, err := f.of(at.victim).Get(t.Context(), at.victim.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s/%s stands: %v", at.victim.namespace, at.victim.name, err)
	}
	refused := 0
	for _, e := range f.touching(at.victim) {
		switch {
		case ruled:
			t.Errorf("it was asked for: %s %s, %d", e.Verb, e.URI, e.Code)
		case e.Writes() && e.Code < 300:
			t.Errorf("it was written: %s %s, %d", e.Verb, e.URI, e.Code)
		case e.Code == 403 && e.Impersonated == account(f.a):
			refused++
		}
	}
	if !ruled && refused == 0 {
		t.Error("the server was never asked, so it proves nothing")
	}
}

// tells says that an application says something, in a condition or of its
// operation.
func tells(app *v1alpha1.Application, what string) bool {
	for _, c := range app.Status.Conditions {
		// What will be refused when its time comes is told before.
		if strings.Contains(c.Message, what) && !strings.Contains(c.Message, "will not run") {
			return true
		}
	}
	op := app.Status.OperationState
	if op == nil || !op.Phase.Completed() {
		return false
	}
	if strings.Contains(op.Message, what) {
		return true
	}
	if op.SyncResult != nil {
		for _, r := range op.SyncResult.Resources {
			if strings.Contains(r.Message, what) {
				return true
			}
		}
	}
	return false
}

// touching are the requests of towline's for one object.
func (f *tenants) touching(v victim) []controlplane.Event {
	f.Helper()
	var out []controlplane.Event
	for _, e := range f.requests() {
		if e.Group == v.resource.Group && e.Resource == v.resource.Resource && e.Namespace == v.namespace && e.Name == v.name {
			out = append(out, e)
		}
	}
	return out
}

// onlyAsAccounts: everything that was written to the teams' namespaces was
// written as one of their accounts.
func (f *tenants) onlyAsAccounts() {
	f.Helper()
	n := 0
	for _, e := range f.requests() {
		if !e.Writes() && !e.DryRun || e.Namespace != f.a && e.Namespace != f.b && e.Namespace != f.fresh {
			continue
		}
		n++
		if e.Impersonated != account(f.a) && e.Impersonated != account(f.b) {
			f.Errorf("%s %s was asked for as %q", e.Verb, e.URI, e.Impersonated)
		}
	}
	if n == 0 {
		f.Error("nothing was written at all")
	}
}

// TestImpersonationEnforced: where a project names no account for a
// destination, nothing is written, until it does.
func TestImpersonationEnforced(t *testing.T) {
	f := newTenants(t)
	f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: a, namespace: %s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: %s}]
`, f.control, f.a)
	f.must(f.git.Create("nobody", map[string]string{"own.yaml": configMap("own-nobody", "", "")}))
	revision, err := f.git.Revision("nobody", "main")
	f.must(err)
	f.start()
	f.begin(attack{name: "nobody"})
	f.await("nobody", "refused", func(app *v1alpha1.Application) bool {
		return tells(app, `no rule in destinationServiceAccounts of project "a" fits`)
	})
	if f.object(configMaps, "own-nobody") != nil {
		t.Error("it was written all the same")
	}
	f.kubectl("-n", f.control, "patch", "appproject", "a", "--type=merge", "-p",
		`{"spec":{"destinationServiceAccounts":[{"server":"*","namespace":"*","defaultServiceAccount":"deployer"}]}}`)
	f.await("nobody", "synced", synced(revision))
	f.onlyAsAccounts()
}

// TestGlobalProject: the rules of a global project bind those that it is for,
// and a change of it counts at once.
func TestGlobalProject(t *testing.T) {
	f := newTenants(t)
	f.settings(map[string]string{v1alpha1.KeyGlobalProjects: "- labelSelector: {matchLabels: {tier: web}}\n  projectName: base\n"})
	f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: base, namespace: %s}
spec:
  destinations: [{server: "*", namespace: %s}]
  namespaceResourceBlacklist: [{group: "", kind: ConfigMap}]
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: a, namespace: %s, labels: {tier: web}}
spec:
  sourceRepos: ["*"]
`, f.control, f.a, f.control)
	f.must(f.git.Create("bound", map[string]string{"own.yaml": configMap("own-bound", "", "")}))
	revision, err := f.git.Revision("bound", "main")
	f.must(err)
	f.start()
	f.begin(attack{name: "bound"})
	f.await("bound", "refused", func(app *v1alpha1.Application) bool {
		return tells(app, `denied by namespaceResourceBlacklist "ConfigMap" of project "a" with its global project "base"`)
	})
	f.kubectl("-n", f.control, "patch", "appproject", "base", "--type=merge", "-p", `{"spec":{"namespaceResourceBlacklist":null}}`)
	f.await("bound", "synced", synced(revision))

	// An empty list of kinds comes through to the rule as what it is.
	f.kubectl("-n", f.control, "patch", "appproject", "a", "--type=merge", "-p", `{"spec":{"namespaceResourceWhitelist":[]}}`)
	f.await("bound", "refused again", func(app *v1alpha1.Application) bool {
		return tells(app, "not in namespaceResourceWhitelist") && tells(app, "it is empty and so allows none")
	})
	f.kubectl("-n", f.control, "patch", "appproject", "a", "--type=merge", "-p", `{"spec":{"namespaceResourceWhitelist":null}}`)
	f.await("bound", "allowed again", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) == 0 })
}

// TestScopedRepository: a repository that a secret says is a project's own needs
// no rule there, and is nobody else's.
func TestScopedRepository(t *testing.T) {
	f := newTenants(t)
	f.settings(nil)
	for name, own := range map[string]string{"a": f.a, "b": f.b} {
		f.apply(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: %s}
spec:
  destinations: [{server: "*", namespace: %s}]
`, name, f.control, own)
	}
	f.must(f.git.Create("scoped", map[string]string{"own.yaml": configMap("own-scoped", "", "")}))
	revision, err := f.git.Revision("scoped", "main")
	f.must(err)
	f.start()
	f.begin(attack{name: "scoped"})
	f.begin(attack{name: "foreign", repository: "scoped", project: "b", namespace: f.b})
	refused := func(project string) func(*v1alpha1.Application) bool {
		return func(app *v1alpha1.Application) bool {
			return tells(app, `matches no allow rule in sourceRepos of project "`+project+`"`)
		}
	}
	f.await("scoped", "refused", refused("a"))
	f.apply(`
apiVersion: v1
kind: Secret
metadata: {name: scoped, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: git, url: %q, project: a}
`, f.control, f.git.URL("scoped"))
	f.await("scoped", "synced", synced(revision))
	f.refresh("foreign")
	f.await("foreign", "refused", refused("b"))
}
