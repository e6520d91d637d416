package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestReadOutput(t *testing.T) {
	result, err := manifest.ReadOutput("chart/templates/a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+
		"data: {a: 1, a: 2, big: 9007199254740993}\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n"+
		"- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range result.Objects {
		got = append(got, object.GetKind()+"/"+object.GetName())
	}
	if diff := cmp.Diff([]string{"ConfigMap/a", "Secret/b"}, got); diff != "" {
		t.Errorf("objects (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": int64(2), "big": int64(9007199254740993)}, result.Objects[0].Object["data"]); diff != "" {
		t.Errorf("data (-want +got)\n%s", diff)
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], `chart/templates/a.yaml: document 1 (line 1): line 4: key "a" already set`) {
		t.Errorf("notes = %q, want one about the key", result.Notes)
	}
}

func TestReadOutputRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no object":   "a: b\n",
		"no mapping":  "- a\n",
		"no YAML":     "apiVersion: v1\nkind: {{\n",
		"no kind":     "apiVersion: v1\nmetadata: {name: a}\n",
		"alias bombs": "apiVersion: v1\nkind: A\na: &a \"" + strings.Repeat("x", 1<<20) + "\"\nb: [" + strings.Repeat("*a,", 900) + "]\nc: 1\nc: 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			result, err := manifest.ReadOutput("x.yaml", []byte(text))
			if err == nil || fault.ClassOf(err) != fault.Terminal || !strings.Contains(err.Error(), `"x.yaml"`) {
				t.Errorf("ReadOutput = %d objects, %.200v; want a Terminal fault that names the output", len(result.Objects), err)
			}
		})
	}
}
