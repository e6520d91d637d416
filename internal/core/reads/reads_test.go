package reads_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/reads"
)

func TestOf(t *testing.T) {
	got := reads.Of([]reads.Read{
		{Path: "b/x", Kind: reads.File, Digest: "1"},
		{Path: "a", Kind: reads.Listing, Digest: "2"},
		{Path: "b/x", Kind: reads.File, Digest: "1"},
		{Path: "c/d/e", Kind: reads.File, Digest: "3"},
		{Path: "c", Kind: reads.Listing, Digest: "4"},
		{Path: "c", Kind: reads.Folder, Digest: "5"},
		{Tree: "$values", Path: "c/d/e", Kind: reads.File, Digest: "6"},
	})
	want := reads.Set{
		{Path: "a", Kind: reads.Listing, Digest: "2"},
		{Path: "b/x", Kind: reads.File, Digest: "1"},
		{Path: "c", Kind: reads.Folder, Digest: "5"},
		{Tree: "$values", Path: "c/d/e", Kind: reads.File, Digest: "6"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// An application of each sort, and what it read.
func holders() *reads.Index {
	x := &reads.Index{}
	x.Set("plain", reads.Set{
		{Path: "apps/plain", Kind: reads.Listing},
		{Path: "apps/plain/a.yaml", Kind: reads.File},
		{Path: "apps/plain/Chart.yaml", Kind: reads.Absent},
	})
	x.Set("chart", reads.Set{{Path: "charts/web", Kind: reads.Folder}, {Path: "env/prod/values.yaml", Kind: reads.Absent}})
	x.Set("overlay", reads.Set{
		{Path: "overlays/one/kustomization.yaml", Kind: reads.File},
		{Path: "base", Kind: reads.Type},
		{Path: "base/kustomization.yaml", Kind: reads.File},
		{Path: "base/web.yaml", Kind: reads.File},
	})
	x.Set("linked", reads.Set{{Path: "link", Kind: reads.Link}, {Path: "base/web.yaml", Kind: reads.File}})
	x.Set("all", reads.Set{{Path: ".", Kind: reads.Folder}})
	return x
}

func TestTouched(t *testing.T) {
	tests := map[string]struct {
		changes []reads.Change
		want    []string
	}{
		"nothing":                       {nil, []string{}},
		"a file that nobody reads":      {[]reads.Change{{Path: "docs/README.md"}}, []string{"all"}},
		"a file that one reads":         {[]reads.Change{{Path: "apps/plain/a.yaml"}}, []string{"all", "plain"}},
		"a base that two read":          {[]reads.Change{{Path: "base/web.yaml"}}, []string{"all", "linked", "overlay"}},
		"deep in a folder":              {[]reads.Change{{Path: "charts/web/templates/x/y.yaml"}}, []string{"all", "chart"}},
		"a new file beside others":      {[]reads.Change{{Path: "apps/plain/b.yaml", Shape: true}}, []string{"all", "plain"}},
		"another file of the folder":    {[]reads.Change{{Path: "apps/plain/b.yaml"}}, []string{"all"}},
		"a file that was looked for":    {[]reads.Change{{Path: "env/prod/values.yaml", Shape: true}}, []string{"all", "chart"}},
		"a link that may lead to it":    {[]reads.Change{{Path: "env", Shape: true}}, []string{"all", "chart"}},
		"a link elsewhere":              {[]reads.Change{{Path: "link"}}, []string{"all", "linked"}},
		"a folder that is no more":      {[]reads.Change{{Path: "base", Shape: true}}, []string{"all", "linked", "overlay"}},
		"a name that begins alike":      {[]reads.Change{{Path: "base/web.yaml.bak", Shape: true}, {Path: "bas", Shape: true}}, []string{"all"}},
		"a change within a mere folder": {[]reads.Change{{Path: "base/other.yaml", Shape: true}}, []string{"all"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, holders().Touched(tc.changes)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestIndexForgets(t *testing.T) {
	x := holders()
	x.Set("all", nil)
	x.Set("plain", reads.Set{{Path: "apps/other/a.yaml", Kind: reads.File}})
	changes := []reads.Change{{Path: "apps/plain/a.yaml", Shape: true}, {Path: "apps/other/a.yaml"}}
	if d := cmp.Diff([]string{"plain"}, x.Touched(changes)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, holder := range []string{"plain", "chart", "overlay", "linked"} {
		x.Set(holder, nil)
	}
	if x.Len() != 0 || x.Has("chart") || len(x.Touched([]reads.Change{{Path: ".", Shape: true}})) != 0 {
		t.Error("something is left")
	}
}

// BenchmarkTouched is a push that touches one of ten thousand.
func BenchmarkTouched(b *testing.B) {
	x := &reads.Index{}
	for i := range 10_000 {
		dir := fmt.Sprintf("apps/app-%05d", i)
		set := reads.Set{{Path: dir, Kind: reads.Listing}}
		for n := range 8 {
			set = append(set, reads.Read{Path: fmt.Sprintf("%s/%d.yaml", dir, n), Kind: reads.File})
		}
		x.Set(dir, set)
	}
	changes := []reads.Change{{Path: "apps/app-04711/3.yaml"}}
	for b.Loop() {
		if len(x.Touched(changes)) != 1 {
			b.Fatal("not one")
		}
	}
}
