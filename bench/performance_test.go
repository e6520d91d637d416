package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPerformancePage(t *testing.T) {
	results, docs := t.TempDir(), t.TempDir()
	r := newReport("prune")
	r.atMost("prune_ratio", 1.5, 1.25)
	r.atMost("dry_runs", 0, 0)
	r.note("removed", 6000)
	r.Size, r.Reduced = "20 applications", true
	r.Runs = []spent{{Program: bareName, Wall: 2, CPU: 1, Server: 3}, {Program: engineName, Wall: 3, CPU: 2, Server: 3}}
	if err := r.finish(io.Discard, results); !errors.Is(err, errGoalMissed) {
		t.Fatal(err)
	}
	if err := writePerformance(results, docs); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### prune\n", "| prune_ratio | 1.50 | at most 1.25 | **missed** |", "| dry_runs | 0 | at most 0 | met |", "(**reduced**",
		"removed 6000",
		"performance/prune.svg", "Not measured yet:", "`restart`",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "### restart") {
		t.Error("the page has a chapter on what nobody has measured")
	}
	for _, name := range []string{"overview.svg", "prune.svg"} {
		chart, err := os.Open(filepath.Join(docs, chartFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = chart.Close() }()
		texts := 0
		for from := xml.NewDecoder(chart); ; {
			token, err := from.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s is not XML: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "text" {
				texts++
			}
		}
		if texts == 0 {
			t.Errorf("%s says nothing", name)
		}
	}
}

func TestNoResultsNoPage(t *testing.T) {
	docs := t.TempDir()
	if err := writePerformance(t.TempDir(), docs); err == nil {
		t.Error("a page was written without results")
	}
	if _, err := os.Stat(filepath.Join(docs, "performance.md")); err == nil {
		t.Error("a page was written without results")
	}
}

func TestShares(t *testing.T) {
	r := newReport("x")
	r.atMost("ratio", 1.5, 2)
	r.atLeast("times", 60, 30)
	r.atMost("requests", 0, 0)
	got := shares([]chapter{{Name: "x", Report: r}, {Name: "y"}})
	if len(got) != 2 || got[0].of != 0.75 || got[1].of != 0.5 {
		t.Errorf("shares are %v", got)
	}
}
