package conformance_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/test/workshop"
)

// row is one thing that users rely on.
type row struct{ id, words string }

func (r row) section() string {
	section, _, _ := strings.Cut(r.id, "-")
	return section
}

func readRows(t *testing.T) []row {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "rows.txt"))
	check(t, err)
	defer func() { _ = f.Close() }()
	var out []row
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, words, _ := strings.Cut(line, " ")
		out = append(out, row{id: id, words: strings.TrimSpace(words)})
	}
	return out
}

// TestCoverage prints which cases are about which row, and fails where a row
// has none, or a case names a row or a deviation that is not there.
func TestCoverage(t *testing.T) {
	rows, all := readRows(t), stories(t)
	areas := deviations(t)
	cases := map[string][]string{}
	for _, s := range all {
		mark := "kept"
		if s.changed != "" {
			mark = "changed"
			if !slices.Contains(areas, s.changed) {
				t.Errorf("%s: docs/deviations.md has no row %q", s.file, s.changed)
			}
			if s.then(profileTowline) == s.then(profileArgoCD) {
				t.Errorf("%s: a changed case says what comes of it in each profile: \"then argocd\" and \"then towline\"", s.file)
			}
		}
		if s.then(profileTowline) == "" || s.then(profileArgoCD) == "" {
			t.Errorf("%s: there is no section \"then\" for each profile", s.file)
		}
		if s.known != "" {
			mark += ", known"
		}
		for _, id := range s.rows {
			if !slices.ContainsFunc(rows, func(r row) bool { return r.id == id }) {
				t.Errorf("%s: there is no row %q", s.file, id)
			}
			cases[id] = append(cases[id], fmt.Sprintf("%s (%s)", s.name, mark))
		}
	}
	table := &strings.Builder{}
	for _, r := range rows {
		fmt.Fprintf(table, "%-28s %s\n", r.id, strings.Join(cases[r.id], ", "))
		if len(cases[r.id]) == 0 {
			t.Errorf("no case is about %s: %s", r.id, r.words)
		}
	}
	t.Logf("what is covered:\n%s\n%s", table, summary(rows, all))
}

// summary counts rows and cases per section.
func summary(rows []row, all []*story) string {
	var sections []string
	count := map[string]int{}
	for _, r := range rows {
		if !slices.Contains(sections, r.section()) {
			sections = append(sections, r.section())
		}
		count[r.section()]++
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%-8s %5s %6s %5s %8s %6s\n", "section", "rows", "cases", "kept", "changed", "known")
	for _, section := range append(sections, "total") {
		n, kept, changed, known := 0, 0, 0, 0
		for _, s := range all {
			if section != "total" && !slices.ContainsFunc(s.rows, func(id string) bool { return row{id: id}.section() == section }) {
				continue
			}
			n++
			switch {
			case s.kept:
				kept++
			default:
				changed++
			}
			if s.known != "" {
				known++
			}
		}
		of := count[section]
		if section == "total" {
			of = len(rows)
		}
		fmt.Fprintf(b, "%-8s %5d %6d %5d %8d %6d\n", section, of, n, kept, changed, known)
	}
	return b.String()
}

// deviations are the names of the rows of the list of deviations.
func deviations(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(workshop.Root(), "docs", "deviations.md"))
	check(t, err)
	var out []string
	for line := range strings.Lines(string(raw)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			out = append(out, strings.TrimSpace(cells[1]))
		}
	}
	return out
}
