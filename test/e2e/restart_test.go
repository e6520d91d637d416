package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// applied counts the applies in the destination that towline got an answer to,
// by object. The server gives up on a request when the process that made it
// is killed; its object may stand or not.
func (f *fixture) applied() map[string]int {
	out := map[string]int{}
	for _, e := range f.requests() {
		if e.Namespace == f.dest && e.Writes() && e.Code < 300 {
			out[e.Resource+"/"+e.Name]++
		}
	}
	return out
}

// TestKillWhileApplying cuts the power in the middle of writing 120 objects.
// The next process finishes the sync that it finds, and applies nothing again
// that stands already.
func TestKillWhileApplying(t *testing.T) {
	f := setup(t)
	const count = 120
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("shop/%03d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-%03d}\ndata: {n: \"%d\"}\n", i, i)
	}
	f.must(f.git.Create("shop", files))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := f.dynamic.Resource(configMaps).Namespace(f.dest).Watch(ctx, metav1.ListOptions{LabelSelector: "!kube", ResourceVersion: "0"})
	f.must(err)
	f.application("kill", "shop", "shop", automated)
	seen := 0
	for ev := range w.ResultChan() {
		if u, ok := ev.Object.(metav1.Object); ok && strings.HasPrefix(u.GetName(), "part-") {
			seen++
		}
		if seen == count/4 {
			break
		}
	}
	w.Stop()
	f.kill()
	standing, err := f.dynamic.Resource(configMaps).Namespace(f.dest).List(t.Context(), metav1.ListOptions{})
	f.must(err)
	app, err := f.hub.Application(t.Context(), "kill")
	f.must(err)
	if op := app.Status.OperationState; op == nil || op.Phase != v1alpha1.OperationRunning {
		t.Fatalf("the sync was not caught in the middle: %s", describe(app))
	}
	started := app.Status.OperationState.StartedAt
	t.Logf("killed with %d of %d objects standing", len(standing.Items)-1, count)

	f.start()
	app = f.await("kill", "synced", synced(revision))
	if !app.Status.OperationState.StartedAt.Equal(&started) {
		t.Error("another operation was started; the first should have been finished")
	}
	if n := len(app.Status.OperationState.SyncResult.Resources); n != count {
		t.Errorf("the result lists %d objects, want %d", n, count)
	}
	applies := f.applied()
	for _, k := range slices.Sorted(maps.Keys(applies)) {
		if applies[k] != 1 {
			t.Errorf("%s was applied %d times", k, applies[k])
		}
	}
	for i := range count {
		if name := fmt.Sprintf("part-%03d", i); f.object(configMaps, name) == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestKillWhileWaiting cuts the power while wave 0 is not healthy. The next
// process waits on, and goes on when the wave is healthy.
func TestKillWhileWaiting(t *testing.T) {
	f := setup(t)
	stuck := strings.Replace(web, "    spec:\n      containers:", "    spec:\n      nodeSelector: {towline.test/"+f.control+": \"yes\"}\n      containers:", 1)
	f.must(f.git.Create("shop", map[string]string{
		"shop/web.yaml":      stuck,
		"shop/settings.yaml": strings.Replace(settingsV1, "{name: settings}", "{name: settings, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}", 1),
	}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("wait", "shop", "shop", automated)
	waits := func(app *v1alpha1.Application) bool {
		op := app.Status.OperationState
		return op != nil && op.Phase == v1alpha1.OperationRunning && strings.Contains(op.Message, "wave 0 waits for Deployment.apps")
	}
	f.await("wait", "waiting for wave 0", waits)
	if f.object(configMaps, "settings") != nil {
		t.Error("wave 1 came before wave 0 was healthy")
	}
	f.kill()
	f.start()
	f.await("wait", "still waiting", waits)
	f.kubectl("label", "nodes", "--all", "towline.test/"+f.control+"=yes")
	f.await("wait", "synced", synced(revision))
	for k, n := range f.applied() {
		if n != 1 {
			t.Errorf("%s was applied %d times", k, n)
		}
	}
}
