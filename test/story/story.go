// Package story plays data files: each is a txtar archive of named parts, of
// which "then" is what the others lead to. It is for tests of decisions, and
// must not know what any of them decides.
package story

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the stories lead to into their data files")

// Play tells each file that the pattern names, and compares what it leads to
// with its part "then"; with -update that part is written instead. A pattern
// that names no file is an error: a test that plays nothing proves nothing.
func Play(t *testing.T, pattern string, tell func(t *testing.T, part map[string][]byte) (then string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no data files by the name of %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string][]byte{}
			for _, f := range archive.Files {
				part[f.Name] = f.Data
			}
			got := tell(t, part)
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			want, ok := part["then"]
			if !ok {
				t.Fatal(`there is no part "then"; run with -update to write it`)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("it leads to something else (-want +got):\n%s", d)
			}
		})
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, then string) {
	t.Helper()
	found := false
	for i, f := range archive.Files {
		if f.Name == "then" {
			archive.Files[i].Data, found = []byte(then), true
		}
	}
	if !found {
		archive.Files = append(archive.Files, txtar.File{Name: "then", Data: []byte(then)})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil { //nolint:gosec // a file of the repository
		t.Fatal(err)
	}
}
