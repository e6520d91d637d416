package status_test

import (
	"slices"
	"testing"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/test/story"
)

// TestExplain runs the data files: given an object, and after it what came from
// it, then this is said of the first. An object without a uid has "uid-" and its
// name.
func TestExplain(t *testing.T) {
	story.Play(t, "testdata/explain/*.txtar", func(t *testing.T, part map[string][]byte) string {
		facts := readFacts(t, part["given"])
		got := status.Explain(*facts[0], facts[1:]) + "\n"
		slices.Reverse(facts[1:])
		if again := status.Explain(*facts[0], facts[1:]) + "\n"; again != got {
			t.Errorf("the order of the objects shows: %q and %q", got, again)
		}
		return got
	})
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
