package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/doctor"
	"github.com/towline-cd/towline/test/story"
)

func TestStories(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		t.Helper()
		var f doctor.Facts
		if err := yaml.UnmarshalStrict(part["given"], &f); err != nil {
			t.Fatal(err)
		}
		for _, r := range doctor.Rights("argocd") {
			if strings.Contains(string(part["denied"]), r.String()) {
				continue
			}
			r.Allowed = true
			f.Rights = append(f.Rights, r)
		}
		for _, r := range doctor.Rights("argocd") {
			if part["denied"] != nil && strings.Contains(string(part["denied"]), r.String()) {
				f.Rights = append(f.Rights, r)
			}
		}
		results := doctor.Examine(f)
		var out strings.Builder
		for _, r := range results {
			fmt.Fprintf(&out, "%s %s: %s\n", r.Level, r.Check, r.Message)
			if r.Fix != "" {
				fmt.Fprintf(&out, "    fix: %s\n", r.Fix)
			}
			if r.Level == doctor.Failed && r.Fix == "" {
				t.Errorf("%s has no way out", r.Check)
			}
		}
		fmt.Fprintf(&out, "sick: %t\n", doctor.Sick(results))
		return out.String()
	})
}
