package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/status"
)

var (
	dawn = time.Date(2026, 1, 2, 6, 0, 0, 123, time.FixedZone("CET", 3600))
	noon = dawn.Add(6 * time.Hour)
)

func at(t time.Time) *metav1.Time {
	out := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &out
}

func newApp() *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "argocd"},
		Spec: v1alpha1.ApplicationSpec{
			Source:      &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop", Path: "."},
			Destination: v1alpha1.ApplicationDestination{Server: "https://cluster", Namespace: "shop"},
		},
	}
}

func input(app *v1alpha1.Application, now time.Time, items ...plan.Item) status.Input {
	return status.Input{
		App: app, Plan: &plan.Plan{Items: items}, Content: content(*app.Spec.Source),
		Types: []v1alpha1.SourceType{v1alpha1.SourceTypeDirectory}, ControlNamespace: "argocd", Now: now,
	}
}

// live is an object that is as desired and has this health.
func live(kind, name string, h health.Status, message string) plan.Item {
	k := object.Key{Kind: kind, Namespace: "shop", Name: name}
	if kind == "Application" {
		k.Group, k.Namespace = v1alpha1.Group, "argocd"
	}
	return plan.Item{
		Key: k, Version: "v1", Action: plan.Unchanged, Sync: plan.Synced, Phase: plan.InSync,
		Live: &object.Fact{Key: k, Health: health.Health{Status: h, Message: message}},
	}
}

func missing(kind, name string) plan.Item {
	k := object.Key{Kind: kind, Namespace: "shop", Name: name}
	return plan.Item{Key: k, Version: "v1", Action: plan.Create, Sync: plan.OutOfSync, Phase: plan.InSync}
}

func prunable(name string, h health.Status) plan.Item {
	it := live("ConfigMap", name, h, "")
	it.Action, it.Sync, it.Prunable = plan.Prune, plan.OutOfSync, true
	return it
}

func aside(it plan.Item) plan.Item {
	it.Aside, it.Sync = true, ""
	return it
}

func TestFirstLook(t *testing.T) {
	app := newApp()
	app.Spec.IgnoreDifferences = []v1alpha1.ResourceIgnoreDifferences{{Kind: "Deployment"}}
	web := live("Deployment", "web", health.Progressing, "1 of 2 replicas")
	web.Key.Group, web.Wave = "apps", 3
	web.Live.Images = []string{"web:1", "side:1"}
	in := input(app, dawn, web, live("ConfigMap", "config", "", ""), missing("ConfigMap", "absent"))
	in.Findings = []finding.Finding{{Reason: finding.Sync, Severity: finding.Error, Message: "no"}}
	in.Operation = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning}
	want := v1alpha1.ApplicationStatus{
		Sync: v1alpha1.SyncStatus{
			Status: v1alpha1.SyncStatusCodeOutOfSync, Revision: "c0ffee",
			ComparedTo: v1alpha1.ComparedTo{
				Source: *app.Spec.Source, Destination: app.Spec.Destination, IgnoreDifferences: app.Spec.IgnoreDifferences,
			},
		},
		Health: v1alpha1.HealthStatus{
			Status: v1alpha1.HealthStatusProgressing, Message: "Deployment.apps shop/web: 1 of 2 replicas", LastTransitionTime: at(dawn),
		},
		Resources: []v1alpha1.ResourceStatus{
			{
				Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "absent", Status: v1alpha1.SyncStatusCodeOutOfSync,
				Health: &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusMissing},
			},
			{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config", Status: v1alpha1.SyncStatusCodeSynced},
			{
				Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", Status: v1alpha1.SyncStatusCodeSynced,
				SyncWave: 3, Health: &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusProgressing, Message: "1 of 2 replicas"},
			},
		},
		Conditions:          []v1alpha1.ApplicationCondition{{Type: v1alpha1.ApplicationConditionSyncError, Message: "no", LastTransitionTime: at(dawn)}},
		Summary:             v1alpha1.ApplicationSummary{Images: []string{"side:1", "web:1"}},
		SourceType:          v1alpha1.SourceTypeDirectory,
		ControllerNamespace: "argocd",
		OperationState:      in.Operation,
		ReconciledAt:        at(dawn),
	}
	if d := cmp.Diff(want, status.Project(in)); d != "" {
		t.Errorf("the status differs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(newApp().Status, app.Status); d != "" {
		t.Errorf("the application was changed:\n%s", d)
	}
}

// TestNothingChangedIsEqual: a look that finds the same as the last one gives
// the very same status, whatever the time: "still fine" is not worth a write.
func TestNothingChangedIsEqual(t *testing.T) {
	cases := map[string]func(*status.Input){
		"healthy":       func(in *status.Input) { in.Plan.Items = []plan.Item{live("Pod", "a", health.Healthy, "")} },
		"empty":         func(in *status.Input) { in.Plan.Items = nil },
		"missing":       func(in *status.Input) { in.Plan.Items = []plan.Item{missing("Pod", "a")} },
		"never seen":    func(in *status.Input) { in.Plan = nil },
		"no revision":   func(in *status.Input) { in.Plan, in.Content.Revisions = nil, nil },
		"degraded":      func(in *status.Input) { in.Plan.Items = []plan.Item{live("Pod", "a", health.Degraded, "no")} },
		"with pruning":  func(in *status.Input) { in.Plan.Items = []plan.Item{prunable("a", health.Healthy)} },
		"with findings": func(in *status.Input) { in.Findings = findings("b", "a", "b") },
		"long findings": func(in *status.Input) { in.Findings = findings(strings.Repeat("ä", 4000), "a") },
		"operation":     func(in *status.Input) { in.Operation = &v1alpha1.OperationState{Phase: v1alpha1.OperationSucceeded} },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			app := newApp()
			in := input(app, dawn)
			change(&in)
			first := status.Project(in)
			in.App = newApp()
			in.App.Status = *first.DeepCopy()
			in.Now = noon
			if d := cmp.Diff(first, status.Project(in)); d != "" {
				t.Errorf("the second look differs (-first +second):\n%s", d)
			}
		})
	}
}

func findings(messages ...string) []finding.Finding {
	var out []finding.Finding
	for _, m := range messages {
		out = append(out, finding.Finding{Reason: finding.Comparison, Severity: finding.Error, Message: m})
	}
	return out
}

func TestHealthTimeMovesWithTheStatusOnly(t *testing.T) {
	app := newApp()
	app.Status = status.Project(input(app, dawn, live("Pod", "a", health.Progressing, "1 of 3")))
	said := status.Project(input(app, noon, live("Pod", "a", health.Progressing, "2 of 3")))
	if !said.Health.LastTransitionTime.Equal(at(dawn)) || !strings.Contains(said.Health.Message, "2 of 3") || !said.ReconciledAt.Equal(at(noon)) {
		t.Errorf("another message: got %+v at %v", said.Health, said.ReconciledAt)
	}
	moved := status.Project(input(app, noon, live("Pod", "a", health.Healthy, "")))
	if !moved.Health.LastTransitionTime.Equal(at(noon)) || moved.Health.Message != "" {
		t.Errorf("another status: got %+v", moved.Health)
	}
}

func TestConditions(t *testing.T) {
	app := newApp()
	in := input(app, dawn)
	in.Findings = append(findings("stays"), finding.Finding{Reason: finding.Sync, Message: "changes"}, finding.Finding{Reason: finding.InvalidSpec, Message: "goes"})
	app.Status = status.Project(in)
	in = input(app, noon)
	in.Findings = append(findings("stays"), finding.Finding{Reason: finding.Sync, Message: "changed"}, finding.Finding{Reason: finding.NotHonoured, Message: "comes"})
	got := status.Project(in).Conditions
	want := []v1alpha1.ApplicationCondition{
		{Type: "ComparisonError", Message: "stays", LastTransitionTime: at(dawn)},
		{Type: "NotHonouredWarning", Message: "comes", LastTransitionTime: at(noon)},
		{Type: "SyncError", Message: "changed", LastTransitionTime: at(noon)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the conditions differ (-want +got):\n%s", d)
	}
	if got := status.Project(input(app, noon)).Conditions; len(got) != 0 {
		t.Errorf("without findings there are %v", got)
	}
}

func TestConditionsOfATypeAreJoined(t *testing.T) {
	in := input(newApp(), dawn)
	in.Findings = findings("b", "a", "b")
	got := status.Project(in).Conditions
	if len(got) != 1 || got[0].Message != "a; b" {
		t.Errorf("got %+v", got)
	}
	in.Findings = findings(strings.Repeat("ä", 5000))
	long := status.Project(in).Conditions[0].Message
	if len(long) > 4100 || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("a long message has %d bytes and ends with %q", len(long), long[len(long)-8:])
	}
}

// TestUnknownKeepsWhatWasSeen: when the comparison failed the objects are
// still what they were, and only the verdict is not known.
func TestUnknownKeepsWhatWasSeen(t *testing.T) {
	app := newApp()
	pod := live("Pod", "a", health.Degraded, "crashed")
	pod.Live.Images = []string{"web:1"}
	app.Status = status.Project(input(app, dawn, pod))
	in := input(app, noon)
	in.Plan, in.Content.Revisions, in.Types = nil, nil, nil
	in.Findings = findings("no network")
	got := status.Project(in)
	want := *app.Status.DeepCopy()
	want.Sync.Status = v1alpha1.SyncStatusCodeUnknown
	want.Conditions = []v1alpha1.ApplicationCondition{{Type: "ComparisonError", Message: "no network", LastTransitionTime: at(noon)}}
	want.ReconciledAt = at(noon)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the status differs (-want +got):\n%s", d)
	}
	in.Content.Revisions = []string{"beef"}
	if got := status.Project(in).Sync.Revision; got != "beef" {
		t.Errorf("the revision that could not be compared is %q", got)
	}
}

func TestNeverComparedIsUnknown(t *testing.T) {
	in := input(newApp(), dawn)
	in.Plan = nil
	got := status.Project(in)
	if got.Health.Status != v1alpha1.HealthStatusUnknown || got.Health.Message == "" || got.Sync.Status != v1alpha1.SyncStatusCodeUnknown {
		t.Errorf("got %+v and %+v", got.Health, got.Sync)
	}
}

func TestHealthOfTheWhole(t *testing.T) {
	quiet := live("Pod", "quiet", health.Degraded, "")
	quiet.Live.Quiet = true
	guessed := live("Boat", "guessed", health.Degraded, "")
	guessed.Live.Health.Source = health.FromConditions
	skipped := missing("ConfigMap", "skipped")
	skipped.Action, skipped.Sync = plan.Skip, plan.Unknown
	cases := map[string]struct {
		items []plan.Item
		want  v1alpha1.HealthStatusCode
	}{
		"no objects":                        {nil, "Healthy"},
		"all missing":                       {[]plan.Item{missing("Pod", "a"), missing("Pod", "b")}, "Missing"},
		"some missing do not count":         {[]plan.Item{missing("Pod", "a"), live("Pod", "b", health.Healthy, "")}, "Healthy"},
		"missing beside one without health": {[]plan.Item{missing("Pod", "a"), live("ConfigMap", "b", "", "")}, "Healthy"},
		"the worst counts":                  {[]plan.Item{live("Pod", "a", health.Healthy, ""), live("Pod", "b", health.Degraded, ""), live("Pod", "c", health.Progressing, "")}, "Degraded"},
		"a quiet one does not":              {[]plan.Item{live("Pod", "a", health.Healthy, ""), quiet}, "Healthy"},
		"one that Argo CD does not judge":   {[]plan.Item{live("Pod", "a", health.Healthy, ""), guessed}, "Degraded"},
		"only a quiet one":                  {[]plan.Item{quiet}, "Healthy"},
		"what is to be pruned does not":     {[]plan.Item{live("Pod", "a", health.Healthy, ""), prunable("b", health.Degraded)}, "Healthy"},
		"all missing, one to be pruned":     {[]plan.Item{missing("Pod", "a"), prunable("b", health.Healthy)}, "Missing"},
		"what is made aside does not":       {[]plan.Item{live("Pod", "a", health.Healthy, ""), aside(missing("Namespace", "b"))}, "Healthy"},
		"the namespace alone is missing":    {[]plan.Item{aside(missing("Namespace", "b"))}, "Healthy"},
		"all missing, the namespace stands": {[]plan.Item{missing("Pod", "a"), aside(live("Namespace", "b", "", ""))}, "Missing"},
		"itself does not":                   {[]plan.Item{live("Application", "shop", health.Degraded, "")}, "Healthy"},
		"a child does":                      {[]plan.Item{live("Application", "child", health.Degraded, "")}, "Degraded"},
		"a child that is not known yet":     {[]plan.Item{live("Application", "child", health.Unknown, "")}, "Healthy"},
		"a child whose objects are missing": {[]plan.Item{live("Application", "child", health.Missing, "")}, "Healthy"},
		"an object of unknown health":       {[]plan.Item{live("Pod", "a", health.Unknown, "")}, "Unknown"},
		"a skipped one is not missing":      {[]plan.Item{skipped}, "Healthy"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := status.Project(input(newApp(), dawn, c.items...)).Health; got.Status != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

// TestHealthByLetter: what Argo CD does not judge does not count there.
func TestHealthByLetter(t *testing.T) {
	guessed := live("Boat", "guessed", health.Degraded, "")
	guessed.Live.Health.Source = health.FromConditions
	in := input(newApp(), dawn, live("Pod", "a", health.Healthy, ""), guessed)
	in.ByLetter = true
	if got := status.Project(in).Health; got.Status != "Healthy" {
		t.Errorf("got %+v", got)
	}
}

func TestResources(t *testing.T) {
	hook := missing("Job", "migrate")
	hook.Action, hook.Sync, hook.Hook = plan.RunHook, "", true
	blind := missing("Event", "a")
	blind.Action, blind.Sync = plan.Skip, plan.Unknown
	got := status.Project(input(newApp(), dawn,
		prunable("z", health.Healthy), hook, aside(missing("Namespace", "n")), aside(live("Namespace", "m", "", "")), blind)).Resources
	want := []v1alpha1.ResourceStatus{
		{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "z", Status: v1alpha1.SyncStatusCodeOutOfSync, RequiresPruning: true,
			Health: &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusHealthy},
		},
		{Version: "v1", Kind: "Event", Namespace: "shop", Name: "a", Status: v1alpha1.SyncStatusCodeUnknown},
		{Version: "v1", Kind: "Job", Namespace: "shop", Name: "migrate", Hook: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the resources differ (-want +got):\n%s", d)
	}
}

func TestSummary(t *testing.T) {
	a, b := live("Pod", "a", health.Healthy, ""), live("Pod", "b", health.Healthy, "")
	a.Live.Images, b.Live.Images = []string{"z:1", "a:1"}, []string{"m:1", "z:1"}
	got := status.Project(input(newApp(), dawn, a, b)).Summary
	if d := cmp.Diff(v1alpha1.ApplicationSummary{Images: []string{"a:1", "m:1", "z:1"}}, got); d != "" {
		t.Errorf("the summary differs (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"z:1", "a:1"}, a.Live.Images); d != "" {
		t.Errorf("the fact was changed:\n%s", d)
	}
	if !status.Project(input(newApp(), dawn, live("Application", "child", health.Healthy, ""))).Summary.IsAppOfApps {
		t.Error("an application with a child is no app of apps")
	}
	other := missing("Application", "theirs")
	other.Key.Group = "example.com"
	if status.Project(input(newApp(), dawn, other)).Summary.IsAppOfApps {
		t.Error("another's Application makes an app of apps")
	}
}
