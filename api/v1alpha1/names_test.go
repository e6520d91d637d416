package v1alpha1_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNamesArePinned fails when a constant of the package is changed, added or removed without changing the golden file.
func TestNamesArePinned(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		names = append(names, constants(t, file)...)
	}
	slices.Sort(names)
	compareGolden(t, "names.txt", names)
}

// constants lists name = value for the constants of a file. Values must be literals, so that the list can be trusted.
func constants(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declaration := range parsed.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			names = append(names, constantsOf(t, spec.(*ast.ValueSpec))...)
		}
	}
	return names
}

func constantsOf(t *testing.T, spec *ast.ValueSpec) []string {
	t.Helper()
	var names []string
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			t.Errorf("%s has no value of its own", name.Name)
			continue
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s is not a literal", name.Name)
			continue
		}
		names = append(names, fmt.Sprintf("%s = %s", name.Name, literal.Value))
	}
	return names
}
