package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained: a dependency earns its place with one line.
func TestDependenciesAreExplained(t *testing.T) {
	gomod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(gomod), -1)
	if len(direct) == 0 {
		t.Fatal("found no direct requirements in go.mod")
	}
	for _, m := range direct {
		if !strings.Contains(string(page), "`"+m[1]) {
			t.Errorf("docs/dependencies.md does not say what %s is for, why, and what the alternative was", m[1])
		}
	}
}
