package e2e_test

import (
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

// setIn makes an ApplicationSet in a namespace, with applications of a project.
func (f *fixture) setIn(namespace, name, project, generators string) {
	f.Helper()
	manifest := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: %s}
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
  %s
  template:
    metadata: {name: '{{ .number }}'}
    spec:
      project: %s
      destination: {server: "https://kubernetes.default.svc", namespace: %s}
      source: {repoURL: %q, path: '%s/{{ .number }}', targetRevision: main}
      syncPolicy: %s
`, name, namespace, generators, project, f.dest, f.git.URL("home"), namespace, automated)
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating an ApplicationSet in %s: %v\n%s", namespace, err, out)
	}
}

func numbered(names ...string) string {
	out := "- list: {elements: ["
	for _, name := range names {
		out += "{number: " + name + "}, "
	}
	return strings.TrimSuffix(out, ", ") + "]}"
}

// TestSetsInAnyNamespace: sets of other namespaces make their applications where
// they live, if the installation and the project allow it, and ask only the
// forges that it names.
func TestSetsInAnyNamespace(t *testing.T) {
	f := setup(t)
	f.quick()
	team, lonely, far := f.control+"-team", f.control+"-lonely", f.control+"-far"
	for _, namespace := range []string{team, lonely, far} {
		f.kubectl("create", "namespace", namespace)
	}
	params := map[string]string{v1alpha1.KeyParamApplicationNamespaces: team, v1alpha1.KeyParamAppSetNamespaces: team + "*, " + lonely}
	f.params(params)
	files := map[string]string{}
	for namespace, prefix := range map[string]string{f.control: "hub-", team: "team-"} {
		for _, name := range []string{"one", "two"} {
			files[namespace+"/"+name+"/it.yaml"] = configMapFile(prefix + name)
		}
	}
	f.must(f.git.Create("home", files))
	if out, err := f.kubectlTry(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: %s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: %s}]
  sourceNamespaces: [%s, %s]
`, f.control, f.dest, team, lonely), "apply", "-f", "-"); err != nil {
		t.Fatalf("creating the project: %v\n%s", err, out)
	}
	f.start()
	there := f.appsOf(team)
	// Two of one name are two, and so are their applications.
	f.setIn(f.control, "apps", "team", numbered("one", "two"))
	f.setIn(team, "apps", "team", numbered("one", "two"))
	f.setIn(team, "stranger", "default", numbered("three"))
	f.setIn(lonely, "apps", "team", numbered("one"))
	f.setIn(far, "apps", "team", numbered("one"))
	f.awaitGenerated("one", "two")
	there.awaitGenerated("one", "two")
	for _, at := range []*fixture{f, there} {
		at.await("one", "synced", settled)
		at.awaitCondition("apps", v1alpha1.ApplicationSetConditionResourcesUpToDate, v1alpha1.ApplicationSetConditionStatusTrue, "2 Applications")
	}
	const failed, yes = v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionStatusTrue
	there.awaitCondition("stranger", failed, yes, `may not belong to project "default"`)
	f.appsOf(lonely).awaitCondition("apps", failed, yes, "application.namespaces")

	// What a person does to an application does not last; an element that goes takes its own along.
	f.kubectl("-n", team, "patch", "application", "two", "--type=merge", "-p", `{"spec":{"source":{"path":"elsewhere"}}}`)
	there.await("two", "as generated", func(app *v1alpha1.Application) bool { return app.Spec.Source.Path == team+"/two" })
	f.setIn(team, "apps", "team", numbered("one"))
	there.awaitGenerated("one")
	f.kubectl("-n", team, "delete", "applicationset", "apps", "--wait=false")
	there.awaitGenerated()
	f.awaitObject(configMaps, "team-one", absent)
	f.awaitGenerated("one", "two")

	t.Run("forges", func(t *testing.T) { f.tenantForge(t, there, team, params) })
	left, err := f.appsOf(far).hub.ApplicationSet(t.Context(), "apps")
	f.must(err)
	list, err := f.appsOf(far).hub.Applications(t.Context(), metav1.ListOptions{})
	f.must(err)
	if len(left.Status.Conditions) > 0 || len(list.Items) > 0 {
		t.Errorf("a set that nobody looks for has %d applications, and says %v", len(list.Items), left.Status.Conditions)
	}
}

// tenantForge: a token of a team goes only where the installation lets it.
func (f *fixture) tenantForge(t *testing.T, there *fixture, team string, params map[string]string) {
	at := forgetest.NewTLS(forgetest.Gitea)
	t.Cleanup(at.Close)
	at.Token, at.Repos = forgeToken, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: []forgetest.Pull{pull(7)}}}
	f.kubectl("-n", team, "create", "secret", "generic", "login", "--from-literal=token="+forgeToken)
	f.setIn(team, "previews", "team", asking(at, "pulls"))
	there.awaitCondition("previews", v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionStatusTrue,
		v1alpha1.KeyParamAppSetAllowedSCMProviders)
	if n := len(at.Asked()); n > 0 {
		t.Errorf("the forge was asked %d times", n)
	}
	f.stop()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: at.Certificate().Raw})
	params[v1alpha1.KeyParamAppSetRootCAPath] = filepath.Join(f.folder(map[string]string{"ca.pem": string(authority)}), "ca.pem")
	params[v1alpha1.KeyParamAppSetAllowedSCMProviders] = at.URL
	f.params(params)
	f.start()
	there.awaitGenerated("7")
}
