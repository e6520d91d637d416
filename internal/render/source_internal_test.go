package render

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// TestSource plays the files of testdata/source: "given/…" is the tree, "when" is the request as JSON, "then" is what comes
// of it. Helm and Kustomize tell what they were given.
func TestSource(t *testing.T) {
	before := maps.Clone(tools)
	t.Cleanup(func() { tools = before })
	archives, err := filepath.Glob("testdata/source/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("finding testdata: %v, %v", archives, err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			parsed, err := txtar.ParseFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			tree := fstest.MapFS{}
			var asked struct {
				manifest.Request
				NoPlugin bool
			}
			want := ""
			for _, file := range parsed.Files {
				path, isTree := strings.CutPrefix(file.Name, "given/")
				switch {
				case isTree:
					tree[path] = &fstest.MapFile{Data: file.Data}
				case file.Name == "when":
					if err := json.Unmarshal(file.Data, &asked); err != nil {
						t.Fatal(err)
					}
				case file.Name == "then":
					want = strings.TrimSpace(string(file.Data))
				}
			}
			tools = maps.Clone(before)
			tools[v1alpha1.SourceTypeHelm], tools[v1alpha1.SourceTypeKustomize] = echo, echo
			if asked.NoPlugin {
				delete(tools, v1alpha1.SourceTypePlugin)
			}
			got := told(Local(t.Context(), manifest.Trees{"": tree}, asked.Request))
			if diff := cmp.Diff(want, strings.TrimSpace(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// echo gives the source that it was given.
func echo(_ context.Context, _ manifest.Trees, req manifest.Request) (manifest.Result, error) {
	source, err := json.Marshal(req.Source)
	given := strings.Replace(string(source), `"repoURL":"",`, "", 1)
	return manifest.Result{Objects: []*unstructured.Unstructured{{Object: map[string]any{"given": given}}}}, err
}

func told(result manifest.Result, err error) string {
	if err != nil {
		return fmt.Sprintf("error %v %s\n%s", fault.ClassOf(err), fault.ReasonOf(err), err)
	}
	first := fmt.Sprintf("type %s, files %d", result.Type, result.Files)
	if result.UsesRevision {
		first += ", uses the revision"
	}
	lines := []string{first}
	for _, o := range result.Objects {
		if given, ok := o.Object["given"].(string); ok {
			lines = append(lines, "given "+given)
			continue
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			return err.Error()
		}
		lines = append(lines, string(text))
	}
	for _, skipped := range result.Skipped {
		lines = append(lines, "skipped "+skipped)
	}
	for _, note := range result.Notes {
		lines = append(lines, "note "+note)
	}
	return strings.Join(lines, "\n")
}
