package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
)

var update = flag.Bool("update", false, "rewrite the 'then' sections of the data files")

// TestPlan runs the data files: given Git and live objects, when a sync is
// made, then this is the plan, these are the findings and the steps.
func TestPlan(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no data files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string][]byte{}
			for _, f := range ar.Files {
				section[f.Name] = f.Data
			}
			got := scenario(t, section)
			if *update {
				for i, f := range ar.Files {
					if f.Name == "then" {
						ar.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(section["then"]), got); d != "" {
				t.Errorf("the plan differs (-want +got):\n%s", d)
			}
		})
	}
}

func scenario(t *testing.T, section map[string][]byte) string {
	t.Helper()
	w := world{}
	for _, u := range parse(t, "live", section["given/live"]) {
		w[object.KeyOf(u)] = u
	}
	manifests := parse(t, "git", section["given/git"])
	in := w.input(manifests)
	progress := plan.Progress{Done: map[object.Key]plan.Outcome{}}
	for line := range strings.Lines(string(section["when"])) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "sync":
			progress.Prune = rest == "with prune"
		case "gap":
			in.Cluster.Gaps = append(in.Cluster.Gaps, rest)
		case "create-namespace":
			in.App.CreateNamespace = rest
		case "only":
			for _, it := range plan.Compute(in, w.answers(in)).Items {
				if it.Key.String() == rest {
					progress.Only = append(progress.Only, it.Key)
				}
			}
		case "forbid":
			in.Project.ClusterWhitelist = nil
		case "":
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return run(w, in, progress)
}

func run(w world, in plan.Input, progress plan.Progress) string {
	var b strings.Builder
	asked := plan.Ask(in)
	p := plan.Compute(in, w.answers(in))
	fmt.Fprintf(&b, "%s, %d asked\n", p.Status(), len(asked))
	for _, it := range p.Items {
		fmt.Fprintf(&b, "  %-9s %-9s wave %d  %s", it.Action, it.Sync, it.Wave, it.Key)
		if it.Reason != "" {
			fmt.Fprintf(&b, "  (%s)", it.Reason)
		}
		b.WriteByte('\n')
		for _, c := range it.Verdict.Changes {
			fmt.Fprintf(&b, "    %s: %v -> %v\n", c.Path, c.Live, c.Desired)
		}
	}
	for _, f := range p.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Severity, f.Reason, f.Message)
	}
	for {
		seen := map[object.Key]plan.Observation{}
		for k, u := range w {
			seen[k] = plan.Observation{Fresh: true, Health: object.FactOf(u, "").Health}
		}
		s := plan.Next(p, progress, seen)
		fmt.Fprintf(&b, "step %s", s.Do)
		for _, it := range s.Items {
			fmt.Fprintf(&b, " %s;", it.Key)
		}
		if s.Message != "" {
			fmt.Fprintf(&b, " %s", s.Message)
		}
		b.WriteByte('\n')
		if s.Do != plan.DoApply && s.Do != plan.DoPrune {
			return b.String()
		}
		w.execute(s, progress)
	}
}
