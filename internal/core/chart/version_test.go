package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/chart"
)

func TestPick(t *testing.T) {
	all := []string{"1.0.0", "1.2.0", "1.2.10", "1.2.9", "2.0.0-rc.1", "2.0.0", "3.0.0-alpha", "v0.9.0", "1.3.0+build.2", "1.3.0+build.1", "nonsense"}
	tests := map[string]struct {
		want     string
		versions []string
		picked   string
	}{
		"exact":                             {want: "1.2.0", picked: "1.2.0"},
		"exact before a release":            {want: "2.0.0-rc.1", picked: "2.0.0-rc.1"},
		"exact and no version at all":       {want: "nonsense", picked: "nonsense"},
		"with a v that the version has not": {want: "v1.2.0", picked: "1.2.0"},
		"without a v that the version has":  {want: "0.9.0", picked: "v0.9.0"},
		"nothing is the newest release":     {want: "", picked: "2.0.0"},
		"star":                              {want: "*", picked: "2.0.0"},
		"star within":                       {want: "1.*", picked: "1.3.0+build.2"},
		"two numbers":                       {want: "1.2", picked: "1.2.10"},
		"caret":                             {want: "^1.2", picked: "1.3.0+build.2"},
		"tilde":                             {want: "~1.2.0", picked: "1.2.10"},
		"two bounds":                        {want: ">=1.0.0 <1.3", picked: "1.2.10"},
		"before a release, asked for":       {want: ">0.0.0-0", picked: "3.0.0-alpha"},
		"before a release, asked for in one line": {want: "^2.0.0-0", picked: "2.0.0"},
		"either":                {want: "1.0.0 || 1.2.0", picked: "1.2.0"},
		"none in the range":     {want: "^4", picked: ""},
		"no range":              {want: "latest", picked: ""},
		"only before a release": {want: "", versions: []string{"1.0.0-rc.1"}, picked: ""},
		"none at all":           {want: "", versions: []string{}, picked: ""},
		"far too long":          {want: strings.Repeat(">=1.0.0 ", 100_000), picked: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			versions := tc.versions
			if versions == nil {
				versions = all
			}
			picked, ok := chart.Pick(versions, tc.want)
			if picked != tc.picked || ok != (tc.picked != "") {
				t.Errorf("Pick(%q) = %q, %v, want %q", tc.want, picked, ok, tc.picked)
			}
		})
	}
}

func TestIsRange(t *testing.T) {
	for _, text := range []string{"", "*", "1", "1.2", "1.*", "^1.2.3", "~1", ">=1 <2", "1.x", ">0.0.0-0"} {
		if !chart.IsRange(text) {
			t.Errorf("IsRange(%q) = false", text)
		}
	}
	for _, text := range []string{"1.2.3", "v1.2.3", "1.2.3-rc.1", "1.2.3+build", "latest", "main", strings.Repeat("1.", 1000)} {
		if chart.IsRange(text) {
			t.Errorf("IsRange(%q) = true", text)
		}
	}
}

func TestNear(t *testing.T) {
	versions := []string{"1.0.0", "1.2.0", "1.2.1", "2.0.0", "2.1.0", "3.0.0", "nonsense"}
	if diff := cmp.Diff([]string{"1.2.1", "1.2.0", "1.0.0", "3.0.0", "2.1.0"}, chart.Near(versions, "1.2.3")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3.0.0", "2.1.0", "2.0.0", "1.2.1", "1.2.0"}, chart.Near(versions, "latest")); diff != "" {
		t.Error(diff)
	}
}
