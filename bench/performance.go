package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

// performanceText is the page that the results go into.
//
//go:embed performance.md.tmpl
var performanceText string

// reportCommand writes the page of results, with its charts, from what the
// scenarios have left.
func reportCommand() *cobra.Command {
	var results, docs string
	cmd := &cobra.Command{
		Use: "report", Short: "Write docs/performance.md and its charts from the results that are there", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root, err := moduleRoot()
			if err != nil {
				return err
			}
			return writePerformance(cmp.Or(results, filepath.Join(root, "bench", "results")), cmp.Or(docs, filepath.Join(root, "docs")))
		},
	}
	cmd.Flags().StringVar(&results, "results", "", "folder of the results (default: bench/results)")
	cmd.Flags().StringVar(&docs, "docs", "", "folder of the page (default: docs)")
	return cmd
}

// chapter is what the page says of one scenario.
type chapter struct {
	Name, Short string
	// Report is nil where nobody has measured.
	Report *report
	Chart  bool
}

// chartFolder is where the charts are, below the folder of the page.
const chartFolder = "performance"

// writePerformance writes the page and the charts.
func writePerformance(results, docs string) error {
	var all []chapter
	for _, s := range scenarios() {
		r, err := readReport(filepath.Join(results, s.name+".json"))
		if err != nil {
			return err
		}
		all = append(all, chapter{Name: s.name, Short: s.short, Report: r, Chart: r != nil && len(r.Runs) > 0})
	}
	if !slices.ContainsFunc(all, func(c chapter) bool { return c.Report != nil }) {
		return fmt.Errorf("writing the page: there are no results in %s", results)
	}
	folder := filepath.Join(docs, chartFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("writing the charts: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "overview.svg"), []byte(overviewChart(all)), 0o644); err != nil {
		return fmt.Errorf("writing the charts: %w", err)
	}
	for _, c := range all {
		at := filepath.Join(folder, c.Name+".svg")
		if !c.Chart {
			if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing an old chart: %w", err)
			}
			continue
		}
		if err := os.WriteFile(at, []byte(programChart(c)), 0o644); err != nil {
			return fmt.Errorf("writing the charts: %w", err)
		}
	}
	page, err := performancePage(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(docs, "performance.md"), []byte(page), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// readReport reads what a scenario has left, if it has.
func readReport(path string) (*report, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	r := &report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}

func performancePage(all []chapter) (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"digits": digits, "bound": goal.bound,
		"verdict": func(g goal) string {
			if g.missed() {
				return "**missed**"
			}
			return "met"
		},
		"facts":  factsLine,
		"folder": func() string { return chartFolder },
		"missing": func() []string {
			var out []string
			for _, c := range all {
				if c.Report == nil {
					out = append(out, "`"+c.Name+"`")
				}
			}
			return out
		},
		"join": func(words []string) string { return strings.Join(words, ", ") },
	}).Parse(performanceText)
	if err != nil {
		return "", fmt.Errorf("reading the page's template: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, all); err != nil {
		return "", fmt.Errorf("filling the page: %w", err)
	}
	return out.String(), nil
}

// factsLine is what else was measured.
func factsLine(r *report) string {
	out := make([]string, len(r.Facts))
	for i, f := range r.Facts {
		out[i] = strings.ReplaceAll(f.Name, "_", " ") + " " + digits(f.Value)
	}
	return strings.Join(out, " · ")
}
