package cli_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

var update = flag.Bool("update", false, "write what the commands print into testdata")

// scene is a plan in the words of the test files.
type scene struct {
	Error string `json:"error"`
	Items []struct {
		Object  object.Key    `json:"object"`
		Action  plan.Action   `json:"action"`
		Sync    plan.Sync     `json:"sync"`
		Wave    int           `json:"wave"`
		Reason  string        `json:"reason"`
		Extra   bool          `json:"extra"`
		Changes []diff.Change `json:"changes"`
	} `json:"items"`
	Findings []finding.Finding `json:"findings"`
}

// Each file in testdata is a story: given applications (and a plan, projects,
// sets, clusters, files), when a command is typed, then this is printed and, of
// what people declare, written. \e stands for the escape character.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			story, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, args := given(t, story)
			got := d.run(t, args...)
			then := map[string]string{
				"then/stdout": visible(got.out), "then/stderr": visible(got.err), "then/exit": strconv.Itoa(got.code) + "\n",
				"then/wrote": lines(d.town.lines),
			}
			if *update {
				rewrite(t, file, story, then)
				return
			}
			for _, name := range outcomes {
				if d := cmp.Diff(section(story, name), then[name]); d != "" {
					t.Errorf("%s (-want +got):\n%s", name, d)
				}
			}
		})
	}
}

var outcomes = []string{"then/stdout", "then/stderr", "then/exit", "then/wrote"}

func lines(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

func given(t *testing.T, story *txtar.Archive) (*desk, []string) {
	t.Helper()
	var apps []*v1alpha1.Application
	for doc := range strings.SplitSeq(section(story, "given/applications.yaml"), "---\n") {
		app := &v1alpha1.Application{}
		if err := yaml.UnmarshalStrict([]byte(doc), app); err != nil {
			t.Fatalf("reading an application: %v", err)
		}
		if app.Name != "" {
			apps = append(apps, app)
		}
	}
	d := &desk{hub: newMemory(apps...), projects: map[string]*v1alpha1.AppProject{}, env: map[string]string{}}
	if text := section(story, "given/project.yaml"); text != "" {
		p := &v1alpha1.AppProject{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatalf("reading the project: %v", err)
		}
		d.projects[p.Name] = p
	}
	var s scene
	if err := yaml.UnmarshalStrict([]byte(section(story, "given/plan.yaml")), &s); err != nil {
		t.Fatalf("reading the plan: %v", err)
	}
	d.plan = s.plan()
	if s.Error != "" {
		d.planErr = errors.New(s.Error)
	}
	if err := yaml.UnmarshalStrict([]byte(section(story, "given/drift.yaml")), &d.drift); err != nil {
		t.Fatalf("reading the drift: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(section(story, "given/rbac.yaml")), &d.rbac); err != nil {
		t.Fatalf("reading the permissions: %v", err)
	}
	d.town = newTown(t, func(name string) string { return section(story, name) })
	d.files = map[string]string{}
	for _, f := range story.Files {
		if name, ok := strings.CutPrefix(f.Name, "file/"); ok {
			d.files[name] = string(f.Data)
		}
	}
	words := strings.Fields(section(story, "when"))
	for len(words) > 0 && words[0] != "towline" {
		k, v, _ := strings.Cut(words[0], "=")
		d.env[k] = v
		words = words[1:]
	}
	return d, words[1:]
}

func (s scene) plan() plan.Plan {
	p := plan.Plan{Findings: s.Findings}
	for _, it := range s.Items {
		item := plan.Item{
			Key: it.Object, Version: "v1", Action: it.Action, Sync: it.Sync, Phase: plan.InSync, Wave: it.Wave, Reason: it.Reason,
			Verdict: diff.Verdict{Changes: it.Changes},
		}
		if it.Action != plan.Create {
			item.Live = &object.Fact{Key: it.Object, Extra: it.Extra}
		}
		item.Prunable = it.Action == plan.Prune
		p.Items = append(p.Items, item)
	}
	return p
}

func section(story *txtar.Archive, name string) string {
	for _, f := range story.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func visible(s string) string { return strings.ReplaceAll(s, "\x1b", `\e`) }

func rewrite(t *testing.T, file string, story *txtar.Archive, then map[string]string) {
	t.Helper()
	var keep []txtar.File
	for _, f := range story.Files {
		if !strings.HasPrefix(f.Name, "then/") {
			keep = append(keep, f)
		}
	}
	for _, name := range outcomes {
		if then[name] != "" {
			keep = append(keep, txtar.File{Name: name, Data: []byte(then[name])})
		}
	}
	story.Files = keep
	if err := os.WriteFile(file, txtar.Format(story), 0o644); err != nil {
		t.Fatal(fmt.Errorf("writing %s: %w", file, err))
	}
}
