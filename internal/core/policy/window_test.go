package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/test/story"
)

// shop is the application that the stories are about, unless they say otherwise.
var shop = policy.WindowSubject{App: "shop", Namespace: "retail", Server: "https://prod.example.com", ClusterName: "prod"}

// Each file is a story: given the windows of a project, when a sync is asked for ("TIME auto" or "TIME manual", with
// "since TIME" if it runs already, and "app=NAME" and the like for another application), then this is the answer.
func TestWindows(t *testing.T) {
	story.Play(t, "testdata/windows/*.txtar", func(t *testing.T, part map[string][]byte) string {
		project := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
		if err := yaml.UnmarshalStrict(part["given"], &project.Spec.SyncWindows); err != nil {
			t.Fatal(err)
		}
		windows := policy.WindowsOf(project)
		var got strings.Builder
		for line := range strings.Lines(string(part["when"])) {
			answer(t, &got, windows, strings.TrimSpace(line))
		}
		for _, fault := range policy.WindowFaults(windows) {
			fmt.Fprintf(&got, "fault: %s\n", fault)
		}
		return got.String()
	})
}

func answer(t *testing.T, out *strings.Builder, windows []policy.Window, line string) {
	t.Helper()
	words := strings.Fields(line)
	at, subject := clock(t, words[0]), shop
	if words[1] == "explain" {
		for _, s := range policy.ExplainWindows(windows, subject, at) {
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "%s\n    %s\n", line, data)
		}
		return
	}
	op := policy.WindowOp{Manual: words[1] == "manual"}
	for i, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "since":
			op.Started = clock(t, words[i+3])
		case "app":
			subject.App = value
		case "namespace":
			subject.Namespace = value
		case "server":
			subject.Server = value
		case "cluster":
			subject.ClusterName = value
		}
	}
	v := policy.Windows(windows, subject, at, op)
	word, next := "blocked", "always"
	if v.Allowed {
		word = "allowed"
	}
	if !v.Next.IsZero() {
		next = "at least until " + v.Next.Format("2006-01-02T15:04Z")
	}
	fmt.Fprintf(out, "%s: %s %s\n    %s\n", line, word, next, v.Reason)
}

func clock(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Nothing that is written in a project makes the program fall over.
func FuzzWindows(f *testing.F) {
	f.Add("0 22 * * *", "8h", "Europe/Berlin", "*")
	f.Add("TZ=0 * * * * *", "-1h", "..", "[")
	f.Add("CRON_TZ= * * * * *", "9999999h", "Local", "{")
	f.Add("*/0 99-1 1/ , ?", "1ns", "", "\\")
	f.Fuzz(func(t *testing.T, schedule, duration, zone, glob string) {
		project := &v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SyncWindows: v1alpha1.SyncWindows{
			{Kind: "allow", Schedule: schedule, Duration: duration, TimeZone: zone, Applications: []string{glob}},
		}}}
		policy.Windows(policy.WindowsOf(project), shop, time.Date(2026, 3, 29, 1, 2, 3, 4, time.UTC), policy.WindowOp{})
	})
}

func BenchmarkWindows(b *testing.B) {
	for name, schedule := range map[string]string{"nightly": "0 22 * * *", "always": "* * * * *", "never": "0 0 30 2 *"} {
		b.Run(name, func(b *testing.B) {
			windows := policy.WindowsOf(&v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SyncWindows: v1alpha1.SyncWindows{
				{Kind: "deny", Schedule: schedule, Duration: "1h", TimeZone: "Europe/Berlin", Applications: []string{"*"}},
			}}})
			at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
			for b.Loop() {
				policy.Windows(windows, shop, at, policy.WindowOp{})
			}
		})
	}
}
