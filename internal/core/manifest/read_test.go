package manifest_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// TestRead reads the files of testdata: each holds cases, a case is a file "given/<case>/<name>" and a file
// "then/<case>" with one line per object (as JSON), per skipped sentence ("skipped ") and for the error ("error ").
func TestRead(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("finding testdata: %v, %v", archives, err)
	}
	for _, archive := range archives {
		parsed, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		wants := map[string]string{}
		for _, file := range parsed.Files {
			if name, ok := strings.CutPrefix(file.Name, "then/"); ok {
				wants[name] = strings.TrimLeft(strings.TrimRight(string(file.Data), "\n")+"\n", "\n")
			}
		}
		for _, file := range parsed.Files {
			given, ok := strings.CutPrefix(file.Name, "given/")
			if !ok {
				continue
			}
			name, base, _ := strings.Cut(given, "/")
			t.Run(filepath.Base(archive)+"/"+name, func(t *testing.T) {
				want, ok := wants[name]
				if !ok {
					t.Fatalf("no section then/%s", name)
				}
				if diff := cmp.Diff(want, outcome(manifest.Read(base, file.Data))); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func outcome(result manifest.Result, err error) string {
	var lines strings.Builder
	for _, object := range result.Objects {
		text, marshalErr := json.Marshal(object.Object)
		if marshalErr != nil {
			return marshalErr.Error()
		}
		fmt.Fprintf(&lines, "%s\n", text)
	}
	for _, skipped := range result.Skipped {
		fmt.Fprintf(&lines, "skipped %s\n", skipped)
	}
	if err != nil {
		fmt.Fprintf(&lines, "error %v %s\n", fault.ClassOf(err), err)
	}
	return lines.String()
}

func TestNumbersSurvive(t *testing.T) {
	tests := map[string]struct{ name, data string }{
		"YAML": {"a.yaml", "apiVersion: v1\nkind: Num\nbig: 9223372036854775807\nhex: 0x10\nfloat: 0.1\nexponent: 1.5e3\n"},
		"JSON": {"a.json", `{"apiVersion":"v1","kind":"Num","big":9223372036854775807,"hex":16,"float":0.1,"exponent":1500}`},
		"both": {"a.yaml", "---\n{\n\t\"apiVersion\":\"v1\",\"kind\":\"Num\",\"big\":9223372036854775807,\"hex\":16,\"float\":0.1,\"exponent\":1500}\n"},
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Num",
		"big": int64(9223372036854775807), "hex": int64(16), "float": 0.1, "exponent": int64(1500),
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Parse(tc.name, []byte(tc.data))
			if err != nil || len(objects) != 1 {
				t.Fatalf("Parse = %d objects, %v", len(objects), err)
			}
			if diff := cmp.Diff(want, objects[0].Object); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\n"
	longText := "a: &a \"" + strings.Repeat("x", 1<<20) + "\"\n"
	nine := object + "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"} {
		nine += fmt.Sprintf("%c: &%c [%s]\n", pair[1], pair[1], strings.Repeat("*"+pair[:1]+",", 9))
	}
	tests := map[string]struct{ name, data, want string }{
		"a file of many bytes":        {"a.yaml", strings.Repeat("#\n", 6<<20), "the limit is 10485760"},
		"many YAML documents":         {"a.yaml", strings.Repeat("---\na: 1\n", manifest.MaxDocuments+2), "more than 10000 documents"},
		"many JSON documents":         {"a.json", strings.Repeat("{}", manifest.MaxDocuments+2), "more than 10000 documents"},
		"a long text with many uses":  {"a.yaml", object + longText + "b: [" + strings.Repeat("*a,", 900) + "]\n", "aliases"},
		"aliases of aliases":          {"a.yaml", nine, "aliases"},
		"an anchor that holds itself": {"a.yaml", object + "a: &a [*a]\n", "aliases"},
		"lists within lists":          {"a.json", strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 10) + strings.Repeat("]}", 10), "more than 8 deep"},
		"YAML nested without an end":  {"a.yaml", object + "a: " + strings.Repeat("[", 1<<20), "exceeded max depth"},
		"JSON nested without an end":  {"a.json", strings.Repeat("[", 1<<20), "exceeded max depth"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Parse(tc.name, []byte(tc.data))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Parse = %d objects, error %.300v; want an error with %q", len(objects), err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.name) || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("error %v of class %v does not name the file or is not Terminal", err, fault.ClassOf(err))
			}
		})
	}
}

func TestAliasesWithinBoundsWork(t *testing.T) {
	objects, err := manifest.Parse("a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: &l {a: b}\nspec:\n  labels:\n    <<: *l\n    c: d\n"))
	if err != nil || len(objects) != 1 {
		t.Fatalf("Parse = %v, %v", objects, err)
	}
	want := map[string]any{"labels": map[string]any{"a": "b", "c": "d"}}
	if diff := cmp.Diff(want, objects[0].Object["spec"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a.yaml", []byte("---\na: 1\n...\n%YAML 1.1\n---\n- b\n"))
	f.Add("a.json", []byte(`{"kind":"List","apiVersion":"v1","items":[{}]}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		first, firstErr := manifest.Read(name, data)
		second, secondErr := manifest.Read(name, data)
		if diff := cmp.Diff(outcome(first, firstErr), outcome(second, secondErr)); diff != "" {
			t.Errorf("two readings differ\n%s", diff)
		}
		for _, object := range first.Objects {
			if object.GetKind() == "" || object.GetAPIVersion() == "" {
				t.Errorf("an object without a type: %v", object.Object)
			}
		}
	})
}
