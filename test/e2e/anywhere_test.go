package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/hub"
)

// params replaces the data of argocd-cmd-params-cm.
func (f *fixture) params(data map[string]string) {
	f.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": v1alpha1.ConfigMapCmdParams, "namespace": f.control}, "data": data,
	})
	f.must(err)
	if out, err := f.kubectlTry(string(body), "apply", "-f", "-"); err != nil {
		f.Fatalf("writing the parameters: %v\n%s", err, out)
	}
}

// appsOf is the same fixture for the applications of another namespace.
func (f *fixture) appsOf(namespace string) *fixture {
	f.Helper()
	config, err := f.plane.RESTConfig()
	f.must(err)
	out := *f
	out.process = nil
	out.hub, err = hub.New(config, namespace)
	f.must(err)
	return &out
}

// TestApplicationsInAnyNamespace: applications of other namespaces are synced
// where the installation and their project allow it, under names of their own.
func TestApplicationsInAnyNamespace(t *testing.T) {
	f := setup(t)
	team, other, ignored := f.control+"-team", f.control+"-team-b", f.control+"-far"
	for _, namespace := range []string{team, other, ignored} {
		f.kubectl("create", "namespace", namespace)
	}
	f.params(map[string]string{v1alpha1.KeyParamApplicationNamespaces: team + ", /^" + team + "-[a-z]$/"})
	f.must(f.git.Create("shop", map[string]string{"here.yaml": settingsV1, "there.yaml": strings.Replace(settingsV1, "name: settings", "name: there", 1)}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	project := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: %s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: %s}]
  sourceNamespaces: [%s]
`, f.control, f.dest, team)
	if out, err := f.kubectlTry(project, "apply", "-f", "-"); err != nil {
		t.Fatalf("creating the project: %v\n%s", err, out)
	}
	create := func(namespace, include string) {
		app := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: anywhere, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: team
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  source: {repoURL: %q, path: ., targetRevision: main, directory: {include: %s}}
  syncPolicy: %s
`, namespace, f.dest, f.git.URL("shop"), include, automated)
		if out, err := f.kubectlTry(app, "apply", "-f", "-"); err != nil {
			t.Fatalf("creating an application in %s: %v\n%s", namespace, err, out)
		}
	}
	f.start()
	// Two of one name are two.
	create(f.control, "here.yaml")
	create(team, "there.yaml")
	create(other, "there.yaml")
	create(ignored, "there.yaml")
	f.await("anywhere", "synced", synced(revision))
	there := f.appsOf(team)
	there.await("anywhere", "synced", synced(revision))
	if got, want := f.object(configMaps, "there").GetAnnotations()[v1alpha1.AnnotationTrackingID], team+"_anywhere:/ConfigMap:"+f.dest+"/there"; got != want {
		t.Errorf("its mark is %q, want %q", got, want)
	}

	t.Run("drift of both is seen", func(t *testing.T) {
		for _, name := range []string{"there", "settings"} {
			f.edit(configMaps, name, `{"data":{"colour":"red"}}`)
			f.awaitObject(configMaps, name, colour("blue"))
		}
	})
	t.Run("a project that does not permit the namespace", func(t *testing.T) {
		refused := f.appsOf(other).await("anywhere", "refused", func(app *v1alpha1.Application) bool {
			return tells(app, `applications of namespace "`+other+`" may not belong to project "team"`)
		})
		if refused.Status.OperationState != nil {
			t.Errorf("it was synced: %s", describe(refused))
		}
	})
	t.Run("a namespace that nobody looks at", func(t *testing.T) {
		app, err := f.appsOf(ignored).hub.Application(t.Context(), "anywhere")
		f.must(err)
		if app.Status.ReconciledAt != nil || len(app.Status.Conditions) > 0 {
			t.Errorf("it was looked at: %s", describe(app))
		}
	})
	t.Run("command line", func(t *testing.T) {
		for _, args := range [][]string{{"app", "get", team + "/anywhere"}, {"app", "get", "anywhere", "-N", team}, {"app", "list", "-N", team}} {
			out, errOut, code := f.towline(args...)
			if code != 0 || !strings.Contains(out, "anywhere") || !strings.Contains(out, "Synced") {
				t.Errorf("%s ended with %d:\n%s%s", strings.Join(args, " "), code, out, errOut)
			}
		}
		if out, errOut, code := f.towline("app", "diff", team+"/anywhere"); code != 0 {
			t.Errorf("diff ended with %d:\n%s%s", code, out, errOut)
		}
		if out, errOut, code := f.towline("app", "sync", team+"/anywhere", "--timeout", "60"); code != 0 {
			t.Errorf("sync ended with %d:\n%s%s", code, out, errOut)
		}
	})
	t.Run("deletion", func(t *testing.T) {
		// The one that was refused has nothing, and does not take the other's.
		f.kubectl("-n", other, "delete", "application", "anywhere", "--timeout=60s")
		if f.object(configMaps, "there") == nil {
			t.Error("the object went with an application that is not its own")
		}
		f.kubectl("-n", team, "delete", "application", "anywhere", "--timeout=60s")
		if f.object(configMaps, "there") != nil {
			t.Error("the object is still there")
		}
		if f.object(configMaps, "settings") == nil {
			t.Error("the object of the other application is gone")
		}
	})
}
