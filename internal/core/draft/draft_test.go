package draft_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
)

// Each file has cases: NAME/given is a spec, NAME/when what is typed, a line for each flag after one with the command and
// the position of the source, and NAME/then the spec that comes of it, or "error: " and a part of what is said.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		var names []string
		for _, f := range archive.Files {
			sections[f.Name] = string(f.Data)
			if name, ok := strings.CutSuffix(f.Name, "/when"); ok {
				names = append(names, name)
			}
		}
		for _, name := range names {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				play(t, sections[name+"/given"], sections[name+"/when"], sections[name+"/then"])
			})
		}
	}
}

func play(t *testing.T, given, when, then string) {
	t.Helper()
	spec := &v1alpha1.ApplicationSpec{}
	if err := yaml.UnmarshalStrict([]byte(given), spec); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(when), "\n")
	words := append(strings.Fields(lines[0]), "0")
	at, err := strconv.Atoi(words[1])
	if err != nil {
		t.Fatal(err)
	}
	switch words[0] {
	case "set":
		err = draft.Change(spec, at, typed(t, draft.Flags(), lines[1:]))
	case "unset":
		err = draft.Unset(spec, at, typed(t, draft.UnsetFlags(), lines[1:]))
	case "add-source":
		err = draft.AddSource(spec, typed(t, draft.Flags(), lines[1:]))
	case "remove-source":
		err = draft.RemoveSource(spec, at)
	default:
		t.Fatalf("%q is no command", words[0])
	}
	if want, ok := strings.CutPrefix(then, "error: "); ok {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := &v1alpha1.ApplicationSpec{}
	if err := yaml.UnmarshalStrict([]byte(then), want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, spec); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// typed reads --flag=value; a switch needs no value.
func typed(t *testing.T, flags []draft.Flag, lines []string) draft.Typed {
	t.Helper()
	out := draft.Typed{}
	for _, line := range lines {
		name, value, valued := strings.Cut(strings.TrimPrefix(line, "--"), "=")
		i := slices.IndexFunc(flags, func(f draft.Flag) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("there is no flag --%s", name)
		}
		v := out[name]
		var err error
		switch flags[i].Kind {
		case draft.Text, draft.File:
			v.Text = value
		case draft.Texts:
			v.Texts = append(v.Texts, value)
		case draft.Switch:
			v.On = !valued || value == "true"
		case draft.Number:
			v.Number, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			t.Fatal(err)
		}
		out[name] = v
	}
	return out
}

// Every flag has a name of its own and words for it, and is tried by some case.
func TestFlagsAreTried(t *testing.T) {
	var tried strings.Builder
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tried.Write(txtar.Format(archive))
	}
	for _, flags := range [][]draft.Flag{draft.Flags(), draft.UnsetFlags()} {
		seen := map[string]bool{}
		for _, f := range flags {
			if seen[f.Name] || f.Usage == "" {
				t.Errorf("--%s is there twice, or has no words", f.Name)
			}
			seen[f.Name] = true
			if text := tried.String(); !strings.Contains(text, "\n--"+f.Name+"\n") && !strings.Contains(text, "\n--"+f.Name+"=") {
				t.Errorf("--%s is tried by no case", f.Name)
			}
		}
	}
}

func TestPosition(t *testing.T) {
	spec := &v1alpha1.ApplicationSpec{Sources: v1alpha1.ApplicationSources{{Name: "chart"}, {Name: "values"}, {Name: "twice"}, {Name: "twice"}}}
	for name, want := range map[string]int{"chart": 1, "values": 2, "twice": 0, "nobody": 0} {
		got, err := draft.Position(spec, name)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%s is at %d (%v), want %d", name, got, err, want)
		}
	}
}
