package internal_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"testing"
)

// The rules of projects are checked at one place, the door to a cluster (internal/engine/door.go). Whoever had the
// cluster itself in hand could go around it.
func TestNobodyGoesAroundTheDoor(t *testing.T) {
	passed := 0
	for _, f := range sourceFiles(t) {
		if path.Dir(f.path) != "internal/engine" {
			continue
		}
		if path.Base(f.path) == "door.go" {
			passed = len(around(f))
			continue
		}
		for _, complaint := range around(f) {
			t.Errorf("%s: only door.go may have a cluster in hand; go through the door", complaint)
		}
	}
	if passed < 10 {
		t.Errorf("the door itself uses what is behind it only %d times: this test looks for the wrong names", passed)
	}
}

// around finds where a file finds a cluster, takes what is behind a door, makes one, or turns something into a cluster.
func around(f sourceFile) []string {
	var out []string
	say := func(n ast.Node, what string) {
		out = append(out, fmt.Sprintf("%s:%d: %s", f.path, f.line(n.Pos()), what))
	}
	named := func(e ast.Expr) string {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			return x.Sel.Name
		}
		return ""
	}
	able := []string{"Cluster", "Hands", "Server", "Runner", "Writer", "Merger", "Replacer", "Actor"}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			switch {
			case x.Sel.Name == "For" && named(x.X) == "Clusters", x.Sel.Name == "raw", x.Sel.Name == "hands":
				say(x, named(x.X)+"."+x.Sel.Name)
			case x.Sel.Name == "As" && slices.Contains([]string{"e", "Options", "engine"}, named(x.X)):
				// New sets what stands in for nobody; everybody else would act as somebody.
				say(x, named(x.X)+".As")
			}
		case *ast.CompositeLit:
			if named(x.Type) == "door" {
				say(x, "door{}")
			}
		case *ast.TypeAssertExpr:
			if slices.Contains(able, named(x.Type)) {
				say(x, "an assertion to "+named(x.Type))
			}
		}
		return true
	})
	return out
}
