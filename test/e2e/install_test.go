package e2e_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
)

// An installation is applied as people apply it, and towline runs with the token of its account, which may do what the
// installation says and nothing else. Nodes here run no containers, so the process runs beside its pod.

// corner are the words of manifests that are others in this test's corner of the cluster: its namespaces, and the names of
// what is for the whole cluster.
func (f *fixture) corner() []string {
	return []string{
		"namespace: argocd\n", "namespace: " + f.control + "\n", "namespace: argocd}", "namespace: " + f.control + "}",
		"namespaces: argocd\n", "namespaces: " + f.control + "\n", "name: argocd\n", "name: " + f.control + "\n",
		"private-ai-demo", f.dest, "namespace: workspaces}", "namespace: " + f.dest + "}",
		"kind: ClusterRole, name: towline", "kind: ClusterRole, name: towline-" + f.control,
		"kind: ClusterRole\nmetadata:\n  name: towline", "kind: ClusterRole\nmetadata:\n  name: towline-" + f.control,
		"kind: ClusterRoleBinding\nmetadata:\n  name: towline", "kind: ClusterRoleBinding\nmetadata:\n  name: towline-" + f.control,
		// The CRDs are there, and one record of who applied them is enough.
		"- ../../crd\n", "",
	}
}

// manifests copies config/ for this test's corner.
func (f *fixture) manifests() string {
	f.Helper()
	words := strings.NewReplacer(f.corner()...)
	dir, from := f.TempDir(), filepath.Join(workshop.Root(), "config")
	for _, part := range []string{"crd", "install"} {
		f.must(filepath.WalkDir(filepath.Join(from, part), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(rel)), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, words.Replace(rel)), []byte(words.Replace(string(data))), 0o600)
		}))
	}
	return filepath.Join(dir, "install")
}

// installed applies an installation, and has towline run as its account from then on.
func (f *fixture) installed(dir, mode string) {
	f.Helper()
	f.Cleanup(func() {
		// What is for the whole cluster outlives the test's namespaces.
		for _, name := range []string{"", "-reader", "-writer"} {
			_, _ = installWith(f.plane, []string{"delete", "clusterrole,clusterrolebinding", "towline-" + f.control + name, "--ignore-not-found"})
		}
	})
	out := f.kubectl("apply", "-k", filepath.Join(dir, mode))
	if strings.Contains(out, "would violate") {
		f.Errorf("the pods are not of the restricted kind:\n%s", out)
	}
	for line := range strings.Lines(f.kubectl("apply", "-k", filepath.Join(dir, mode))) {
		// kubectl cannot tell whether what it writes as text is the same as before.
		if strings.Contains(line, " configured") && !strings.HasPrefix(line, "secret/in-cluster ") {
			f.Errorf("a second apply changes something: %s", line)
		}
	}
	f.kubectl("-n", f.control, "rollout", "status", "deployment/towline", "--timeout=90s")
	f.user = "system:serviceaccount:" + f.control + ":towline"
	f.trail = controlplane.NewTrail(f.plane.AuditLog(), f.user)
	f.kubeconfig = f.account("towline")
}

// account writes a kubeconfig with a token of an account of the control namespace.
func (f *fixture) account(name string) string {
	f.Helper()
	token := strings.TrimSpace(f.kubectl("-n", f.control, "create", "token", name))
	path := filepath.Join(f.TempDir(), "kubeconfig")
	f.must(os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: pod
clusters: [{name: pod, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: pod, user: {token: %q}}]
contexts: [{name: pod, context: {cluster: pod, user: pod}}]
`, f.plane.Server(), f.plane.CACert(), token), 0o600))
	return path
}

// refused are the requests of the account that the server refused because it may not, without those that were to be.
func (f *fixture) refused(expected func(controlplane.Event) bool) {
	f.Helper()
	all, err := f.trail.Events()
	f.must(err)
	if len(all) == 0 {
		f.Error("the account asked for nothing: was towline somebody else?")
	}
	for _, e := range all {
		if e.User == f.user && e.Code == http.StatusForbidden && !expected(e) {
			f.Errorf("the installation may not %s %s.%s/%s %s in namespace %q", e.Verb, e.Resource, e.Group, e.Subresource, e.Name, e.Namespace)
		}
	}
}

// TestInstall walks the way of a new user: apply, read the password, forward a port, sign in, deploy. Not one request is
// refused on the way, so the account has all that it needs.
func TestInstall(t *testing.T) {
	f := setup(t)
	dir := f.manifests()
	f.installed(dir, "cluster")
	f.kubectl("apply", "-k", filepath.Join(dir, "ha"), "--dry-run=server")
	f.start("--listen", forwarded, "--peer-listen", "127.0.0.1:0")

	f.must(f.git.Create("shop", map[string]string{
		"shop/settings.yaml": settingsV1,
		"shop/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + f.dest + "}\n" +
			"rules: [{nonResourceURLs: [/metrics], verbs: [get]}, {apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n",
		"set/settings.yaml": settingsV1,
	}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("shop", "shop", "shop", automated)
	f.await("shop", "synced", synced(revision))
	f.used("shop", f.dest+"-new", f.visitor("https://"+f.forward()))
	if _, err := f.kubectlTry("", "get", "clusterrole", f.dest); err == nil {
		t.Error("the role of the application is still there")
	}
	f.refused(func(controlplane.Event) bool { return false })
}

// used does with an installation what writes something in its own namespace: an ApplicationSet, whose application goes to a
// namespace, and what the API is asked for by people. The application of the given name is deleted at the end.
func (f *fixture) used(app, namespace string, visit visitor) {
	f.Helper()
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	options := "[]"
	if namespace != f.dest {
		options = "[CreateNamespace=true]"
	}
	set := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shops, namespace: %s}
spec:
  generators: [{list: {elements: [{name: one}]}}]
  template:
    metadata: {name: "set-{{name}}"}
    spec:
      project: default
      source: {repoURL: %q, path: set, targetRevision: main}
      destination: {server: "https://kubernetes.default.svc", namespace: %q}
      syncPolicy: {automated: {}, syncOptions: %s}
`, f.control, f.git.URL("shop"), namespace, options)
	if out, err := f.kubectlTry(set, "apply", "-f", "-"); err != nil {
		f.Fatal(out, err)
	}
	f.await("set-one", "synced", synced(revision))

	var session struct{ Token string }
	login := fmt.Sprintf(`{"username":"admin","password":%q}`, f.firstPassword())
	f.must(json.Unmarshal([]byte(visit("", http.MethodPost, "/api/v1/session", login)), &session))
	ask := func(method, path, body string) string {
		f.Helper()
		return visit(session.Token, method, path, body)
	}
	f.wants(ask(http.MethodGet, "/api/v1/applications/"+app+"/resource-tree", ""), f.dest)
	ask(http.MethodGet, "/api/v1/applications/"+app+"/events", "")
	ask(http.MethodPost, "/api/v1/repositories", fmt.Sprintf(`{"repo":%q}`, f.git.URL("shop")))
	ask(http.MethodPost, "/api/v1/certificates?upsert=true", fmt.Sprintf(
		`{"items":[{"serverName":"git.example.com","certType":"ssh","certSubType":"ssh-ed25519","certData":%q}]}`,
		base64.StdEncoding.EncodeToString([]byte("AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"))))
	ask(http.MethodPost, "/api/v1/projects", `{"project":{"metadata":{"name":"retail"},"spec":{"sourceRepos":["*"]}}}`)
	ask(http.MethodDelete, "/api/v1/projects/retail", "")
	ask(http.MethodPost, "/api/v1/applications/"+app+"/sync", `{}`)
	f.await(app, "synced again", synced(revision))
	ask(http.MethodDelete, "/api/v1/applications/"+app+"?cascade=true", "")
	f.kubectl("-n", f.control, "wait", "--for=delete", "application/"+app, "--timeout=60s")
	ask(http.MethodDelete, "/api/v1/session", "")
	f.kubectl("-n", f.control, "delete", "applicationset", "shops")
	f.kubectl("-n", f.control, "wait", "--for=delete", "applicationset/shops", "--timeout=60s")
}

// firstPassword is read the way that people have in their notes.
func (f *fixture) firstPassword() string {
	f.Helper()
	f.kubectl("-n", f.control, "wait", "--for=jsonpath={.data.password}", "--timeout=60s", "secret/"+v1alpha1.SecretInitialAdmin)
	text := f.kubectl("-n", f.control, "get", "secret", v1alpha1.SecretInitialAdmin, "-o", "jsonpath={.data.password}")
	password, err := base64.StdEncoding.DecodeString(text)
	f.must(err)
	return string(password)
}

var ofForwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

// forward has kubectl forward a port to the Service, and says which.
func (f *fixture) forward() string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), f.plane.Kubectl(), "--kubeconfig", f.plane.Kubeconfig(), "port-forward", "svc/argocd-server", "-n", f.control, ":443")
	log, said := &lockedBuffer{}, make(chan struct{})
	log.notify("Forwarding from", said)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, workshop.Bound()
	f.must(cmd.Start())
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-said:
	case <-time.After(patience):
		f.Fatalf("kubectl does not forward: %s", log)
	}
	at := ofForwarding.FindStringSubmatch(log.String())
	if at == nil {
		f.Fatalf("kubectl does not say where it forwards from: %s", log)
	}
	return at[1]
}

// visitor asks a server for something that is to be answered.
type visitor func(token, method, path, body string) string

func (f *fixture) visitor(base string) visitor {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		//nolint:gosec // the certificate is of our own making, as after every installation
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	return func(token, method, path, body string) string {
		f.Helper()
		r, err := http.NewRequestWithContext(f.Context(), method, base+path, strings.NewReader(body))
		f.must(err)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		if err != nil {
			f.Fatalf("%s %s: %v", method, path, err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		f.must(err)
		if answer.StatusCode != http.StatusOK {
			f.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
		}
		return string(text)
	}
}

// TestInstallWritesOnlyWhereNamed: an installation that reads everything and writes in one namespace. There it syncs; an
// application that goes elsewhere is refused, and told where and why; nothing else is touched.
func TestInstallWritesOnlyWhereNamed(t *testing.T) {
	f := setup(t)
	elsewhere := f.dest + "-else"
	f.kubectl("create", "namespace", elsewhere)
	f.installed(f.manifests(), "write-named")
	f.start("--listen", "127.0.0.1:0", "--insecure", "--peer-listen", "127.0.0.1:0")
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "set/settings.yaml": strings.ReplaceAll(settingsV1, "name: settings", "name: others")}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.application("here", "shop", "shop", automated)
	here := f.await("here", "synced", synced(revision))
	f.kubectl("-n", f.dest, "delete", "configmap", here.Status.Resources[0].Name)
	f.kubectl("-n", f.dest, "wait", "--for=create", "configmap/"+here.Status.Resources[0].Name, "--timeout=60s")

	at := ofPeople.FindStringSubmatch(f.log.String())
	if at == nil {
		t.Fatal("towline does not say where it serves")
	}
	// All that an installation needs in its own namespace is given by name there, so that what is missing is refused.
	f.used("here", f.dest, f.visitor("http://"+at[1]))

	dest := f.dest
	f.dest = elsewhere
	f.application("there", "shop", "shop", automated)
	f.dest = dest
	there := f.await("there", "refused", func(app *v1alpha1.Application) bool {
		return strings.Contains(describe(app), "forbidden")
	})
	told := describe(there)
	f.wants(told, elsewhere, "configmaps", f.user)
	if there.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced {
		t.Errorf("it says that it is synced: %s", told)
	}
	if text := f.kubectl("-n", elsewhere, "get", "configmap", "settings", "--ignore-not-found"); text != "" {
		t.Errorf("it was written: %s", text)
	}
	f.refused(func(e controlplane.Event) bool { return e.Namespace == elsewhere && e.Verb == "patch" })
	all, err := f.trail.Events()
	f.must(err)
	for _, e := range all {
		if e.User == f.user && e.Writes() && !e.DryRun && e.Code < 300 && !slices.Contains([]string{f.control, f.dest}, e.Namespace) {
			t.Errorf("it wrote %s %s/%s", e.Resource, e.Namespace, e.Name)
		}
	}
}

// TestInstallOfANamespace: an installation without a right outside of its own namespace deploys into that one.
func TestInstallOfANamespace(t *testing.T) {
	f := setup(t)
	f.installed(f.manifests(), "namespace")
	f.start()
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	dest := f.dest
	f.dest = f.control
	f.application("own", "shop", "shop", automated)
	f.dest = dest
	f.await("own", "synced", synced(revision))
	// Which cluster it is it would know by the uid of a namespace; without that it is known by its address.
	f.refused(func(e controlplane.Event) bool {
		return e.Resource == "namespaces" && e.Verb == "get" && e.Name == "kube-system"
	})
}

// portForwards has kwok forward the port of the API, of any pod, to where the one test serves that asks for it.
func portForwards(dir string) (file, address string, err error) {
	port, err := workshop.Port(context.Background())
	if err != nil {
		return "", "", err
	}
	address = "127.0.0.1:" + port
	file = filepath.Join(dir, "forwards.yaml")
	return file, address, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata: {name: api}
spec:
  forwards:
  - {ports: [8080], target: {address: 127.0.0.1, port: %s}}
`, port), 0o600)
}
