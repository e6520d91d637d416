package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBackup: what an installation keeps is written down, everything is lost, and comes back as it was, on the real API
// server; what a text does not have goes only where that was asked for, and takes nothing along.
func TestBackup(t *testing.T) {
	f := setup(t)
	dir := t.TempDir()
	towline := func(code int, args ...string) (string, string) {
		t.Helper()
		return f.typed(code, nil, append([]string{"admin"}, append(args, "--kubeconfig", f.kubeconfig, "-n", f.control)...)...)
	}
	exported := func(name string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		_, errOut := towline(0, "export", "-o", file)
		f.wants(errOut, "there are logins among them")
		info, err := os.Stat(file)
		f.must(err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("others may read the export: %v", mode)
		}
		text, err := os.ReadFile(file)
		f.must(err)
		return string(text)
	}
	f.kept()
	// A child of the set, which the server takes down with its owner unless somebody prevents it.
	uid := f.kubectl("-n", f.control, "get", "applicationset", "shops", "-o", "jsonpath={.metadata.uid}")
	f.kubectl("-n", f.control, "patch", "application", "till", "--type=merge", "-p", fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"shops","uid":%q}]}}`, uid))

	before := exported("before.yaml")
	f.wants(before, "name: shop\n", "name: till\n", "name: shops\n", "name: retail\n", "name: argocd-secret", "name: repo-shop", "name: cluster-prod",
		"jwtTokensByRole", "id: 7")
	for _, never := range []string{"uid:", "resourceVersion:", "managedFields:", "ownerReferences:", "theirs"} {
		if strings.Contains(before, never) {
			t.Errorf("the export has %s", never)
		}
	}
	// A machine that is lost takes everything with it.
	f.kubectl("-n", f.control, "patch", "application", "shop", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	f.kubectl("-n", f.control, "delete", "application,applicationset,appproject", "--all", "--cascade=orphan")
	f.kubectl("-n", f.control, "delete", "secret", "argocd-secret", "repo-shop", "cluster-prod")
	f.kubectl("-n", f.control, "delete", "configmap", "argocd-cm")

	file := filepath.Join(dir, "before.yaml")
	out, _ := towline(0, "import", "--dry-run", file)
	f.wants(out, "argoproj.io/Application shop in namespace "+f.control+" created (dry run)")
	if left := f.kubectl("-n", f.control, "get", "application", "-o", "name"); left != "" {
		t.Errorf("a dry run made %s", left)
	}
	out, errOut := towline(0, "import", file)
	f.wants(out, "/Secret argocd-secret in namespace "+f.control+" created")
	f.wants(errOut, "0 updated, 0 pruned")
	if d := cmp.Diff(before, exported("after.yaml")); d != "" {
		t.Errorf("it is another installation (-before +after):\n%s", d)
	}
	_, errOut = towline(0, "import", "--prune", file)
	f.wants(errOut, "0 created, 0 updated, 0 pruned")

	f.pruned(towline, before, dir)
}

// kept makes one of each kind that an installation keeps.
func (f *fixture) kept() {
	f.Helper()
	text := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: retail, namespace: %[1]s}
spec: {sourceRepos: ["*"], roles: [{name: ci, policies: ["p, proj:retail:ci, applications, sync, retail/*, allow"]}]}
status: {jwtTokensByRole: {ci: {items: [{iat: 5, id: one}]}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: %[1]s, finalizers: [resources-finalizer.argocd.argoproj.io], labels: {team: shop}}
spec:
  project: retail
  source: {repoURL: "https://git.example.com/shop.git", path: deploy}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
status:
  history: [{id: 7, revision: abc, deployedAt: "2026-03-14T09:00:00Z", source: {repoURL: "https://git.example.com/shop.git"}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: till, namespace: %[1]s}
spec:
  project: retail
  source: {repoURL: "https://git.example.com/shop.git", path: till}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shops, namespace: %[1]s}
spec:
  generators: [{list: {elements: []}}]
  template: {metadata: {name: "{{name}}"}, spec: {project: retail, source: {repoURL: "https://x"}, destination: {}}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: %[1]s}
stringData: {server.secretkey: hush}
---
apiVersion: v1
kind: Secret
metadata: {name: repo-shop, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {url: "https://git.example.com/shop.git", password: hush}
---
apiVersion: v1
kind: Secret
metadata: {name: cluster-prod, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: cluster}}
stringData: {server: "https://prod", name: prod, config: "{}"}
---
apiVersion: v1
kind: Secret
metadata: {name: theirs, namespace: %[1]s}
stringData: {password: hush}
`, f.control)
	_, err := f.kubectlTry(text, "create", "-f", "-")
	f.must(err)
}

// pruned imports texts that lack something.
func (f *fixture) pruned(towline func(code int, args ...string) (string, string), whole, dir string) {
	f.Helper()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		f.must(os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	_, errOut := towline(20, "import", "--prune", write("empty.yaml", "# nothing\n"))
	f.wants(errOut, "there is no object in it")

	// Without the set, and with none at all in the text: that is no reason to delete all of them.
	var rest []string
	for doc := range strings.SplitSeq(whole, "---\n") {
		if !strings.Contains(doc, "kind: ApplicationSet\n") {
			rest = append(rest, doc)
		}
	}
	less := strings.Join(rest, "---\n")
	_, errOut = towline(20, "import", "--prune", write("less.yaml", less))
	f.wants(errOut, "the text has no ApplicationSet at all, and there are 1")

	// With another set in its place it goes, and so does an application that the text lacks; what they made stays.
	less = strings.ReplaceAll(less, "  name: shop\n", "  name: market\n")
	less += "---\n" + strings.ReplaceAll(docOf(whole, "kind: ApplicationSet\n"), "name: shops", "name: markets")
	uid := f.kubectl("-n", f.control, "get", "applicationset", "shops", "-o", "jsonpath={.metadata.uid}")
	f.kubectl("-n", f.control, "patch", "application", "till", "--type=merge", "-p", fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"shops","uid":%q}]}}`, uid))
	out, errOut := towline(0, "import", "--prune", write("other.yaml", less))
	f.wants(out, "Application shop in namespace "+f.control+" pruned", "ApplicationSet shops in namespace "+f.control+" pruned")
	f.wants(errOut, "2 pruned")
	f.kubectl("-n", f.control, "wait", "--for=delete", "--timeout=60s", "applicationset/shops", "application/shop")
	// The owner is gone, and nobody has taken its application for rubbish.
	f.kubectl("-n", f.control, "wait", "--for=jsonpath={.metadata.name}=till", "--timeout=60s", "application/till")
	if owners := f.kubectl("-n", f.control, "get", "application", "till", "-o", "jsonpath={.metadata.ownerReferences}"); owners != "" {
		f.Errorf("till has owners: %s", owners)
	}
	f.kubectl("-n", f.control, "get", "secret", "argocd-secret", "theirs")
}

// docOf is the first document of a text with something in it.
func docOf(text, part string) string {
	for doc := range strings.SplitSeq(text, "---\n") {
		if strings.Contains(doc, part) {
			return doc
		}
	}
	return ""
}
