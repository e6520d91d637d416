package status_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
)

var update = flag.Bool("update", false, "rewrite the 'then' sections of the data files")

// TestExplain runs the data files: given an object, and after it what came from
// it, then this is said of the first. An object without a uid has "uid-" and its
// name.
func TestExplain(t *testing.T) {
	files, err := filepath.Glob("testdata/explain/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no data files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]*txtar.File{}
			for i, f := range ar.Files {
				section[f.Name] = &ar.Files[i]
			}
			facts := readFacts(t, section["given"].Data)
			got := status.Explain(*facts[0], facts[1:]) + "\n"
			slices.Reverse(facts[1:])
			if again := status.Explain(*facts[0], facts[1:]) + "\n"; again != got {
				t.Errorf("the order of the objects shows: %q and %q", got, again)
			}
			if *update {
				section["then"].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(section["then"].Data), got); d != "" {
				t.Errorf("it says (-want +got):\n%s", d)
			}
		})
	}
}

func readFacts(t *testing.T, data []byte) []*object.Fact {
	t.Helper()
	objects, err := manifest.Parse("given", data)
	if err != nil {
		t.Fatal(err)
	}
	var facts []*object.Fact
	for _, u := range objects {
		f := object.FactOf(u, "m")
		if f.UID == "" {
			f.UID = "uid-" + f.Key.Name
		}
		facts = append(facts, &f)
	}
	return facts
}
