package action_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/test/story"
)

// Each file is a story: given an object, when actions are run one by one on it as it was (a line each: the name and
// its parameters), then these are the steps.
func TestStories(t *testing.T) {
	story.Play(t, "testdata/*.txtar", tell)
}

func tell(t *testing.T, part map[string][]byte) string {
	t.Helper()
	objects, err := manifest.Parse("given/object", part["given/object"])
	if err != nil || len(objects) != 1 {
		t.Fatalf("the object: %v", err)
	}
	obj := objects[0]
	before := obj.DeepCopy()
	var b strings.Builder
	b.WriteString("actions:")
	for _, a := range action.Builtin(obj) {
		b.WriteString(" " + a.Name)
		if a.Disabled {
			b.WriteString("(disabled)")
		}
	}
	b.WriteString("\n")
	for line := range strings.Lines(string(part["when"])) {
		words := strings.Fields(line)
		params := map[string]string{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			params[k] = v
		}
		fmt.Fprintf(&b, "--- %s", line)
		steps, known, err := action.Run(obj, words[0], action.Input{Params: params, Now: time.Unix(1700000000, 0)})
		switch {
		case !known:
			b.WriteString("no such action\n")
		case err != nil:
			fmt.Fprintf(&b, "error: %v\n", err)
		default:
			write(t, &b, steps)
		}
	}
	if d := cmp.Diff(before, obj); d != "" {
		t.Errorf("the object was changed:\n%s", d)
	}
	return b.String()
}

func write(t *testing.T, b *strings.Builder, steps []action.Step) {
	t.Helper()
	if len(steps) == 0 {
		b.WriteString("nothing to do\n")
	}
	for _, s := range steps {
		body := any(s.Patch)
		if s.Operation == action.Create {
			body = s.Object.Object
		}
		text, err := yaml.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "%s %s\n%s", s.Operation, s.Object.GetKind(), text)
	}
}

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "u", "labels": map[string]any{}},
		"spec":     map[string]any{"replicas": int64(9007199254740993), "list": []any{}, "none": nil, "strategy": map[string]any{"type": "x"}},
	}}
}

// throughLua is what an object looks like after a script returned it.
func throughLua(edit func(map[string]any)) map[string]any {
	obj := deployment().Object
	obj["metadata"].(map[string]any)["labels"] = []any{}
	spec := obj["spec"].(map[string]any)
	spec["replicas"] = int64(9007199254740992)
	delete(spec, "none")
	if edit != nil {
		edit(obj)
	}
	return obj
}

func TestReturned(t *testing.T) {
	spec := func(obj map[string]any) map[string]any { return obj["spec"].(map[string]any) }
	job := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "j"}}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"the object as it was":      {throughLua(nil), "nothing to do\n"},
		"a changed field":           {throughLua(func(o map[string]any) { spec(o)["replicas"] = int64(3) }), "patch Deployment\nspec:\n  replicas: 3\n"},
		"a removed field":           {throughLua(func(o map[string]any) { delete(spec(o), "replicas") }), "patch Deployment\nspec:\n  replicas: null\n"},
		"a map that was emptied":    {throughLua(func(o map[string]any) { spec(o)["strategy"] = []any{} }), "patch Deployment\nspec:\n  strategy:\n    type: null\n"},
		"an explicit patch":         {[]any{map[string]any{"operation": "patch", "resource": throughLua(func(o map[string]any) { spec(o)["paused"] = true })}}, "patch Deployment\nspec:\n  paused: true\n"},
		"a new object":              {[]any{map[string]any{"operation": "create", "resource": job}}, "create Job\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\n  namespace: shop\n"},
		"no operations":             {[]any{}, "nothing to do\n"},
		"another object":            {throughLua(func(o map[string]any) { o["metadata"].(map[string]any)["name"] = "other" }), "error: it patches Deployment shop/other, which is not the object that the action was run on\n"},
		"another namespace":         {throughLua(func(o map[string]any) { o["metadata"].(map[string]any)["namespace"] = "x" }), "error: it patches Deployment x/web, which is not the object that the action was run on\n"},
		"an unknown operation":      {[]any{map[string]any{"operation": "delete", "resource": job}}, "error: operation 1 of what the script returns: the operation is \"delete\", which is neither create nor patch\n"},
		"an operation on nothing":   {[]any{map[string]any{"operation": "create"}}, "error: operation 1 of what the script returns has no resource\n"},
		"a new object with no kind": {[]any{map[string]any{"operation": "create", "resource": map[string]any{}}}, "error: operation 1 of what the script returns: what is to be created has no apiVersion, kind or name\n"},
		"a text":                    {"done", "error: the script returns done; return the object, or a list of {operation, resource}\n"},
		"nothing":                   {nil, "error: the script returns <nil>; return the object, or a list of {operation, resource}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			steps, err := action.Returned(deployment(), c.value)
			if err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
			} else {
				write(t, &b, steps)
			}
			if d := cmp.Diff(c.want, b.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestDiscovered(t *testing.T) {
	got, err := action.Discovered(map[string]any{
		"b": []any{},
		"a": map[string]any{
			"disabled": true, "displayName": "A", "iconClass": "fa",
			"params": []any{map[string]any{"name": "n", "type": "number", "default": int64(3)}},
		},
	})
	want := []action.Action{
		{Name: "a", Disabled: true, DisplayName: "A", IconClass: "fa", Params: []action.Param{{Name: "n", Type: "number", Default: "3"}}},
		{Name: "b"},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, none := range []any{nil, []any{}} {
		if got, err := action.Discovered(none); err != nil || got != nil {
			t.Errorf("%v became %v, %v", none, got, err)
		}
	}
	for _, bad := range []any{"x", []any{"x"}, map[string]any{"a": "x"}, map[string]any{"a": map[string]any{"params": []any{"x"}}}} {
		if got, err := action.Discovered(bad); err == nil {
			t.Errorf("%v became %v", bad, got)
		}
	}
}
