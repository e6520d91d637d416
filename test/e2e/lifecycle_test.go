package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	settingsV1 = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue, size: small}
`
	settingsV2 = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: green}
`
	web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "example.com/web:1"}
`
	key = `apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {token: hush}
`
	extra = `apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
`
)

func colour(want string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		got, _, _ := unstructured.NestedString(u.Object, "data", "colour")
		return got == want
	}
}

func absent(u *unstructured.Unstructured) bool { return u == nil }

// TestLifecycle is one application's life: created, updated, pruned, healed,
// deleted.
func TestLifecycle(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{
		"apps/shop/settings.yaml": settingsV1, "apps/shop/nested/web.yaml": web, "apps/shop/extra.yaml": extra,
		"apps/other/readme.md": "not ours",
	}))
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("life", "shop", "apps/shop", automated)

	t.Run("create", func(t *testing.T) {
		app := f.await("life", "synced", synced(first))
		if !colour("blue")(f.object(configMaps, "settings")) {
			t.Error("settings is not what Git says")
		}
		checkStatus(t, app, first)
		id := f.object(deployments, "web").GetAnnotations()[v1alpha1.AnnotationTrackingID]
		if want := "life:apps/Deployment:" + f.dest + "/web"; id != want {
			t.Errorf("the tracking id is %q, want %q", id, want)
		}
		for _, m := range f.object(deployments, "web").GetManagedFields() {
			if m.Operation == "Apply" && m.Manager != v1alpha1.FieldManagerApply {
				t.Errorf("field manager %q applied", m.Manager)
			}
		}
	})

	t.Run("update and prune", func(t *testing.T) {
		second, err := f.git.Commit("shop", "main", "green, and no extra", map[string]*string{
			"apps/shop/settings.yaml": new(settingsV2), "apps/shop/extra.yaml": nil,
		})
		f.must(err)
		f.refresh("life")
		app := f.await("life", "synced at the new commit", synced(second))
		f.awaitObject(configMaps, "extra", absent)
		if u := f.object(configMaps, "settings"); !colour("green")(u) {
			t.Error("settings was not updated")
		} else if size, found, _ := unstructured.NestedString(u.Object, "data", "size"); found {
			t.Errorf("the key that Git dropped still stands: size=%s", size)
		}
		if n := len(app.Status.History); n != 2 {
			t.Errorf("history has %d entries, want 2", n)
		}
		for _, r := range app.Status.Resources {
			if r.Name == "extra" {
				t.Errorf("the pruned object is still in the status: %+v", r)
			}
		}
	})

	t.Run("heal a changed field", func(t *testing.T) {
		f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
		f.awaitObject(configMaps, "settings", colour("green"))
	})

	t.Run("heal a deleted object", func(t *testing.T) {
		f.kubectl("-n", f.dest, "delete", "configmap", "settings")
		f.awaitObject(configMaps, "settings", colour("green"))
		f.await("life", "synced again", func(app *v1alpha1.Application) bool {
			return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Operation == nil
		})
	})

	t.Run("delete", func(t *testing.T) {
		f.kubectl("-n", f.control, "delete", "application", "life", "--timeout=60s")
		f.awaitObject(configMaps, "settings", absent)
		f.awaitObject(deployments, "web", absent)
	})
}

// checkStatus looks at every part of the status that Argo CD writes.
func checkStatus(t *testing.T, app *v1alpha1.Application, revision string) {
	t.Helper()
	s := app.Status
	if s.Sync.ComparedTo.Source.Path != "apps/shop" || s.Sync.ComparedTo.Destination != app.Spec.Destination {
		t.Errorf("comparedTo is %+v", s.Sync.ComparedTo)
	}
	if len(s.Resources) != 3 {
		t.Errorf("there are %d resources, want 3", len(s.Resources))
	}
	for _, r := range s.Resources {
		if r.Status != v1alpha1.SyncStatusCodeSynced {
			t.Errorf("%s %s is %s", r.Kind, r.Name, r.Status)
		}
	}
	op := s.OperationState
	if !op.Operation.InitiatedBy.Automated || op.SyncResult.Revision != revision || len(op.SyncResult.Resources) != 3 || op.FinishedAt == nil {
		t.Errorf("the operation state is %+v", op)
	}
	if len(s.History) != 1 || s.History[0].Revision != revision || s.History[0].ID != 0 {
		t.Errorf("the history is %+v", s.History)
	}
	if len(s.Summary.Images) != 1 || s.Summary.Images[0] != "example.com/web:1" {
		t.Errorf("the summary is %+v", s.Summary)
	}
	if s.ReconciledAt == nil || s.SourceType != v1alpha1.SourceTypeDirectory || len(s.Conditions) != 0 {
		t.Errorf("reconciledAt %v, sourceType %q, conditions %v", s.ReconciledAt, s.SourceType, s.Conditions)
	}
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.e2e.example.com, labels: {fleet: north}}
spec:
  group: e2e.example.com
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestCRDHeals: a CRD carries no mark, so that nothing ever prunes it; its
// drift is seen and healed all the same.
func TestCRDHeals(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/crd.yaml": crd}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("boats", "shop", "shop", automated)
	f.await("boats", "synced", synced(revision))
	f.kubectl("label", "crd", "boats.e2e.example.com", "fleet=south", "--overwrite")
	f.kubectl("wait", "crd/boats.e2e.example.com", "--for=jsonpath={.metadata.labels.fleet}=north", "--timeout=60s")
	f.kubectl("-n", f.control, "delete", "application", "boats", "--timeout=60s")
	if out := f.kubectl("get", "crd", "boats.e2e.example.com", "-o", "name"); out == "" {
		t.Error("the CRD went with its application")
	}
}

// TestUnchangedCostsNothing counts requests: a first sync makes one apply for
// each object, and a refresh without a change asks the cluster nothing.
func TestUnchangedCostsNothing(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "shop/key.yaml": key, "shop/extra.yaml": extra}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("cost", "shop", "shop", automated)
	f.await("cost", "synced", synced(revision))

	applies, dryRuns := 0, 0
	for _, e := range f.requests() {
		switch {
		case e.Namespace != f.dest:
		case e.DryRun:
			dryRuns++
		case e.Writes():
			applies++
		}
	}
	if applies != 3 || dryRuns != 0 {
		t.Errorf("the first sync made %d writes and %d dry-runs of 3 objects, want 3 and 0", applies, dryRuns)
	}

	before := len(f.requests())
	elsewhere, err := f.git.Commit("shop", "main", "elsewhere", map[string]*string{"other/file.txt": new("x")})
	f.must(err)
	f.refresh("cost")
	f.await("cost", "at the new commit", synced(elsewhere))
	after := f.requests()[before:]
	// The one write is the status: the new revision, and the annotation gone.
	if len(after) != 1 || after[0].Resource != "applications" || after[0].Verb != "patch" {
		t.Errorf("a commit elsewhere cost %d requests, want 1 patch of the application:", len(after))
		for _, e := range after {
			t.Errorf("  %s %s", e.Verb, e.URI)
		}
	}

	// A restart asks nothing again either: the pairs are on disk.
	before = len(f.requests())
	f.kill()
	f.start()
	f.refresh("cost")
	for _, e := range f.requests()[before:] {
		if e.Namespace == f.dest {
			t.Errorf("the restart cost %s %s", e.Verb, e.URI)
		}
	}
}

// TestManualSync uses the command line as a person would, without automation.
func TestManualSync(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("hand", "shop", "shop", `{}`)
	f.await("hand", "OutOfSync", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync
	})
	if f.object(configMaps, "settings") != nil {
		t.Fatal("it was synced without being asked")
	}
	if out, _, code := f.towline("app", "diff", "hand"); code != 1 || !strings.Contains(out, "settings") {
		t.Errorf("diff ended with %d and said:\n%s", code, out)
	}
	if out, errOut, code := f.towline("app", "sync", "hand", "--timeout", "60"); code != 0 {
		t.Fatalf("sync ended with %d:\n%s%s", code, out, errOut)
	}
	app := f.await("hand", "synced", synced(revision))
	if op := app.Status.OperationState; op.Operation.InitiatedBy.Automated || op.Operation.InitiatedBy.Username == "" {
		t.Errorf("initiated by %+v", op.Operation.InitiatedBy)
	}
	if out, errOut, code := f.towline("app", "diff", "hand"); code != 0 {
		t.Errorf("diff after the sync ended with %d:\n%s%s", code, out, errOut)
	}
	if out, errOut, code := f.towline("app", "wait", "hand", "--timeout", "30"); code != 0 {
		t.Errorf("wait ended with %d:\n%s%s", code, out, errOut)
	}
	if out, _, code := f.towline("app", "list", "-o", "name"); code != 0 || strings.TrimSpace(out) == "" {
		t.Errorf("list ended with %d and said %q", code, out)
	}

	f.edit(configMaps, "settings", `{"data":{"colour":"red"}}`)
	f.await("hand", "OutOfSync by drift", func(app *v1alpha1.Application) bool {
		return app.Status.Sync.Status == v1alpha1.SyncStatusCodeOutOfSync
	})
	if out, _, code := f.towline("app", "diff", "hand"); code != 1 || !strings.Contains(out, "data.colour") || !strings.Contains(out, "red") {
		t.Errorf("diff of the drift ended with %d and said:\n%s", code, out)
	}
	out, errOut, code := f.towline("app", "explain", "hand", "ConfigMap/settings")
	for _, want := range []string{`data.colour is "red" in the cluster, and "blue" in Git.`, "It is held by ", "- /data/colour"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("explain ended with %d and does not say %q:\n%s%s", code, want, out, errOut)
		}
	}
	t.Log(out)
	if out, errOut, code := f.towline("app", "delete", "hand", "--yes", "--wait"); code != 0 {
		t.Errorf("delete ended with %d:\n%s%s", code, out, errOut)
	}
	f.awaitObject(configMaps, "settings", absent)
}

// TestIgnoredFieldsAreLeftAlone: an ignored field does not count, and a sync of
// something else does not touch it.
func TestIgnoredFieldsAreLeftAlone(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/web.yaml": web}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("ignore", "shop", "shop", `{automated: {prune: true, selfHeal: true}, syncOptions: [RespectIgnoreDifferences=true]}`)
	f.kubectl("-n", f.control, "patch", "application", "ignore", "--type=merge", "-p",
		`{"spec":{"ignoreDifferences":[{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}]}}`)
	f.await("ignore", "synced", synced(revision))
	f.kubectl("-n", f.dest, "scale", "deployment", "web", "--replicas=4")
	next, err := f.git.Commit("shop", "main", "a new image", map[string]*string{"shop/web.yaml": new(strings.Replace(web, "web:1", "web:2", 1))})
	f.must(err)
	f.refresh("ignore")
	f.await("ignore", "synced at the new commit", synced(next))
	u := f.object(deployments, "web")
	if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); n != 4 {
		t.Errorf("the ignored replicas became %d", n)
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if image := containers[0].(map[string]any)["image"]; image != "example.com/web:2" {
		t.Errorf("the image is %v", image)
	}
}

// TestPoll finds a commit that nobody told it of.
func TestPoll(t *testing.T) {
	f := setup(t)
	f.settings(map[string]string{v1alpha1.KeyTimeoutReconciliation: "1s", v1alpha1.KeyTimeoutReconciliationJitter: "0s"})
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("poll", "shop", "shop", automated)
	f.await("poll", "synced", synced(revision))
	next, err := f.git.Commit("shop", "main", "green", map[string]*string{"shop/settings.yaml": new(settingsV2)})
	f.must(err)
	f.await("poll", "synced at the new commit", synced(next))
}

// TestGitOutage keeps what is known, says so, and still heals.
func TestGitOutage(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "shop/extra.yaml": extra}))
	revision, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("outage", "shop", "shop", automated)
	f.await("outage", "synced", synced(revision))
	f.git.SetDown(true)
	f.refresh("outage")
	f.await("outage", "aware of the outage", func(app *v1alpha1.Application) bool {
		return len(app.Status.Conditions) == 1 && strings.Contains(app.Status.Conditions[0].Message, "out of reach") &&
			app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Sync.Revision == revision
	})
	f.kubectl("-n", f.dest, "delete", "configmap", "settings")
	f.awaitObject(configMaps, "settings", colour("blue"))
	f.git.SetDown(false)
	f.refresh("outage")
	f.await("outage", "well again", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) == 0 })
}

// TestMistakesAreTold shows what a user sees of a spec that cannot work.
func TestMistakesAreTold(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "broken/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"}))
	f.start()
	cases := map[string]struct{ spec, want string }{
		"nodest": {`{source: {repoURL: "` + f.git.URL("shop") + `", path: shop}}`, "has no destination"},
		"nopath": {`{destination: {name: in-cluster, namespace: x}, source: {repoURL: "` + f.git.URL("shop") + `", path: nowhere}}`, "nowhere"},
		"noproj": {`{project: ghost, destination: {name: in-cluster, namespace: x}, source: {repoURL: "` + f.git.URL("shop") + `", path: shop}}`, `project "ghost"`},
		"norev":  {`{destination: {name: in-cluster, namespace: x}, source: {repoURL: "` + f.git.URL("shop") + `", path: shop, targetRevision: ghost}}`, `"ghost"`},
		"broken": {`{destination: {name: in-cluster, namespace: x}, source: {repoURL: "` + f.git.URL("shop") + `", path: broken}}`, "a.yaml"},
		"far":    {`{destination: {server: "https://far.example.com", namespace: x}, source: {repoURL: "` + f.git.URL("shop") + `", path: shop}}`, "far.example.com"},
	}
	for name, c := range cases {
		manifest := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: " + f.control + "}\nspec: " + c.spec + "\n"
		if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	for name, c := range cases {
		app := f.await(name, "told of its mistake", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) > 0 })
		if !strings.Contains(app.Status.Conditions[0].Message, c.want) || app.Status.Sync.Status != v1alpha1.SyncStatusCodeUnknown {
			t.Errorf("%s: want a condition with %q and Unknown, got %s", name, c.want, describe(app))
		}
	}
}
