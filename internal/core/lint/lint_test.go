package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/kustomize"
	"github.com/towline-cd/towline/test/story"
)

// The files of a story are those of a repository, below "against/" those that
// are deployed; "repository" is what is known of one, and "live" makes the
// files objects of a cluster.
func TestStories(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		t.Helper()
		var in lint.Input
		for _, name := range slices.Sorted(maps.Keys(part)) {
			switch {
			case name == "then":
			case name == "live":
				in.Live = true
			case name == "skip":
				in.Skip = strings.Fields(string(part[name]))
			case name == "repository":
				var r lint.Repository
				if err := yaml.UnmarshalStrict(part[name], &r); err != nil {
					t.Fatal(err)
				}
				in.Repositories = append(in.Repositories, r)
			case strings.HasPrefix(name, "against/"):
				in.Against = append(in.Against, lint.File{Name: strings.TrimPrefix(name, "against/"), Text: part[name]})
			default:
				in.Files = append(in.Files, lint.File{Name: name, Text: part[name]})
			}
		}
		in.Settings = settings
		in.Builds = builds(t, in.Files)
		return told(lint.Look(in))
	})
}

// builds has the kustomizations of a story built, by kustomize itself.
func builds(t *testing.T, files []lint.File) []lint.Build {
	t.Helper()
	tree := fstest.MapFS{}
	for _, f := range files {
		tree[f.Name] = &fstest.MapFile{Data: f.Text}
	}
	var out []lint.Build
	for _, folder := range lint.Roots(files) {
		b := lint.Build{Folder: folder}
		result, err := kustomize.Render(t.Context(), manifest.Trees{"": tree}, manifest.Request{
			Source: v1alpha1.ApplicationSource{Path: folder},
			Build:  manifest.Build{KustomizeOptions: "--load-restrictor=LoadRestrictionsNone", Origins: true},
		})
		if err != nil {
			b.Fault = err.Error()
		}
		for _, n := range result.Needs {
			b.Needs = append(b.Needs, n.URL)
		}
		for _, o := range result.Objects {
			b.Objects = append(b.Objects, lint.NewBuilt(folder, o.Object))
		}
		out = append(out, b)
	}
	return out
}

// settings stands for the reader of argocd-cm, which is no part of the core.
func settings(data map[string]string) (problems, notHonoured []string) {
	if v := data["timeout.reconciliation"]; v != "" && !strings.ContainsAny(v, "smh") {
		problems = append(problems, fmt.Sprintf("timeout.reconciliation: %q is not a duration like 180s or 3m; using 2m0s", v))
	}
	if data["ui.cssurl"] != "" {
		notHonoured = append(notHonoured, "ui.cssurl")
	}
	return problems, notHonoured
}

func told(r lint.Report) string {
	var out strings.Builder
	for _, f := range r.Findings {
		as := ""
		if f.Build != "" {
			as = " as built from " + f.Build
		}
		fmt.Fprintf(&out, "%s:%d: %s %s: %s [%s]%s\n    %s\n    fix: %s\n",
			f.File, f.Line, f.Severity, f.Check, f.Object, f.Field, as, f.Message, f.Fix)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&out, "not read: %s\n", u)
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// A check that no story tells of may not work any more.
func TestEveryCheckHasAStory(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, c := range lint.Checks() {
		if !strings.Contains(all.String(), "error "+c.Name+":") && !strings.Contains(all.String(), "warning "+c.Name+":") {
			t.Errorf("no story has a finding of check %q (%s)", c.Name, c.What)
		}
	}
}

// Every name that a finding has is on the list that people read.
func TestFindingsAreOnTheList(t *testing.T) {
	var names []string
	for _, c := range lint.Checks() {
		names = append(names, c.Name)
	}
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		t.Helper()
		for line := range strings.Lines(string(part["then"])) {
			for _, severity := range []string{": error ", ": warning "} {
				_, rest, ok := strings.Cut(line, severity)
				if check, _, _ := strings.Cut(rest, ":"); ok && !strings.HasPrefix(line, " ") && !slices.Contains(names, check) {
					t.Errorf("check %q is not on the list", check)
				}
			}
		}
		return string(part["then"])
	})
}
