package backup_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/backup"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

// Each file is a story: given the objects of an installation, and a text, when it is imported, then these are the steps. A
// story without a text is about what an export holds.
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
			part := func(name string) string {
				for _, f := range story.Files {
					if f.Name == name {
						return string(f.Data)
					}
				}
				return ""
			}
			live := objects(t, part("given/live.yaml"))
			got := ""
			if part("given/text.yaml") == "" {
				for _, u := range backup.Kept(live, "argocd") {
					text, err := yaml.Marshal(u.Object)
					if err != nil {
						t.Fatal(err)
					}
					got += "---\n" + string(text)
				}
			} else {
				o := backup.Options{Namespace: "argocd"}
				if err := yaml.UnmarshalStrict([]byte(part("when")), &o); err != nil {
					t.Fatal(err)
				}
				got = told(backup.Import(objects(t, part("given/text.yaml")), live, o))
			}
			if *update {
				story.Files[len(story.Files)-1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(story), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(part("then"), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out = append(out, &unstructured.Unstructured{Object: o})
		}
	}
	return out
}

func told(steps []backup.Step, err error) string {
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s %s %s/%s", s.Action, s.Object.GetKind(), s.Object.GetNamespace(), s.Object.GetName())
		if s.Why != "" {
			fmt.Fprintf(&b, ": %s", s.Why)
		}
		b.WriteString("\n")
		if s.Action == backup.Created || s.Action == backup.Updated {
			text, err := yaml.Marshal(s.Object.Object)
			if err != nil {
				return err.Error()
			}
			for line := range strings.Lines(string(text)) {
				b.WriteString("    " + line)
			}
		}
	}
	return b.String()
}

// TestRestoresItself: what is exported and imported again changes nothing.
func TestRestoresItself(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		story, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		live := objects(t, string(story.Files[0].Data))
		text := backup.Kept(live, "argocd")
		if len(text) == 0 {
			continue
		}
		steps, err := backup.Import(text, live, backup.Options{Namespace: "argocd", Prune: true})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, s := range steps {
			if s.Action != backup.Unchanged && s.Action != backup.Skipped {
				t.Errorf("%s: %s %s is %s", file, s.Object.GetKind(), s.Object.GetName(), s.Action)
			}
		}
	}
}
