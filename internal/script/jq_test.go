package script_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/script"
)

func document() map[string]any {
	return map[string]any{
		"kind": "Deployment",
		"metadata": map[string]any{
			"name":        "web",
			"annotations": map[string]any{"a/b": "1", "c": "2"},
		},
		"spec": map[string]any{
			"replicas": int64(9007199254740993),
			"ratio":    0.5,
			"whole":    float64(2),
			"paused":   nil,
			"containers": []any{
				map[string]any{"name": "web", "image": "web:1"},
				map[string]any{"name": "proxy", "image": "proxy:1"},
			},
		},
	}
}

// edited is the document after a change that the test writes in Go.
func edited(change func(doc, spec map[string]any)) map[string]any {
	doc := document()
	change(doc, doc["spec"].(map[string]any))
	return doc
}

func TestDeletes(t *testing.T) {
	container := func(spec map[string]any, i int) map[string]any { return spec["containers"].([]any)[i].(map[string]any) }
	same := func(_, _ map[string]any) {}
	cases := map[string]struct {
		expr string
		want func(doc, spec map[string]any)
	}{
		"a field": {".spec.replicas", func(_, s map[string]any) { delete(s, "replicas") }},
		"a quoted field": {`.metadata.annotations["a/b"]`, func(d, _ map[string]any) {
			delete(d["metadata"].(map[string]any)["annotations"].(map[string]any), "a/b")
		}},
		"an item by name":               {`.spec.containers[] | select(.name == "web") | .image`, func(_, s map[string]any) { delete(container(s, 0), "image") }},
		"a whole item":                  {`.spec.containers[] | select(.name == "web")`, func(_, s map[string]any) { s["containers"] = s["containers"].([]any)[1:] }},
		"every item":                    {`.spec.containers[].image`, func(_, s map[string]any) { delete(container(s, 0), "image"); delete(container(s, 1), "image") }},
		"two fields":                    {".spec.replicas, .spec.ratio", func(_, s map[string]any) { delete(s, "replicas"); delete(s, "ratio") }},
		"all the items":                 {".spec.containers[0,1]", func(_, s map[string]any) { s["containers"] = []any{} }},
		"anywhere":                      {`.. | select(type == "object") | .image`, func(_, s map[string]any) { delete(container(s, 0), "image"); delete(container(s, 1), "image") }},
		"a comment at the end":          {".spec.replicas # the autoscaler's", func(_, s map[string]any) { delete(s, "replicas") }},
		"a function of one's own":       {"def r: .spec.replicas; r", func(_, s map[string]any) { delete(s, "replicas") }},
		"a field that is missing":       {".spec.a.b.c", same},
		"a list that is missing":        {".spec.initContainers[].image", same},
		"an optional of the wrong kind": {".spec.replicas[]?", same},
		"nothing is selected":           {"empty", same},
		"the environment is empty":      {`select(env.PATH != null or ($ENV | length) > 0) | .spec`, same},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			del := compile(t, c.expr)
			doc := document()
			got, err := del(doc)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(edited(c.want), got); d != "" {
				t.Errorf("the document differs (-want +got):\n%s", d)
			}
			if d := cmp.Diff(document(), doc); d != "" {
				t.Errorf("the argument was changed:\n%s", d)
			}
		})
	}
}

func compile(t *testing.T, expr string) diff.Expr {
	t.Helper()
	del, err := script.Compile(expr, script.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return del
}

func TestDoesNotCompile(t *testing.T) {
	for name, c := range map[string]struct{ expr, want string }{
		"nothing":                {"", "missing query"},
		"no jq":                  {".spec[", "unexpected"},
		"closing the bracket":    {`.a) | (.kind = "ConfigMap"`, "unexpected"},
		"an unknown function":    {"nonsense(.a)", "not defined"},
		"a second input":         {"input", "input"},
		"further inputs":         {"inputs", "input"},
		"a module":               {`import "m" as m; .a`, "modules"},
		"an include":             {`include "m"; .a`, "modules"},
		"a declaration":          {`module {}; .a`, "modules"},
		"a message":              {"debug", "not defined"},
		"an unknown variable":    {"$x", "not defined"},
		"the clock":              {".a | select(now > 1)", "the function now"},
		"an assignment":          {".a = 1", "the operator ="},
		"a hidden assignment":    {"select([] | .[500000000] = 1 | false)", "the operator ="},
		"an update":              {".a |= 1", "the operator |="},
		"a path that makes room": {"select([] | setpath([500000000]; 1))", "the function setpath"},
		"a string times a lot":   {`select("x" * 2000000000 == "")`, "the operator *"},
		"in an interpolation":    {`.["\("x" * 9)"]`, "the operator *"},
		"a very long text":       {"." + strings.Repeat("a", 20000), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script.Compile(c.expr, script.Limits{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestFailsWithinItsLimits: what fails or never ends is an error, soon.
func TestFailsWithinItsLimits(t *testing.T) {
	for name, c := range map[string]struct{ expr, want string }{
		"an endless loop":            {"def f: f; f", "limit"},
		"endless recursion":          {"def f: 1 + f; f", "limit"},
		"endless recursion by paths": {"def f: .spec | f; f", "limit"},
		"repeat":                     {"[repeat(1)]", "limit"},
		"a long list":                {"select([range(1e9)] | length > 0)", "limit"},
		"recurse":                    {"recurse(.)", "limit"},
		"deep nesting":               {"select(reduce range(1e9) as $i (1; [.]) | tojson == \"\")", "limit"},
		"the whole document":         {".", "whole document"},
		"no path":                    {"1", "invalid path"},
		"an error":                   {`error("no")`, "no"},
		"iterating over a number":    {".spec.replicas[]", "cannot iterate over: number"},
		"a field of a string":        {".kind.x", "expected an object"},
		"a test of nothing":          {`.spec | select(.nothing | test("x"))`, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := compile(t, c.expr)(document())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestTime(t *testing.T) {
	del, err := script.Compile("def f: f; f", script.Limits{Timeout: time.Millisecond, Steps: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := del(document()); err == nil || !strings.Contains(err.Error(), "time limit") {
		t.Errorf("got %v", err)
	}
}

// TestSteps: the count of steps alone ends a run, however much time there is.
func TestSteps(t *testing.T) {
	del, err := script.Compile("def f: f; f", script.Limits{Timeout: time.Hour, Steps: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := del(document()); err == nil || !strings.Contains(err.Error(), "more steps") {
		t.Errorf("got %v", err)
	}
}

// TestOneLongStep: the caller is not held by a single step that never looks at
// the clock; here it serialises 2^24 numbers.
func TestOneLongStep(t *testing.T) {
	del, err := script.Compile(`select((reduce range(24) as $i (1; [., .]) | tojson) == "")`, script.Limits{Timeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := del(document()); err == nil || !strings.Contains(err.Error(), "time limit") {
		t.Errorf("got %v", err)
	}
}

func TestSize(t *testing.T) {
	del := compile(t, ".x")
	if _, err := del(map[string]any{"x": strings.Repeat("a", 1<<20)}); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := del(map[string]any{strings.Repeat("a", 1<<20): "x"}); err == nil {
		t.Error("names do not count")
	}
	if _, err := del(map[string]any{"x": strings.Repeat("a", 1<<19)}); err != nil {
		t.Error(err)
	}
}

func TestOddValue(t *testing.T) {
	if _, err := compile(t, ".x")(map[string]any{"x": []string{"a"}}); err == nil || !strings.Contains(err.Error(), "[]string") {
		t.Errorf("got %v", err)
	}
}

// TestSharing: one compiled expression serves many goroutines.
func TestSharing(t *testing.T) {
	del := compile(t, `.spec.containers[] | select(.name | test("^w")) | .image`)
	doc := document()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := del(doc); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
