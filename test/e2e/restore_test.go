package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// TestRestore: an installation is lost with all that it kept, and comes back from an export. Its applications find their
// objects, and nothing is applied again.
func TestRestore(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "shop/web.yaml": workload("web", "")}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("shop", "shop", "shop", automated)
	before := f.await("shop", "synced", synced(revision))
	file := filepath.Join(t.TempDir(), "backup.yaml")
	f.typed(0, nil, "admin", "export", "-o", file, "--kubeconfig", f.kubeconfig, "-n", f.control)

	f.stop()
	f.kubectl("-n", f.control, "patch", "application", "shop", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	f.kubectl("-n", f.control, "delete", "application,appproject", "--all", "--cascade=orphan")
	f.kubectl("-n", f.control, "delete", "configmap", "argocd-cm")
	f.data = t.TempDir()
	f.typed(0, nil, "admin", "import", file, "--kubeconfig", f.kubeconfig, "-n", f.control)

	done := len(f.requests())
	f.start()
	after := f.await("shop", "in sync", func(app *v1alpha1.Application) bool {
		return green(app) && app.Status.Sync.Revision == revision
	})
	if len(after.Status.History) != len(before.Status.History) || after.Status.History[0].ID != before.Status.History[0].ID {
		t.Errorf("the history is %+v, and was %+v", after.Status.History, before.Status.History)
	}
	for _, e := range f.requests()[done:] {
		if e.Namespace == f.dest && e.Writes() && !e.DryRun {
			t.Errorf("it wrote %s %s/%s again", e.Verb, e.Resource, e.Name)
		}
	}
}
