package health_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/health"
)

// TestOf reads testdata/*.txtar: each <name>.yaml is an object as the cluster has it, and its line in "want" is the
// verdict: name, status ("-" for no health, with the source after a plus), message.
func TestOf(t *testing.T) {
	for path, cases := range readCases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					before := c.given.DeepCopy()
					if diff := cmp.Diff(c.want, health.Of(c.given)); diff != "" {
						t.Errorf("verdict (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(before, c.given); diff != "" {
						t.Errorf("the object was changed:\n%s", diff)
					}
				})
			}
		})
	}
}

// TestOfNothing has the objects that cannot be written as YAML.
func TestOfNothing(t *testing.T) {
	for _, obj := range []*unstructured.Unstructured{nil, {}, {Object: map[string]any{}}} {
		if got := health.Of(obj); got != (health.Health{}) {
			t.Errorf("Of(%v) = %v, want no health", obj, got)
		}
	}
}

// TestJudge has what a user's own check decides, and what it does not get to see.
func TestJudge(t *testing.T) {
	object := func(metadata map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": map[string]any{"paused": true},
		}}
	}
	tests := map[string]struct {
		given *unstructured.Unstructured
		own   health.Script
		want  health.Health
	}{
		"no own check": {
			given: object(nil), want: health.Health{Status: health.Suspended, Message: "The rollout is paused"},
		},
		"an own check comes first": {
			given: object(nil), own: always(health.Health{Status: health.Degraded, Message: "no"}, true),
			want: health.Health{Status: health.Degraded, Message: "no", Source: health.FromScript},
		},
		"an own check can say that there is no health": {
			given: object(nil), own: always(health.Health{}, true), want: health.Health{Source: health.FromScript},
		},
		"no own check for this kind": {
			given: object(nil), own: always(health.Health{Status: health.Degraded}, false),
			want: health.Health{Status: health.Suspended, Message: "The rollout is paused"},
		},
		"a deletion is not shown to it": {
			given: object(map[string]any{"deletionTimestamp": "2026-01-02T03:04:05Z"}),
			own:   always(health.Health{Status: health.Degraded}, true),
			want:  health.Health{Status: health.Progressing, Message: "Pending deletion"},
		},
		"the deletion of a hook is": {
			given: object(map[string]any{"deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": []any{health.HookFinalizer}}),
			own:   always(health.Health{Status: health.Healthy}, true),
			want:  health.Health{Status: health.Healthy, Source: health.FromScript},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, health.Judge(tt.given, tt.own)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func always(h health.Health, ok bool) health.Script {
	return func(*unstructured.Unstructured) (health.Health, bool) { return h, ok }
}

func TestLongMessagesAreCut(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"status": map[string]any{"phase": "Failed", "message": strings.Repeat("é", 400)},
	}}
	if got := health.Of(obj).Message; len(got) > 520 || !strings.HasSuffix(got, "é…") {
		t.Errorf("the message has %d bytes: %q", len(got), got)
	}
}

// TestOfPoison puts values of wrong types at every place of every object in testdata. Whatever comes in, an answer
// comes out, and Unknown always says why.
func TestOfPoison(t *testing.T) {
	poisons := []any{nil, "poison", int64(-1), 0.5, true, []any{"poison"}, []any{nil}, map[string]any{"poison": nil}}
	tried, objects := 0, health.KnownObjects(t)
	for _, cases := range readCases(t) {
		for name, c := range cases {
			objects[name] = append(objects[name], c.given)
		}
	}
	for name, given := range objects {
		for _, obj := range given {
			forEachPlace(obj.Object, func(set func(any)) {
				for _, poison := range poisons {
					set(poison)
					if got := health.Of(obj); got.Status == health.Unknown && got.Message == "" {
						t.Errorf("%s: Unknown without a message for %v", name, obj.Object)
					}
					tried++
				}
			})
		}
	}
	t.Logf("tried %d poisoned objects", tried)
}

func TestOfReadsPlainJSONNumbers(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"spec":   map[string]any{"replicas": 3.0},
		"status": map[string]any{"updatedReplicas": 2.0},
	}}
	want := health.Health{Status: health.Progressing, Message: "Waiting for rollout: 2 of 3 replicas updated"}
	if diff := cmp.Diff(want, health.Of(obj)); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

type objectCase struct {
	given *unstructured.Unstructured
	want  health.Health
}

// readCases returns file → case name → case, and fails if an object lacks its verdict or the other way round.
func readCases(tb testing.TB) map[string]map[string]objectCase {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("finding testdata: %d files, %v", len(paths), err)
	}
	all := map[string]map[string]objectCase{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		objects, wants := map[string]*unstructured.Unstructured{}, map[string]health.Health{}
		for _, file := range archive.Files {
			if file.Name == "want" {
				wants = parseWants(tb, path, string(file.Data))
				continue
			}
			objects[strings.TrimSuffix(file.Name, ".yaml")] = parseObject(tb, file)
		}
		given, judged := slices.Sorted(maps.Keys(objects)), slices.Sorted(maps.Keys(wants))
		if diff := cmp.Diff(given, judged); diff != "" {
			tb.Fatalf("%s: objects and verdicts differ (-objects +want):\n%s", path, diff)
		}
		all[path] = map[string]objectCase{}
		for name, obj := range objects {
			all[path][name] = objectCase{given: obj, want: wants[name]}
		}
	}
	return all
}

// sources are the marks after a status; without one it is the check of a kind that Argo CD judges too.
var sources = map[string]health.Source{"table": health.FromTable, "conditions": health.FromConditions}

func parseWants(tb testing.TB, path, text string) map[string]health.Health {
	tb.Helper()
	wants := map[string]health.Health{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		status, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if status == "" {
			tb.Fatalf("%s: reading %q: want a name, a status and perhaps a message", path, line)
		}
		if status == "-" {
			status = ""
		}
		status, source, _ := strings.Cut(status, "+")
		wants[name] = health.Health{Status: health.Status(status), Message: strings.TrimSpace(message), Source: sources[source]}
	}
	return wants
}

// parseObject decodes as the cluster client does, so that numbers are int64. An object without a kind, which that
// decoder refuses, is decoded plainly.
func parseObject(tb testing.TB, file txtar.File) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON(file.Data)
	if err != nil {
		tb.Fatalf("%s: %v", file.Name, err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err == nil {
		return obj
	}
	if err := yaml.Unmarshal(data, &obj.Object); err != nil {
		tb.Fatalf("%s: %v", file.Name, err)
	}
	return obj
}

// forEachPlace calls visit for every value in a tree with a function that replaces it; the value is put back after.
func forEachPlace(tree any, visit func(set func(any))) {
	place := func(value any, set func(any)) {
		visit(set)
		set(value)
		forEachPlace(value, visit)
	}
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			place(value, func(x any) { v[key] = x })
		}
	case []any:
		for i, value := range v {
			place(value, func(x any) { v[i] = x })
		}
	}
}

// BenchmarkOf judges every object of testdata by itself and names the slowest.
func BenchmarkOf(b *testing.B) {
	objects := health.KnownObjects(b)
	for path, cases := range readCases(b) {
		for name, c := range cases {
			objects[filepath.Base(path)+"/"+name] = append(objects[filepath.Base(path)+"/"+name], c.given)
		}
	}
	var sum, slowest time.Duration
	count, which := 0, ""
	b.ReportAllocs()
	for b.Loop() {
		sum, slowest, count = 0, 0, 0
		for name, given := range objects {
			for _, obj := range given {
				took := quickest(func() { health.Of(obj) })
				sum += took
				count++
				if took > slowest {
					slowest, which = took, name
				}
			}
		}
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(count), "ns/object")
	b.ReportMetric(float64(slowest.Nanoseconds()), "ns/slowest")
	b.ReportMetric(float64(count), "objects")
	b.Logf("the slowest of %d objects is %s", count, which)
}

// quickest is the time of one call in the best of some rounds, so that a busy machine does not name the slowest.
func quickest(call func()) time.Duration {
	const rounds, calls = 40, 20
	best := time.Hour
	for range rounds {
		start := time.Now()
		for range calls {
			call()
		}
		best = min(best, time.Since(start)/calls)
	}
	return best
}
