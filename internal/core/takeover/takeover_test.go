package takeover_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/takeover"
	"github.com/towline-cd/towline/test/story"
)

// given is an installation in the words of the data files.
type given struct {
	Workloads    []takeover.Workload              `json:"workloads"`
	Applications []*v1alpha1.Application          `json:"applications"`
	Autoscaled   []takeover.Autoscaled            `json:"autoscaled"`
	Repositories []takeover.Place                 `json:"repositories"`
	Failed       map[string]string                `json:"failed"`
	Differences  map[string][]takeover.Difference `json:"differences"`
}

func TestStories(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		t.Helper()
		var in given
		if err := yaml.UnmarshalStrict(part["given"], &in); err != nil {
			t.Fatal(err)
		}
		var then any
		switch question := strings.TrimSpace(string(part["when"])); question {
		case "take":
			then = takeover.Take(in.Workloads)
		case "back":
			then = takeover.Back(in.Workloads)
		case "passive":
			return takeover.Passive(takeover.Rivals(in.Workloads)) + "\n"
		case "check":
			i := takeover.Installation{
				Workloads: in.Workloads, Applications: in.Applications, Autoscaled: in.Autoscaled, Repositories: in.Repositories,
				Failed: in.Failed, Differences: in.Differences,
			}
			for _, app := range in.Applications {
				text, err := yaml.Marshal(app)
				if err != nil {
					t.Fatal(err)
				}
				i.Objects = append(i.Objects, lint.File{Name: app.Name, Text: text})
			}
			then = takeover.Check(i)
		default:
			t.Fatalf("nobody knows %q", question)
		}
		out, err := yaml.Marshal(then)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	})
}

func TestCompare(t *testing.T) {
	theirs := &v1alpha1.Application{}
	theirs.Status.Sync = v1alpha1.SyncStatus{Status: v1alpha1.SyncStatusCodeSynced, Revision: "a"}
	theirs.Status.Health.Status = v1alpha1.HealthStatusHealthy
	theirs.Status.Resources = []v1alpha1.ResourceStatus{
		{Kind: "ConfigMap", Namespace: "n", Name: "same", Status: v1alpha1.SyncStatusCodeSynced},
		{Kind: "ConfigMap", Namespace: "n", Name: "lied", Status: v1alpha1.SyncStatusCodeSynced},
		{Group: "batch", Kind: "Job", Namespace: "n", Name: "hook"},
	}
	ours := *theirs.Status.DeepCopy()
	if !takeover.Comparable(theirs, ours) || len(takeover.Compare(theirs, ours)) > 0 {
		t.Fatal("the same differs from itself")
	}
	ours.Sync.Status = v1alpha1.SyncStatusCodeOutOfSync
	ours.Resources = ours.Resources[:2]
	ours.Resources[1].Status = v1alpha1.SyncStatusCodeOutOfSync
	var got []string
	for _, d := range takeover.Compare(theirs, ours) {
		got = append(got, d.String())
	}
	want := "sync: Argo CD says Synced, Towline OutOfSync\nConfigMap n/lied sync: Argo CD says Synced, Towline OutOfSync"
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q", got)
	}
	ours.Sync.Revision = "b"
	if takeover.Comparable(theirs, ours) {
		t.Error("looks at two revisions are compared")
	}
	ours.Sync.Revision = "a"
	theirs.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning}
	if takeover.Comparable(theirs, ours) {
		t.Error("a look in the middle of a sync is compared")
	}
}
