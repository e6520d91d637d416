package health

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// example is one document of testdata/kinds/*.yaml: objects of one or more kinds and their verdicts.
type example struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Kinds      []string `json:"kinds"`
	Cases      []struct {
		// Want is a status, and after a colon the message.
		Want string `json:"want"`
		// About says what is special about the case.
		About string `json:"about"`
		// Only restricts the case to one of the kinds.
		Only     string         `json:"only"`
		Metadata map[string]any `json:"metadata"`
		Spec     map[string]any `json:"spec"`
		Status   map[string]any `json:"status"`
	} `json:"cases"`
}

type tableCase struct {
	name  string
	given *unstructured.Unstructured
	want  Health
}

// KnownObjects are the objects of all examples, for the tests outside of the package.
func KnownObjects(tb testing.TB) map[string][]*unstructured.Unstructured {
	all := map[string][]*unstructured.Unstructured{}
	for _, c := range readExamples(tb) {
		all[c.name] = append(all[c.name], c.given)
	}
	return all
}

// readExamples expands all examples.
func readExamples(tb testing.TB) []tableCase {
	tb.Helper()
	paths, err := filepath.Glob("testdata/kinds/*.yaml")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("finding the examples: %d files, %v", len(paths), err)
	}
	var all []tableCase
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			var e example
			if err := yaml.UnmarshalStrict([]byte(doc), &e); err != nil {
				tb.Fatalf("%s: %v", path, err)
			}
			all = append(all, e.expand(tb, filepath.Base(path))...)
		}
	}
	return all
}

func (e example) expand(tb testing.TB, file string) []tableCase {
	tb.Helper()
	var all []tableCase
	for _, kind := range append(slices.Clone(e.Kinds), e.Kind) {
		for _, c := range e.Cases {
			if kind == "" || c.Only != "" && c.Only != kind {
				continue
			}
			status, message, _ := strings.Cut(c.Want, ": ")
			metadata := map[string]any{"name": "example"}
			maps.Copy(metadata, c.Metadata)
			object := map[string]any{"apiVersion": e.APIVersion, "kind": kind, "metadata": metadata}
			if c.Spec != nil {
				object["spec"] = c.Spec
			}
			if c.Status != nil {
				object["status"] = c.Status
			}
			// Decoded again as the cluster client does, so that numbers are int64.
			data, err := yaml.Marshal(object)
			if err != nil {
				tb.Fatal(err)
			}
			data, err = yaml.YAMLToJSON(data)
			obj := &unstructured.Unstructured{}
			if err == nil {
				err = obj.UnmarshalJSON(data)
			}
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, tableCase{
				name: file + "/" + kind + "." + e.APIVersion + "/" + status, given: obj,
				want: Health{Status: Status(status), Message: message},
			})
		}
	}
	return all
}

// TestTable judges every example.
func TestTable(t *testing.T) {
	for _, c := range readExamples(t) {
		t.Run(c.name, func(t *testing.T) {
			e := known().find(groupKind(&fields{object: c.given.Object}))
			if e == nil {
				t.Fatal("the table has no such kind")
			}
			c.want.Source = e.source
			before := c.given.DeepCopy()
			if diff := cmp.Diff(c.want, Of(c.given)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.given); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestTableIsProved fails for a kind without an example of each state, unless its description says why there is none.
func TestTableIsProved(t *testing.T) {
	seen := map[*entry][]Status{}
	for _, c := range readExamples(t) {
		if e := known().find(groupKind(&fields{object: c.given.Object})); e != nil {
			seen[e] = append(seen[e], c.want.Status)
		}
	}
	projects, err := readProjects()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compileTable(projects); err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, p := range projects {
		if p.Project == "" || p.Docs == "" {
			t.Errorf("a project lacks its name or its documentation: %q", p.Project)
		}
		for _, d := range p.Kinds {
			for _, kind := range d.Kinds {
				kinds++
				checkProved(t, d, kind, seen[known().kindsOf(d.Group)[kind]])
			}
		}
	}
	t.Logf("%d kinds in %d projects", kinds, len(projects))
	if kinds < 160 {
		t.Errorf("the table has %d kinds, want at least 160", kinds)
	}
}

func checkProved(t *testing.T, d description, kind string, seen []Status) {
	t.Helper()
	wanted := []Status{Healthy, Progressing, Degraded}
	for _, r := range d.Rules {
		if r.Suspended != "" && !slices.Contains(wanted, Suspended) {
			wanted = append(wanted, Suspended)
		}
	}
	for _, s := range wanted {
		why := d.Never[s]
		if has := slices.Contains(seen, s); has == (why != "") {
			t.Errorf("%s/%s: an example of %s: %t; a reason for having none: %q", d.Group, kind, s, has, why)
		}
	}
}

// TestFind: the most special description counts, whatever the order of the files.
func TestFind(t *testing.T) {
	describe := func(group string, kinds ...string) description {
		return description{Group: group, Kinds: kinds, Silent: Healthy, Detail: group}
	}
	table, err := compileTable([]project{{Kinds: []description{
		describe("*.example.com", "*"), describe("*.sea.example.com", "*"), describe("*.sea.example.com", "Oar"),
		describe("north.sea.example.com", "Boat"), describe("lake.example.com", "*"), describe("lake.example.com", "Boat"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"north.sea.example.com/Boat": "north.sea.example.com Boat", "north.sea.example.com/Oar": "*.sea.example.com Oar",
		"south.sea.example.com/Boat": "*.sea.example.com *", "lake.example.com/Oar": "lake.example.com *",
		"lake.example.com/Boat": "lake.example.com Boat", "river.example.com/Boat": "*.example.com *", "example.com/Boat": "",
	} {
		group, kind, _ := strings.Cut(name, "/")
		got := ""
		if e := table.find(group, kind); e != nil {
			got = strings.Join(e.detail, ".") + " " + e.kind
		}
		if got != want {
			t.Errorf("%s is judged by %q, want %q", name, got, want)
		}
	}
}

// TestMistakesAreFound: a description that says something else than its author meant does not compile.
func TestMistakesAreFound(t *testing.T) {
	for name, d := range map[string]description{
		"no group":         {Kinds: []string{"Boat"}, Ready: "Ready"},
		"no rule":          {Group: "example.com", Kinds: []string{"Boat"}},
		"two statuses":     {Group: "example.com", Kinds: []string{"Boat"}, Rules: []ruleText{{Healthy: "always", Degraded: "always"}}},
		"no status":        {Group: "example.com", Kinds: []string{"Boat"}, Rules: []ruleText{{Say: "hm"}}},
		"no verb":          {Group: "example.com", Kinds: []string{"Boat"}, Rules: []ruleText{{Healthy: "Ready True"}}},
		"an open brace":    {Group: "example.com", Kinds: []string{"Boat"}, Rules: []ruleText{{Healthy: "always", Say: "{status.x"}}},
		"not a number":     {Group: "example.com", Kinds: []string{"Boat"}, Rules: []ruleText{{Healthy: "status.x < many"}}},
		"an unknown addon": {Group: "example.com", Kinds: []string{"Boat"}, Ready: "Ready", Added: []string{"Oar"}},
	} {
		if _, err := d.compile(); err == nil {
			t.Errorf("%s: it compiles", name)
		}
	}
}

// BenchmarkLoad is what the first object that needs the table waits for.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		projects, err := readProjects()
		if err == nil {
			_, err = compileTable(projects)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestTableHasNoApplication keeps the one kind out whose health is not a matter of one object.
func TestTableHasNoApplication(t *testing.T) {
	if known().find("argoproj.io", "Application") != nil {
		t.Error("the table judges argoproj.io/Application")
	}
}

// TestTableWaits proves that an object which its controller has not seen is not taken for healthy.
func TestTableWaits(t *testing.T) {
	projects, err := readProjects()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range projects {
		for _, d := range p.Kinds {
			if d.Silent != "" {
				continue
			}
			for _, kind := range d.Kinds {
				f := &fields{object: map[string]any{"metadata": map[string]any{"name": "new"}}}
				if got := known().kindsOf(d.Group)[kind].judge(f); got.Status != Progressing && got.Status != Suspended {
					t.Errorf("%s/%s without a status is %s: %s", d.Group, kind, got.Status, got.Message)
				}
			}
		}
	}
}
