package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// TestRollback goes back with automation on: what was left is not synced again
// by itself, and a newer commit is.
func TestRollback(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	good, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("back", "shop", "shop", automated)
	f.await("back", "synced", synced(good))
	bad, err := f.git.Commit("shop", "main", "green", map[string]*string{"shop/settings.yaml": new(settingsV2)})
	f.must(err)
	f.refresh("back")
	f.await("back", "synced at the bad commit", synced(bad))

	out, errOut, code := f.towline("app", "rollback", "back", "--timeout", "60")
	if code != 0 || !strings.Contains(errOut, "automated sync stays on") {
		t.Fatalf("rollback ended with %d:\n%s%s", code, out, errOut)
	}
	f.awaitObject(configMaps, "settings", colour("blue"))
	app := f.await("back", "held at the good commit", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync && app.Status.Sync.Revision == bad &&
			app.Operation == nil && len(app.Status.Conditions) == 1
	})
	if c := app.Status.Conditions[0]; c.Type != "HeldWarning" || !strings.Contains(c.Message, "rolled back") {
		t.Errorf("the condition is %+v", c)
	}
	if h := app.Status.History; len(h) != 3 || h[2].Revision != good {
		t.Errorf("the history is %+v", h)
	}
	for range 3 {
		f.refresh("back")
	}
	if !colour("blue")(f.object(configMaps, "settings")) {
		t.Error("what was left came back by itself")
	}
	out, _, _ = f.towline("app", "get", "back")
	if !strings.Contains(out, "Rolled back:  "+bad[:7]+" is not synced by itself") {
		t.Errorf("app get does not say it:\n%s", out)
	}
	if out, errOut, code = f.towline("app", "history", "back"); code != 0 || strings.Count(out, "\n") != 4 {
		t.Errorf("history ended with %d:\n%s%s", code, out, errOut)
	}
	t.Log(out)

	newer, err := f.git.Commit("shop", "main", "red", map[string]*string{"shop/settings.yaml": new(strings.Replace(settingsV2, "green", "red", 1))})
	f.must(err)
	f.refresh("back")
	app = f.await("back", "synced at the newer commit", synced(newer))
	if r := app.Annotations[v1alpha1.AnnotationRejected]; r != "" {
		t.Errorf("%s is still rejected", r)
	}
	if !colour("red")(f.object(configMaps, "settings")) {
		t.Error("the newer commit is not there")
	}
}

// TestRollbackTakenUpAgain: a sync by hand of what was left ends the rejection.
func TestRollbackTakenUpAgain(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("again", "shop", "shop", automated)
	f.await("again", "synced", synced(first))
	second, err := f.git.Commit("shop", "main", "green", map[string]*string{"shop/settings.yaml": new(settingsV2)})
	f.must(err)
	f.refresh("again")
	f.await("again", "synced", synced(second))
	if out, errOut, code := f.towline("app", "rollback", "again", "0", "--timeout", "60"); code != 0 {
		t.Fatalf("rollback ended with %d:\n%s%s", code, out, errOut)
	}
	if out, errOut, code := f.towline("app", "sync", "again", "--timeout", "60"); code != 0 {
		t.Fatalf("sync ended with %d:\n%s%s", code, out, errOut)
	}
	app := f.await("again", "synced once more", synced(second))
	if r := app.Annotations[v1alpha1.AnnotationRejected]; r != "" {
		t.Errorf("%s is still rejected", r)
	}
	f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
	f.awaitObject(configMaps, "settings", colour("green"))
}

// TestHold: drift is shown and left alone, and healed when the time is over,
// without anybody doing anything.
func TestHold(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("held", "shop", "shop", automated)
	f.await("held", "synced", synced(revision))
	if out, errOut, code := f.towline("app", "hold", "held", "--for", "1h", "--reason", "looking into it"); code != 0 {
		t.Fatalf("hold ended with %d:\n%s%s", code, out, errOut)
	}
	f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
	f.await("held", "held with its drift", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync && len(app.Status.Conditions) == 1 &&
			strings.Contains(app.Status.Conditions[0].Message, "looking into it")
	})
	f.refresh("held")
	if !colour("red")(f.object(configMaps, "settings")) {
		t.Fatal("it was healed though it was held")
	}
	if out, _, _ := f.towline("app", "get", "held"); !strings.Contains(out, "Held: ") || !strings.Contains(out, "looking into it") {
		t.Errorf("app get does not say it:\n%s", out)
	}
	if out, errOut, code := f.towline("app", "hold", "held", "--for", "3s"); code != 0 {
		t.Fatalf("hold ended with %d:\n%s%s", code, out, errOut)
	}
	begun := time.Now()
	f.awaitObject(configMaps, "settings", colour("blue"))
	t.Logf("healed %s after a hold of 3 s began", time.Since(begun).Round(time.Millisecond))
	app := f.await("held", "well", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && len(app.Status.Conditions) == 0
	})
	if until, err := time.Parse(time.RFC3339, app.Annotations[v1alpha1.AnnotationHoldUntil]); err != nil || time.Now().Before(until) {
		t.Errorf("it was healed before the hold ended at %s, %v", until, err)
	}
	if _, errOut, code := f.towline("app", "unhold", "held"); code != 0 || !strings.Contains(errOut, "no longer") {
		t.Errorf("unhold ended with %d: %s", code, errOut)
	}
}

const waitingHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {argocd.argoproj.io/hook: PreSync}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: migrate, image: "example.com/migrate:1"}
`

// TestTerminate ends a sync that waits on a hook: the hook goes, what comes
// after it is not applied, and the operation says why it ended.
func TestTerminate(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/hook.yaml": waitingHook, "shop/settings.yaml": settingsV1}))
	f.start()
	f.application("stuck", "shop", "shop", `{}`)
	f.await("stuck", "compared", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status != "" })
	if _, errOut, code := f.towline("app", "terminate-op", "stuck"); code == 0 || !strings.Contains(errOut, "none is in progress") {
		t.Errorf("with nothing running it ended with %d: %s", code, errOut)
	}
	if out, errOut, code := f.towline("app", "sync", "stuck", "--async", "--info", "ticket=42"); code != 0 {
		t.Fatalf("sync ended with %d:\n%s%s", code, out, errOut)
	}
	f.await("stuck", "waiting on its hook", func(app *v1alpha1.Application) bool {
		o := app.Status.OperationState
		return o != nil && o.Phase == v1alpha1.OperationRunning && strings.Contains(o.Message, "migrate")
	})
	if out, errOut, code := f.towline("app", "terminate-op", "stuck"); code != 0 {
		t.Fatalf("terminate-op ended with %d:\n%s%s", code, out, errOut)
	}
	app := f.await("stuck", "ended", func(app *v1alpha1.Application) bool {
		o := app.Status.OperationState
		return o != nil && o.Phase.Completed() && app.Operation == nil
	})
	o := app.Status.OperationState
	if o.Phase != v1alpha1.OperationFailed || !strings.Contains(o.Message, "terminated") {
		t.Errorf("it ended as %s: %s", o.Phase, o.Message)
	}
	if len(o.Operation.Info) != 1 || o.Operation.Info[0].Value != "42" {
		t.Errorf("the note is %+v", o.Operation.Info)
	}
	f.awaitObject(jobs, "migrate", absent)
	if f.object(configMaps, "settings") != nil {
		t.Error("what comes after the hook was applied")
	}
	f.awaitEvent("stuck", v1alpha1.EventReasonOperationCompleted, "failed: Operation terminated")
}

// TestLocalSync syncs what is on this machine and not in Git.
func TestLocalSync(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	f.start()
	f.application("local", "shop", "shop", `{}`)
	f.await("local", "compared", func(app *v1alpha1.Application) bool { return app.Status.Sync.Status != "" })
	dir := f.folder(map[string]string{"settings.yaml": strings.Replace(settingsV2, "green", "yellow", 1)})
	if out, errOut, code := f.towline("app", "sync", "local", "--local", dir, "--timeout", "60"); code != 0 {
		t.Fatalf("sync ended with %d:\n%s%s", code, out, errOut)
	}
	f.awaitObject(configMaps, "settings", colour("yellow"))
	f.await("local", "out of sync with Git", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync && app.Operation == nil
	})
}

const sales = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: sales, namespace: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
`

// TestProjectOutlivesItsApplications: a deleted project stays while somebody
// belongs to it, and goes with the last of them.
func TestProjectOutlivesItsApplications(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	f.start()
	if out, err := f.kubectlTry(strings.Replace(sales, "%s", f.control, 1), "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"one", "two"} {
		f.application(name, "shop", "shop", `{}`)
		f.kubectl("-n", f.control, "patch", "application", name, "--type=merge", "-p", `{"spec":{"project":"sales"}}`)
	}
	f.kubectl("-n", f.control, "delete", "appproject", "sales", "--wait=false")
	f.kubectl("-n", f.control, "delete", "application", "one", "--timeout=60s")
	f.refresh("two")
	if out := f.kubectl("-n", f.control, "get", "appproject", "sales", "-o", "name"); out == "" {
		t.Fatal("the project went though an application belongs to it")
	}
	// One that moves away counts as much as one that is deleted.
	f.kubectl("-n", f.control, "patch", "application", "two", "--type=merge", "-p", `{"spec":{"project":"default"}}`)
	f.kubectl("-n", f.control, "wait", "--for=delete", "appproject/sales", "--timeout=60s")
}
