package chart_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/test/story"
)

func TestDependencies(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(_ *testing.T, part map[string][]byte) string {
		files := chart.Files{
			Dir:   strings.TrimSpace(string(part["dir"])),
			Chart: part["Chart.yaml"], Requirements: part["requirements.yaml"], Lock: part["Chart.lock"],
			Present: strings.Fields(string(part["charts"])),
		}
		if files.Lock == nil {
			files.Lock = part["requirements.lock"]
		}
		missing, err := chart.Dependencies(files)
		if err != nil {
			return fmt.Sprintf("%v %s: %v\n", fault.ClassOf(err), fault.ReasonOf(err), err)
		}
		var then strings.Builder
		for _, m := range missing {
			if m.Path != "" {
				fmt.Fprintf(&then, "%s %s in the folder %s\n", m.Name, m.Version, m.Path)
				continue
			}
			fmt.Fprintf(&then, "%s %s from %s, because of %s\n", m.Need.Chart, m.Need.Revision, m.Need.URL, m.Need.Why)
		}
		if then.Len() == 0 {
			return "nothing is missing\n"
		}
		return then.String()
	})
}

func TestAlias(t *testing.T) {
	for repository, want := range map[string]string{"@team": "team", "alias:team": "team", "https://x": "", "@": "", "alias:": "", "": ""} {
		if got, ok := chart.Alias(repository); got != want || ok != (want != "") {
			t.Errorf("Alias(%q) = %q, %v", repository, got, ok)
		}
	}
}
