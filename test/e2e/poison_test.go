package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/workshop"
)

// loose is the schema of a CRD that takes anything, as one that was installed long ago may have been.
const loose = `[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
	"value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]`

// poison are applications that cannot be read, or that are a burden, each by what is wrong with it. Those whose names
// begin with "odd" can be read.
func (f *fixture) poison() map[string]string {
	good := fmt.Sprintf(`{project: default, destination: {server: "https://kubernetes.default.svc", namespace: %s}, source: {repoURL: %q, path: app-0}%%s}`,
		f.dest, f.git.URL("home"))
	conditions := strings.TrimSuffix(strings.Repeat(`{type: SomethingWarning, message: "`+strings.Repeat("x", 60)+`"},`, 8000), ",")
	return map[string]string{
		"destination": "spec: {project: default, destination: everywhere}",
		"parameters":  "spec: {source: {helm: {parameters: {a: 1}}}}",
		"spec":        "spec: [1, 2]",
		"operation":   "spec: " + fmt.Sprintf(good, "") + "\noperation: {sync: now}",
		"status":      "spec: " + fmt.Sprintf(good, "") + "\nstatus: {conditions: none}",
		"odd-backoff": "spec: " + fmt.Sprintf(good, ", syncPolicy: {retry: {limit: 2, backoff: {duration: soon}}}"),
		"odd-ignore":  "spec: " + fmt.Sprintf(good, ", ignoreDifferences: [{group: '*', kind: '[', jqPathExpressions: ['.spec | (']}]"),
		"odd-values":  "spec: " + fmt.Sprintf(good, ", info: [{name: big, value: "+strings.Repeat("x", 1_300_000)+"}]"),
		"odd-status":  "spec: " + fmt.Sprintf(good, "") + "\nstatus: {conditions: [" + conditions + "]}",
	}
}

// TestPoison: an object that cannot be read stops itself and nobody else, neither when it comes nor at a start; and what it
// made, when it could be read, stays.
func TestPoison(t *testing.T) {
	f := alone(t)
	files := map[string]string{"set-a/map.yaml": configMap("set-a", "", "")}
	for i := range 8 {
		files[fmt.Sprintf("app-%d/map.yaml", i)] = configMap(fmt.Sprint("map-", i), "", "")
	}
	f.must(f.git.Create("home", files))
	for i := range 8 {
		f.application(fmt.Sprint("good-", i), "home", fmt.Sprint("app-", i), automated)
	}
	defer f.kubectl("-n", f.control, "delete", "applications", "--selector=poison")
	f.set("fleet", f.gitFolders("set-*"), "{{.path.basename}}", "{{.path.path}}")
	f.start()
	f.allGood("first")
	f.await("set-a", "synced", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced })
	// A generator's own template is open in the schema: nobody needs an old one for this.
	f.kubectl("-n", f.control, "patch", "applicationset", "fleet", "--type=json", "-p",
		`[{"op": "add", "path": "/spec/generators/0/git/template", "value": {"spec": "nonsense"}}]`)
	f.spread()
	f.allGood("beside them")
	f.awaitCondition("fleet", v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionStatusTrue, "cannot be read")
	for name := range f.poison() {
		if strings.HasPrefix(name, "odd-") || name == "status" {
			continue
		}
		f.await("poison-"+name, "told of", func(app *v1alpha1.Application) bool {
			return slices.ContainsFunc(app.Status.Conditions, func(c v1alpha1.ApplicationCondition) bool {
				return c.Type == v1alpha1.ApplicationConditionInvalidSpecError && strings.Contains(c.Message, "cannot be read")
			})
		})
	}
	f.stop()
	f.start()
	f.allGood("after a start")
	if n := f.deletes("applications"); n > 0 {
		t.Errorf("%d applications were deleted", n)
	}
	if _, err := f.hub.Application(t.Context(), "set-a"); err != nil {
		t.Errorf("what a set made before it could not be read any more: %v", err)
	}
}

// spread stores the poison while the schema is loose, and makes the schema what it was.
func (f *fixture) spread() {
	f.Helper()
	f.kubectl("patch", "crd", "applications.argoproj.io", "--type=json", "-p", loose)
	defer f.kubectl("apply", "-k", filepath.Join(workshop.Root(), "config", "crd"))
	for name, text := range f.poison() {
		manifest := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: poison-%s, namespace: %s, labels: {poison: \"\"}}\n%s\n",
			name, f.control, text)
		eventually(f.T, "the server takes "+name, func() bool {
			out, err := f.kubectlTry(manifest, "create", "--validate=false", "-f", "-")
			if err != nil {
				f.Logf("creating %s: %.300s", name, out)
			}
			return err == nil || strings.Contains(out, "AlreadyExists")
		})
	}
}

// allGood pushes something to every good application and waits until it stands.
func (f *fixture) allGood(what string) {
	f.Helper()
	files := map[string]*string{}
	for i := range 8 {
		text := configMap(fmt.Sprint("map-", i), "", "") + fmt.Sprintf("data: {says: %q}\n", what)
		files[fmt.Sprintf("app-%d/map.yaml", i)] = &text
	}
	revision, err := f.git.Commit("home", "main", what, files)
	f.must(err)
	for i := range 8 {
		f.refresh(fmt.Sprint("good-", i))
	}
	for i := range 8 {
		f.await(fmt.Sprint("good-", i), "synced "+what, synced(revision))
	}
}
