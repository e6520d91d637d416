package wish_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

func shop(edits ...func(*v1alpha1.Application)) *v1alpha1.Application {
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd", ResourceVersion: "7", UID: "u"},
		Spec: v1alpha1.ApplicationSpec{
			Project: "web", Destination: v1alpha1.ApplicationDestination{Server: "https://x", Namespace: "shop"},
			Source: &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop.git", Path: ".", TargetRevision: "main"},
		},
	}
	for _, e := range edits {
		e(app)
	}
	return app
}

func automated(app *v1alpha1.Application) {
	app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}
}

func running(app *v1alpha1.Application) {
	app.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning}
}

func sources(app *v1alpha1.Application) {
	app.Spec.Sources = v1alpha1.ApplicationSources{*app.Spec.Source, *app.Spec.Source}
	app.Spec.Source = nil
}

func deployed(app *v1alpha1.Application) {
	at := func(id int64, revision string) v1alpha1.RevisionHistory {
		return v1alpha1.RevisionHistory{ID: id, Revision: revision, Source: *app.Spec.Source, DeployedAt: metav1.NewTime(time.Unix(id, 0))}
	}
	app.Status.History = v1alpha1.RevisionHistories{at(1, "aaa"), at(2, "bbb"), at(3, "bbb")}
	app.Status.Sync = v1alpha1.SyncStatus{Revision: "bbb", ComparedTo: v1alpha1.ComparedTo{Source: *app.Spec.Source}}
}

func TestRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		app  *v1alpha1.Application
		sync wish.Sync
		want wish.Reason
	}{
		"nothing in the way":            {shop(), wish.Sync{}, ""},
		"being deleted":                 {shop(func(a *v1alpha1.Application) { a.DeletionTimestamp = new(metav1.Now()) }), wish.Sync{}, wish.Deleting},
		"another runs":                  {shop(running), wish.Sync{}, wish.Busy},
		"another was asked for":         {shop(func(a *v1alpha1.Application) { a.Operation = &v1alpha1.Operation{} }), wish.Sync{}, wish.Busy},
		"local":                         {shop(), wish.Sync{Manifests: []string{"{}"}}, ""},
		"local, and automated":          {shop(automated), wish.Sync{Manifests: []string{"{}"}}, wish.LocalUndone},
		"local, automated, dry run":     {shop(automated), wish.Sync{Manifests: []string{"{}"}, DryRun: true}, ""},
		"another revision":              {shop(), wish.Sync{Revision: "v1"}, ""},
		"another revision, automated":   {shop(automated), wish.Sync{Revision: "v1"}, wish.RevisionUndone},
		"its own revision, automated":   {shop(automated), wish.Sync{Revision: "main"}, ""},
		"one revision, several sources": {shop(sources), wish.Sync{Revision: "v1"}, wish.RevisionUnclear},
		"revisions for each":            {shop(sources), wish.Sync{Revisions: []string{"v1", ""}}, ""},
		"too few revisions":             {shop(sources), wish.Sync{Revisions: []string{"v1"}}, wish.RevisionUnclear},
		"too many revisions":            {shop(), wish.Sync{Revisions: []string{"v1", "v2"}}, wish.RevisionUnclear},
		"revisions, automated":          {shop(sources, automated), wish.Sync{Revisions: []string{"", "v1"}}, wish.RevisionUndone},
		"own revisions, automated":      {shop(sources, automated), wish.Sync{Revisions: []string{"", "main"}}, ""},
	} {
		if got := c.sync.Refusal(c.app); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOperation(t *testing.T) {
	policy := func(app *v1alpha1.Application) {
		app.Spec.SyncPolicy = &v1alpha1.SyncPolicy{SyncOptions: v1alpha1.SyncOptions{"A=true"}, Retry: &v1alpha1.RetryStrategy{Limit: 3}}
	}
	app := shop(policy)
	op := wish.Sync{More: []string{"B=true"}, By: "jane"}.Operation(app)
	if d := cmp.Diff(v1alpha1.SyncOptions{"A=true", "B=true"}, op.Sync.SyncOptions); d != "" || op.Retry.Limit != 3 || op.InitiatedBy.Username != "jane" {
		t.Errorf("the options of the policy go along: %s %+v", d, op)
	}
	op = wish.Sync{Options: v1alpha1.SyncOptions{}, Retry: &v1alpha1.RetryStrategy{Limit: 1}, Revisions: []string{"v1"}}.Operation(app)
	if len(op.Sync.SyncOptions) != 0 || op.Retry.Limit != 1 || op.Sync.Revision != "v1" || op.Sync.Revisions != nil {
		t.Errorf("what is given takes the place of the policy's: %+v", op)
	}
	if d := cmp.Diff(v1alpha1.SyncOptions{"A=true"}, app.Spec.SyncPolicy.SyncOptions); d != "" {
		t.Errorf("the application was changed: %s", d)
	}
	if patch := wish.Start(shop(running), op); patch["status"] == nil {
		t.Error("the state of the last operation stays")
	}
	if patch := wish.Start(shop(), op); patch["status"] != nil || patch["metadata"].(map[string]any)["resourceVersion"] != "7" {
		t.Errorf("%v", patch)
	}
}

func TestEnd(t *testing.T) {
	if patch, _ := wish.End(shop()); patch != nil {
		t.Errorf("nothing runs: %v", patch)
	}
	if patch, begun := wish.End(shop(running)); !begun || patch["status"] == nil {
		t.Errorf("%v", patch)
	}
	patch, begun := wish.End(shop(func(a *v1alpha1.Application) { a.Operation = &v1alpha1.Operation{} }))
	if _, taken := patch["operation"]; begun || !taken {
		t.Errorf("%v", patch)
	}
}

func TestRollback(t *testing.T) {
	app := shop(deployed, automated)
	if to, ok := wish.Entry(app, nil); !ok || to.ID != 1 {
		t.Errorf("the newest that differs is 1: %+v", to)
	}
	if _, ok := wish.Entry(app, new(int64(9))); ok {
		t.Error("there is no entry 9")
	}
	to, _ := wish.Entry(app, new(int64(1)))
	back := wish.Rollback{To: to, By: "jane"}
	if left := back.Leaving(app); left == "" {
		t.Error("automation would take it up again")
	}
	patch := back.Patch(app)
	meta, _ := patch["metadata"].(map[string]any)
	if meta["annotations"] == nil {
		t.Errorf("it is not written down that the revision was left: %v", patch)
	}
	op, _ := patch["operation"].(*v1alpha1.Operation)
	if foreign, is := wish.Foreign(app, op); foreign || !is {
		t.Error("an entry of the history is nothing foreign")
	}
	op.Sync.Source.RepoURL = "https://elsewhere.example.com/x.git"
	if foreign, is := wish.Foreign(app, op); !foreign || is {
		t.Error("another repository is")
	}
	if left := (wish.Rollback{To: to, DryRun: true}).Leaving(app); left != "" {
		t.Error("a dry run leaves nothing")
	}
}

func TestRemoval(t *testing.T) {
	const plain, background = v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesBackground
	for name, c := range map[string]struct {
		has     []string
		removal wish.Removal
		want    []string // nil is no change
	}{
		"cascade":             {nil, wish.Removal{Cascade: true}, []string{plain}},
		"cascade already":     {[]string{plain}, wish.Removal{Cascade: true}, nil},
		"not":                 {[]string{plain, "theirs"}, wish.Removal{}, []string{"theirs"}},
		"not, already":        {[]string{"theirs"}, wish.Removal{}, nil},
		"background":          {[]string{plain}, wish.Removal{Cascade: true, Background: true}, []string{background}},
		"foreground of other": {[]string{background}, wish.Removal{Cascade: true}, []string{plain}},
	} {
		app := shop(func(a *v1alpha1.Application) { a.Finalizers = c.has })
		patch := c.removal.Patch(app)
		if c.want == nil {
			if patch != nil {
				t.Errorf("%s: %v", name, patch)
			}
			continue
		}
		meta, _ := patch["metadata"].(map[string]any)
		if d := cmp.Diff(c.want, meta["finalizers"]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What a patch is about decides which rights it takes, so nothing may pass as something else.
func TestTouches(t *testing.T) {
	for text, want := range map[string]wish.Touched{
		`{"spec":{"project":"x"}}`:                                                                {Declares: true},
		`{"metadata":{"labels":{"a":"b"}}}`:                                                       {Declares: true},
		`{"metadata":{"annotations":{"a":"b"}}}`:                                                  {Declares: true},
		`{"metadata":{"annotations":null},"operation":{}}`:                                        {Declares: true, Operates: true},
		`{"metadata":{"resourceVersion":"7"}}`:                                                    {},
		`{"operation":{"sync":{}}}`:                                                               {Operates: true},
		`{"operation":null}`:                                                                      {Operates: true},
		`{"Operation":{"sync":{}}}`:                                                               {Declares: true},
		`{"status":{"operationState":{"phase":"Terminating"}}}`:                                   {Operates: true},
		`{"operation":{},"spec":{}}`:                                                              {Declares: true, Operates: true},
		`{"operation":{},"metadata":{"finalizers":[]}}`:                                           {Declares: true, Operates: true},
		`[{"op":"replace","path":"/spec/project","value":"x"}]`:                                   {Declares: true},
		`[{"op":"add","path":"/operation","value":{}}]`:                                           {Operates: true},
		`[{"op":"move","from":"/operation","path":"/spec/x"}]`:                                    {Declares: true, Operates: true},
		`[{"op":"copy","from":"/spec/info","path":"/status/summary"}]`:                            {Declares: true, Operates: true},
		`[{"op":"test","path":"/operation","value":null}]`:                                        {},
		`[{"op":"remove","path":"/metadata/labels/a"}]`:                                           {Declares: true},
		`{"operation":{},"metadata":{"annotations":{"` + v1alpha1.AnnotationRejected + `":"x"}}}`: {Operates: true},
		`{"metadata":{"annotations":{"` + v1alpha1.AnnotationRejected + `":"x"}}}`:                {Declares: true},
	} {
		got, err := wish.Patch{JSON: strings.HasPrefix(text, "["), Text: []byte(text)}.Touches()
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{``, `null`, `[]x`, `"x"`, `{"metadata":1}`, `[{"op":"replace","path":"","value":{}}]`} {
		if got, err := (wish.Patch{JSON: strings.HasPrefix(text, "["), Text: []byte(text)}).Touches(); err == nil {
			t.Errorf("%s is taken: %+v", text, got)
		}
	}
}

func TestPatchOn(t *testing.T) {
	app := shop()
	next, err := wish.Patch{Text: []byte(`{"spec":{"source":{"targetRevision":"v2"}}}`)}.On(app)
	if err != nil || next.Spec.Source.TargetRevision != "v2" || next.Spec.Source.Path != "." || app.Spec.Source.TargetRevision != "main" {
		t.Errorf("%+v %v", next, err)
	}
	for _, p := range []wish.Patch{
		{Text: []byte(`{"spec":{"source":"hunter2"}}`)},
		{JSON: true, Text: []byte(`[{"op":"remove","path":"/spec/nowhere"}]`)},
		{JSON: true, Text: []byte(`[{"op":"test","path":"/spec/project","value":"other"}]`)},
	} {
		if _, err := p.On(app); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", p.Text, err)
		}
	}
	bad, err := wish.Patch{Text: []byte(`{"status":{"health":{"status":"Healthy"}},"metadata":{"ownerReferences":[{"name":"x"}]}}`)}.On(app)
	if err != nil || len(wish.Undeclared(app, bad)) != 2 {
		t.Errorf("%v %v", wish.Undeclared(app, bad), err)
	}
	if left := wish.Undeclared(app, next); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

func TestDeclareAndAdd(t *testing.T) {
	const applied = v1alpha1.AnnotationLastAppliedByKubectl
	now := shop(func(a *v1alpha1.Application) {
		a.Labels, a.Annotations = map[string]string{"theirs": "1"}, map[string]string{applied: "{}", "note": "1"}
	})
	wanted := shop(func(a *v1alpha1.Application) {
		a.Labels, a.Annotations = map[string]string{"ours": "1"}, map[string]string{applied: "forged"}
		a.Spec.Project = "other"
	})
	put := now.DeepCopy()
	wish.Declare(put, wanted)
	if d := cmp.Diff(map[string]string{applied: "{}"}, put.Annotations); d != "" || put.Labels["theirs"] != "" || put.Spec.Project != "other" {
		t.Errorf("%s %v", d, put.Labels)
	}
	added := now.DeepCopy()
	wish.Add(added, wanted)
	if d := cmp.Diff(map[string]string{"theirs": "1", "ours": "1"}, added.Labels); d != "" || added.Annotations[applied] != "{}" || added.Annotations["note"] != "1" {
		t.Errorf("%s %v", d, added.Annotations)
	}
	if wish.Same(now, wanted) || !wish.Same(added, wanted) {
		t.Error("it says the same when it was added, and not before")
	}
}

func TestDifference(t *testing.T) {
	patch, err := wish.Difference(shop(), func(a *v1alpha1.Application) error { a.Spec.Project = "x"; return nil })
	if err != nil || string(patch) != `{"metadata":{"resourceVersion":"7"},"spec":{"project":"x"}}` {
		t.Errorf("%s %v", patch, err)
	}
	if patch, err := wish.Difference(shop(), func(*v1alpha1.Application) error { return nil }); err != nil || patch != nil {
		t.Errorf("%s %v", patch, err)
	}
}

// Who sends back what was shown does not store the masks.
func TestUnmask(t *testing.T) {
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "******") }
	masked := func(text string) bool { return strings.Contains(text, "******") }
	now := shop(func(a *v1alpha1.Application) { a.Spec.Source.RepoURL = "https://bot:hunter2@x/a.git" })
	wanted := shop(func(a *v1alpha1.Application) {
		a.Spec.Source.RepoURL, a.Spec.Source.TargetRevision = "https://bot:******@x/a.git", "v2"
	})
	left, err := wish.Unmask(now, wanted, mask, masked)
	if err != nil || len(left) != 0 || wanted.Spec.Source.RepoURL != now.Spec.Source.RepoURL || wanted.Spec.Source.TargetRevision != "v2" {
		t.Errorf("%v %v %+v", left, err, wanted.Spec.Source)
	}
	// A login is not moved to another host.
	wanted.Spec.Source.RepoURL = "https://bot:******@elsewhere/a.git"
	left, err = wish.Unmask(now, wanted, mask, masked)
	if err != nil || !slices.Equal(left, []string{"spec.source.repoURL"}) {
		t.Errorf("%v %v", left, err)
	}
	// Two that look the same are told apart by nobody.
	sources(now)
	now.Spec.Sources[1].RepoURL = "https://bot:hunter2hunter2@x/a.git"
	same := func(string) string { return "https://bot:******@x/a.git" }
	wanted.Spec.Source.RepoURL = "https://bot:******@x/a.git"
	if left, _ = wish.Unmask(now, wanted, same, masked); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

func TestMerged(t *testing.T) {
	before := []byte(`{"spec":{"replicas":1,"paused":true}}`)
	got, err := wish.Patch{JSON: true, Text: []byte(`[{"op":"replace","path":"/spec/replicas","value":3},{"op":"remove","path":"/spec/paused"}]`)}.Merged(before)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil || string(text) != `{"spec":{"paused":null,"replicas":3}}` {
		t.Errorf("%s %v", text, err)
	}
}
