package health

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the list of kinds in docs/health.md")

const (
	page       = "../../../docs/health.md"
	listBegins = "<!-- the list of kinds begins: go test ./internal/core/health -update -->\n"
	listEnds   = "<!-- the list of kinds ends -->\n"
)

// TestDocs holds the user's page to the table: a kind that is judged is on it, and nothing else is.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), listBegins)
	have, after, ends := strings.Cut(rest, listEnds)
	if !begins || !ends {
		t.Fatalf("%s has lost the marks around its list", page)
	}
	want := listOfKinds(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+listBegins+want+listEnds+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s is stale; run go test ./internal/core/health -update (-want +have):\n%s", page, diff)
	}
}

func listOfKinds(t *testing.T) string {
	t.Helper()
	projects, err := readProjects()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(projects, func(a, b project) int { return strings.Compare(strings.ToLower(a.Project), strings.ToLower(b.Project)) })
	count := 0
	var b strings.Builder
	for _, p := range projects {
		groups := map[string][]string{}
		for _, d := range p.Kinds {
			for _, kind := range d.Kinds {
				name := kind
				if kind == "*" {
					name = "all other kinds"
				}
				if d.source(kind) == FromTable {
					name += "⁺"
				}
				groups[d.Group] = append(groups[d.Group], name)
				count++
			}
		}
		fmt.Fprintf(&b, "\n**[%s](%s)**\n\n", p.Project, p.Docs)
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			fmt.Fprintf(&b, "- `%s`: %s\n", group, strings.Join(slices.Sorted(slices.Values(groups[group])), ", "))
		}
	}
	return fmt.Sprintf("\n%d kinds in %d projects.\n%s\n", count, len(projects), b.String())
}

// TestSources samples what Argo CD judges and what it does not.
func TestSources(t *testing.T) {
	for name, want := range map[string]Source{
		"cert-manager.io/Certificate": FromKind, "s3.aws.upbound.io/Bucket": FromKind, "volsync.backube/ReplicationSource": FromTable,
		"rabbitmq.com/Queue": FromKind, "rabbitmq.com/SuperStream": FromTable,
		"operator.openshift.io/IngressController": FromKind, "operator.openshift.io/Storage": FromTable,
	} {
		group, kind, _ := strings.Cut(name, "/")
		if got := known().find(group, kind).source; got != want {
			t.Errorf("the source of %s is %d, want %d", name, got, want)
		}
	}
}
