package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// fleet is a hub and three clusters that it deploys to.
type fleet struct {
	*fixture
	targets []*goal
}

// goal is a cluster to deploy to: how it is called, and the account that
// towline has there.
type goal struct {
	*controlplane.Plane
	*kubernetes.Clientset
	fixture *fixture
	name    string
}

const deployNamespace = "shop"

// newFleet starts the clusters, and towline with an entry for each.
func newFleet(t *testing.T) *fleet {
	f := &fleet{fixture: alone(t)}
	start := time.Now()
	f.targets = make([]*goal, 3)
	var wg sync.WaitGroup
	for i := range f.targets {
		wg.Go(func() {
			name := fmt.Sprintf("%s-%d", "target", i+1)
			plane, err := f.plane.Extra(t.Context(), name, controlplane.ExtraOptions{Audit: controlplane.AuditMetadata})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = plane.Stop() })
			f.targets[i] = &goal{Plane: plane, fixture: f.fixture, name: name}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("three clusters took %s", time.Since(start).Round(time.Millisecond))
	for _, g := range f.targets {
		config, err := g.RESTConfig()
		f.must(err)
		g.Clientset, err = kubernetes.NewForConfig(config)
		f.must(err)
		g.namespace(deployNamespace)
		g.account("towline", rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"})
		f.register(g.name, g.Server(), g.config(g.token("towline")), nil)
	}
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	f.start()
	return f
}

func (g *goal) must(err error) {
	g.fixture.Helper()
	g.fixture.must(err)
}

func (g *goal) namespace(name string) {
	_, err := g.CoreV1().Namespaces().Create(g.fixture.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	g.must(err)
}

// account makes a service account and binds it to a role everywhere.
func (g *goal) account(name string, role rbacv1.RoleRef) {
	ctx := g.fixture.Context()
	_, err := g.CoreV1().ServiceAccounts("kube-system").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	g.must(err)
	_, err = g.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: role,
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: "kube-system"}},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		g.must(err)
	}
}

// token is one for a service account.
func (g *goal) token(account string) string {
	t, err := g.CoreV1().ServiceAccounts("kube-system").CreateToken(g.fixture.Context(), account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}, metav1.CreateOptions{})
	g.must(err)
	return t.Status.Token
}

// config is what a cluster secret says of how to sign in.
func (g *goal) config(token string) string {
	ca, err := os.ReadFile(g.CACert())
	g.must(err)
	raw, err := json.Marshal(map[string]any{
		"bearerToken": token, "tlsClientConfig": map[string]any{"caData": base64.StdEncoding.EncodeToString(ca)},
	})
	g.must(err)
	return string(raw)
}

// register writes a cluster secret.
func (f *fleet) register(name, server, config string, more map[string]string) {
	f.Helper()
	data := map[string]string{"name": name, "server": server, "config": config}
	maps.Copy(data, more)
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": data,
		"metadata": map[string]any{
			"name": "cluster-" + name, "namespace": f.control, "labels": map[string]string{v1alpha1.LabelSecretType: v1alpha1.SecretTypeCluster},
		},
	})
	f.must(err)
	if out, err := f.kubectlTry(string(raw), "apply", "-f", "-"); err != nil {
		f.Fatalf("registering %s: %v\n%s", name, err, out)
	}
}

// deploy creates an Application for a cluster by its name, from the repository
// that all have.
func (f *fleet) deploy(name, cluster, namespace, path string) {
	f.Helper()
	f.deployFrom("shop", name, cluster, namespace, path)
}

func (f *fleet) deployFrom(repo, name, cluster, namespace, path string) {
	f.Helper()
	manifest := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {name: %q, namespace: %q}
  source: {repoURL: %q, path: %q, targetRevision: main, directory: {recurse: true}}
  syncPolicy: %s
`, name, f.control, cluster, namespace, f.git.URL(repo), path, automated)
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating application %s: %v\n%s", name, err, out)
	}
}

func (f *fleet) revision() string {
	f.Helper()
	r, err := f.git.Revision("shop", "main")
	f.must(err)
	return r
}

func isSynced(app *v1alpha1.Application) bool {
	return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && len(app.Status.Conditions) == 0
}

// heal edits an object and returns how long it took until it was as before.
func (g *goal) heal(namespace, name string) time.Duration {
	f := g.fixture
	f.Helper()
	objects := g.CoreV1().ConfigMaps(namespace)
	w, err := objects.Watch(f.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	g.must(err)
	defer w.Stop()
	start := time.Now()
	_, err = objects.Patch(f.Context(), name, "application/merge-patch+json", []byte(`{"data":{"colour":"red"}}`), metav1.PatchOptions{})
	g.must(err)
	edited := false
	late := time.After(patience)
	for {
		select {
		case ev := <-w.ResultChan():
			m, ok := ev.Object.(*corev1.ConfigMap)
			if !ok {
				f.Fatalf("the watch of %s ended", name)
			}
			edited = edited || m.Data["colour"] == "red"
			if edited && m.Data["colour"] != "red" {
				return time.Since(start)
			}
		case <-late:
			f.Fatalf("%s on %s was not healed", name, g.name)
		}
	}
}

// TestClusters deploys to three clusters beside the hub.
func TestClusters(t *testing.T) {
	f := newFleet(t)
	one, two, three := f.targets[0], f.targets[1], f.targets[2]
	pid := f.process.Process.Pid
	for i, g := range f.targets {
		f.deploy(fmt.Sprint("app-", i+1), g.name, deployNamespace, "shop")
	}
	f.application("home", "shop", "shop", automated)
	for _, name := range []string{"app-1", "app-2", "app-3", "home"} {
		f.await(name, "synced", synced(f.revision()))
	}
	for _, g := range f.targets {
		t.Logf("%s healed after %s", g.name, g.heal(deployNamespace, "settings").Round(time.Millisecond))
	}
	if out, errOut, code := f.towline("app", "diff", "app-2"); code != 0 {
		t.Errorf("app diff looks elsewhere (%d):\n%s%s", code, out, errOut)
	}
	t.Run("rotation", func(t *testing.T) { f.rotation(t, one) })
	t.Run("unknown", f.unknown)
	t.Run("asked", func(t *testing.T) { f.asked(t, three) })
	t.Run("namespaces", func(t *testing.T) { f.namespaces(t, three) })
	t.Run("deleted", func(t *testing.T) { f.deleted(t, two) })
	t.Run("sets", f.sets)
	t.Run("stopped", func(t *testing.T) { f.stopped(t, one, []*goal{two, three}) })
	if f.process.Process.Pid != pid || strings.Count(f.log.String(), "msg=ready") != 1 {
		t.Error("towline was restarted")
	}
}

// rotation takes the account's tokens away and gives a new one: what is known of
// the cluster stays, and the application goes on.
func (f *fleet) rotation(t *testing.T, g *goal) {
	watched := strings.Count(f.log.String(), "a cluster is watched")
	f.must(g.CoreV1().ServiceAccounts("kube-system").Delete(t.Context(), "towline", metav1.DeleteOptions{}))
	g.account("towline", rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"})
	f.register(g.name, g.Server(), g.config(g.token("towline")), nil)
	t.Logf("healed with the new token after %s", g.heal(deployNamespace, "settings").Round(time.Millisecond))
	f.await("app-1", "synced", isSynced)
	if n := strings.Count(f.log.String(), "a cluster is watched"); n != watched {
		t.Errorf("a new token made %d new watches of clusters", n-watched)
	}
}

// asked: the annotations of a cluster secret have it left alone, and read anew.
func (f *fleet) asked(t *testing.T, g *goal) {
	annotate := func(text string) {
		t.Helper()
		f.kubectl("-n", f.control, "annotate", "secret", "cluster-"+g.name, text, "--overwrite")
	}
	annotate(v1alpha1.AnnotationSkipReconcile + "=true")
	f.refresh("app-2")
	asked := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationRefresh + `":"normal"}}}`)
	_, err := g.CoreV1().ConfigMaps(deployNamespace).Patch(t.Context(), "settings", "application/merge-patch+json", []byte(`{"data":{"colour":"red"}}`), metav1.PatchOptions{})
	f.must(err)
	_, err = f.hub.PatchApplication(t.Context(), "app-3", asked)
	f.must(err)
	// What was asked later has been done meanwhile.
	f.refresh("app-2")
	app, err := f.hub.Application(t.Context(), "app-3")
	f.must(err)
	m, err := g.CoreV1().ConfigMaps(deployNamespace).Get(t.Context(), "settings", metav1.GetOptions{})
	f.must(err)
	if app.Annotations[v1alpha1.AnnotationRefresh] == "" || m.Data["colour"] != "red" || app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Errorf("the cluster is not left alone: %s, %v", describe(app), m.Data)
	}
	annotate(v1alpha1.AnnotationSkipReconcile + "-")
	g.awaitColour("settings", "blue")

	before := g.readings(t)
	annotate(v1alpha1.AnnotationRefresh + "=" + time.Now().Format(time.RFC3339))
	for late := time.Now().Add(patience); g.readings(t) == before; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the cluster is not read anew")
		}
	}
}

// readings counts how often towline read all config maps of a cluster.
func (g *goal) readings(t *testing.T) int {
	t.Helper()
	events, err := controlplane.ReadAudit(g.AuditLog())
	g.must(err)
	n := 0
	for _, e := range events {
		if e.Resource == "configmaps" && strings.Contains(e.URI, "sendInitialEvents=true") {
			n++
		}
	}
	return n
}

// unknown says which clusters there are.
func (f *fleet) unknown(t *testing.T) {
	f.deploy("lost", "nowhere", deployNamespace, "shop")
	app := f.await("lost", "told of its mistake", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) > 0 })
	if c := app.Status.Conditions[0]; c.Type != "InvalidSpecError" || !strings.Contains(c.Message, `"target-1" (`) || !strings.Contains(c.Message, `"in-cluster" (`) {
		t.Errorf("the condition is %+v", c)
	}
	f.kubectl("-n", f.control, "delete", "application", "lost")
}

// namespaces deploys by an account that has rights in one namespace only.
func (f *fleet) namespaces(t *testing.T, g *goal) {
	ctx := t.Context()
	g.namespace("tenant")
	_, err := g.CoreV1().ServiceAccounts("kube-system").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}, metav1.CreateOptions{})
	f.must(err)
	_, err = g.RbacV1().Roles("tenant").Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}, metav1.CreateOptions{})
	f.must(err)
	_, err = g.RbacV1().RoleBindings("tenant").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "tenant", Namespace: "kube-system"}},
	}, metav1.CreateOptions{})
	f.must(err)
	f.must(f.git.Create("tenant", map[string]string{
		"tenant/settings.yaml": settingsV1,
		"stray/settings.yaml":  strings.Replace(settingsV1, "settings", "stray", 1),
		"stray/other.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n",
		"stray/role.yaml":      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: stray}\nrules: []\n",
	}))
	// The same server by its other name is another entry.
	server := strings.Replace(g.Server(), "127.0.0.1", "localhost", 1)
	f.register("tenant", server, g.config(g.token("tenant")), map[string]string{"namespaces": "tenant"})
	f.deployFrom("tenant", "tenant", "tenant", "tenant", "tenant")
	f.await("tenant", "synced", func(app *v1alpha1.Application) bool { return isSynced(app) && app.Status.OperationState != nil })
	t.Logf("healed after %s", g.heal("tenant", "settings").Round(time.Millisecond))

	f.deployFrom("tenant", "stray", "tenant", "tenant", "stray")
	app := f.await("stray", "told of what is left out", func(app *v1alpha1.Application) bool {
		return app.Status.OperationState != nil && app.Status.OperationState.Phase.Completed() && len(app.Status.Conditions) > 0
	})
	text := fmt.Sprint(app.Status.Conditions)
	if !strings.Contains(text, `ConfigMap default/other is left out: namespace "default" is not among those`) ||
		!strings.Contains(text, "ClusterRole.rbac.authorization.k8s.io stray is left out: only some namespaces") {
		t.Errorf("the conditions are %s", describe(app))
	}
	f.kubectl("-n", f.control, "delete", "application", "stray", "tenant")
}

// deleted takes a cluster's entry away and puts it back: nothing is deleted.
func (f *fleet) deleted(t *testing.T, g *goal) {
	entry := f.kubectl("-n", f.control, "get", "secret", "cluster-"+g.name, "-o", "json")
	before, err := g.CoreV1().ConfigMaps(deployNamespace).Get(t.Context(), "settings", metav1.GetOptions{})
	f.must(err)
	f.kubectl("-n", f.control, "delete", "secret", "cluster-"+g.name)
	app := f.await("app-2", "unknown", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusCodeUnknown })
	if c := app.Status.Conditions; len(c) != 1 || !strings.Contains(c[0].Message, `cluster "`+g.name+`" is not known`) {
		t.Errorf("the conditions are %+v", c)
	}
	f.refresh("app-2")
	var secret map[string]any
	f.must(json.Unmarshal([]byte(entry), &secret))
	meta, _ := secret["metadata"].(map[string]any)
	delete(meta, "resourceVersion")
	delete(meta, "uid")
	raw, err := json.Marshal(secret)
	f.must(err)
	if out, err := f.kubectlTry(string(raw), "create", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.await("app-2", "synced again", isSynced)
	after, err := g.CoreV1().ConfigMaps(deployNamespace).Get(t.Context(), "settings", metav1.GetOptions{})
	f.must(err)
	if before.UID != after.UID || before.ResourceVersion != after.ResourceVersion {
		t.Error("the object was written though nothing changed")
	}
	events, err := controlplane.ReadAudit(g.AuditLog())
	f.must(err)
	for _, e := range events {
		if strings.HasSuffix(e.User, ":towline") && strings.HasPrefix(e.Verb, "delete") {
			t.Errorf("%s %s/%s was deleted", e.Resource, e.Namespace, e.Name)
		}
	}
	g.heal(deployNamespace, "settings")
}

// crowd is how many applications a cluster has that stops: more than there are
// workers. pool is how many the others have for each measurement: the first heal
// of an application waits for nothing.
const (
	crowd = 15
	pool  = 4
)

// manifests are files of one object each, in folders 0 to n.
func manifests(name, like string, n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("%d/settings.yaml", i)] = strings.Replace(like, "settings", fmt.Sprintf("%s-%d", name, i), 1)
	}
	return out
}

// settle deploys a repository of that many folders to a cluster.
func (f *fleet) settle(g *goal, repo string, n int) {
	f.Helper()
	for i := range n {
		f.deployFrom(repo, fmt.Sprintf("%s-%s-%d", repo, g.name, i), g.name, deployNamespace, fmt.Sprint(i))
	}
	for i := range n {
		f.await(fmt.Sprintf("%s-%s-%d", repo, g.name, i), "synced", isSynced)
	}
}

// pace is how long heals take, all of them one after the other, and syncs, all at
// once. One heal that is held up shows in the first. The second is the better of
// two, for machines are noisy.
type pace struct{ heal, sync time.Duration }

// rounds is how often each is measured.
const rounds = 2

func (f *fleet) measure(when string, on []*goal) pace {
	f.Helper()
	var all pace
	for i := range rounds {
		p := f.round(fmt.Sprint(when, i), on)
		all.heal += p.heal
		if all.sync == 0 || p.sync < all.sync {
			all.sync = p.sync
		}
	}
	return all
}

// round heals each object of a pool, and then has all of them synced to a new
// commit.
func (f *fleet) round(repo string, on []*goal) pace {
	f.Helper()
	var heals time.Duration
	for i := range pool {
		for _, g := range on {
			heals += g.heal(deployNamespace, fmt.Sprintf("%s-%d", repo, i))
		}
	}
	files := map[string]*string{}
	for name, content := range manifests(repo, settingsV2, pool) {
		files[name] = &content
	}
	_, err := f.git.Commit(repo, "main", "green", files)
	f.must(err)
	start := time.Now()
	_, err = f.hub.PatchApplication(f.Context(), fmt.Sprintf("%s-%s-0", repo, on[0].name),
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationRefresh+`":"normal"}}}`))
	f.must(err)
	for _, g := range on {
		for i := range pool {
			g.awaitColour(fmt.Sprintf("%s-%d", repo, i), "green")
		}
	}
	return pace{heals, time.Since(start)}
}

// awaitColour watches an object until it has a colour.
func (g *goal) awaitColour(name, colour string) {
	f := g.fixture
	f.Helper()
	w, err := g.CoreV1().ConfigMaps(deployNamespace).Watch(f.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	g.must(err)
	defer w.Stop()
	late := time.After(patience)
	for {
		select {
		case ev := <-w.ResultChan():
			if m, ok := ev.Object.(*corev1.ConfigMap); ok && m.Data["colour"] == colour {
				return
			}
		case <-late:
			f.Fatalf("%s on %s did not become %s", name, g.name, colour)
		}
	}
}

// stopped stops the API server of one cluster while all of its applications have
// something to do. The others are healed and synced as fast as before.
func (f *fleet) stopped(t *testing.T, dead *goal, others []*goal) {
	for _, when := range []string{"before", "during", "after"} {
		for i := range rounds {
			repo := fmt.Sprint(when, i)
			f.must(f.git.Create(repo, manifests(repo, settingsV1, pool)))
			for _, g := range others {
				f.settle(g, repo, pool)
			}
		}
	}
	f.must(f.git.Create("crowd", manifests("crowd", settingsV1, crowd)))
	f.settle(dead, "crowd", crowd)
	name := func(i int) string { return fmt.Sprintf("crowd-%s-%d", dead.name, i) }
	before := f.measure("before", others)

	work := map[string]*string{}
	for name, content := range manifests("crowd", settingsV2, crowd) {
		work[name] = &content
	}
	_, err := f.git.Commit("crowd", "main", "work for the crowd", work)
	f.must(err)
	f.must(dead.Signal(controlplane.APIServer, syscall.SIGSTOP))
	awake := sync.OnceFunc(func() { f.must(dead.Signal(controlplane.APIServer, syscall.SIGCONT)) })
	defer awake()
	stopped := time.Now()
	for i := range crowd {
		_, err := f.hub.PatchApplication(t.Context(), name(i), []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationRefresh+`":"normal"}}}`))
		f.must(err)
	}
	f.compare(t, "while it is not known", before, f.measure("during", others))
	t.Logf("that took until %s after the stop", time.Since(stopped).Round(time.Millisecond))
	unknown := func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeUnknown && len(app.Status.Conditions) > 0 &&
			strings.Contains(app.Status.Conditions[0].Message, `cluster "`+dead.name+`" (`+dead.Server()+`) cannot be reached: `)
	}
	app := f.await(name(0), "unknown", unknown)
	t.Logf("known after %s: %s", time.Since(stopped).Round(time.Millisecond), app.Status.Conditions[0].Message)
	for i := range crowd {
		f.await(name(i), "unknown", unknown)
	}
	if out, _, _ := f.towline("app", "get", name(0)); !strings.Contains(out, "last seen ") || !strings.Contains(out, " ago)") {
		t.Errorf("app get does not say how old it is:\n%s", out)
	}
	f.compare(t, "while it is known", before, f.measure("after", others))
	awake()
	resumed := time.Now()
	for i := range crowd {
		f.await(name(i), "synced again", isSynced)
		dead.awaitColour(fmt.Sprint("crowd-", i), "green")
	}
	t.Logf("all of its applications were synced %s after it went on", time.Since(resumed).Round(time.Millisecond))
}

func (f *fleet) compare(t *testing.T, when string, before, now pace) {
	t.Helper()
	heal, sync := float64(now.heal)/float64(before.heal), float64(now.sync)/float64(before.sync)
	t.Logf("%s: heals %s instead of %s (ratio %.2f), sync %s instead of %s (ratio %.2f)",
		when, now.heal, before.heal, heal, now.sync, before.sync, sync)
	// Who waits for the cluster that is silent waits for seconds, several times as long as all of this takes. The tests
	// beside this one, which come and go, make a half more or less of it.
	if heal > 2.5 || sync > 2.5 {
		t.Errorf("%s the others are slower", when)
	}
}
