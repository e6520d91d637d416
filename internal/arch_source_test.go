package internal_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The limits past which a reader loses the thread.
const (
	maxFile     = 600
	maxFunction = 80
)

// The names that say nothing about what is inside.
var namelessPackages = []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "shared", "base"}

// A callRule forbids functions of one standard package below a folder.
type callRule struct {
	folder, pkg string
	names       []string
	why         string
}

var callRules = []callRule{
	{
		"internal/core", "time",
		[]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"core has no clock: the time is a value of the input",
	},
	{
		"internal", "os",
		[]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
		"configuration is read once, in cmd/towline, and passed on as values",
	},
	{
		"api", "os",
		[]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
		"what a type means must not depend on the machine that reads it",
	},
}

func TestPackagesAreNamedAfterANoun(t *testing.T) {
	for _, p := range loadPackages(t) {
		if slices.Contains(namelessPackages, p.Name) || slices.Contains(namelessPackages, path.Base(p.folder())) {
			t.Errorf("%s: a package called %q says nothing; a thing lives with the noun that it is about", p.folder(), p.Name)
		}
	}
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	docs, names := map[string]string{}, map[string]string{}
	for _, f := range sourceFiles(t) {
		folder := path.Dir(f.path)
		names[folder] = f.ast.Name.Name
		if text := f.ast.Doc.Text(); text != "" {
			docs[folder] += text
		}
	}
	for folder, name := range names {
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + path.Base(folder) + " "
		}
		if !strings.HasPrefix(docs[folder], want) {
			t.Errorf("%s: the package comment must begin with %q, one sentence on what it does and what it must not do; it begins with %.40q",
				folder, want, docs[folder])
		}
	}
}

func TestTourIsComplete(t *testing.T) {
	tour, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`^internal/(core/\w+|\w+)`)
	for _, p := range loadPackages(t) {
		m := place.FindStringSubmatch(p.folder())
		if m == nil || m[1] == "core" {
			continue
		}
		if !bytes.Contains(tour, []byte("//   - "+m[1]+": ")) {
			t.Errorf("internal/doc.go does not mention %s: the tour has one sentence for every package", m[1])
		}
	}
}

func TestAmbientInputsStayOutside(t *testing.T) {
	for _, f := range sourceFiles(t) {
		for _, rule := range callRules {
			if !within(f.path, rule.folder) {
				continue
			}
			for _, use := range f.usesOf(rule.pkg, rule.names) {
				t.Errorf("%s: %s", use, rule.why)
			}
		}
	}
}

func TestFilesAndFunctionsFitInTheHead(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if n := f.set.File(f.ast.Pos()).LineCount(); n > maxFile {
			t.Errorf("%s has %d lines, more than %d: it is about more than one thing", f.path, n, maxFile)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) - 1; n > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, more than %d: name its steps", f.path, f.line(fn.Pos()), fn.Name.Name, n, maxFunction)
			}
		}
	}
}

// sourceFile is a Go file that people write: neither a test nor generated.
type sourceFile struct {
	path string // in the module, with slashes
	ast  *ast.File
	set  *token.FileSet
}

func (f sourceFile) line(p token.Pos) int { return f.set.Position(p).Line }

// usesOf finds the functions of a package by the name under which the file imports it.
func (f sourceFile) usesOf(pkg string, names []string) []string {
	local := ""
	for _, spec := range f.ast.Imports {
		if spec.Path.Value != strconv.Quote(pkg) {
			continue
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return nil
	}
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
			out = append(out, fmt.Sprintf("%s:%d: %s.%s", f.path, f.line(sel.Pos()), pkg, sel.Sel.Name))
		}
		return true
	})
	return out
}

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	var out []sourceFile
	root := moduleRoot(t)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipForeign(root, name, d)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", name, err)
		}
		if ast.IsGenerated(file) {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		out = append(out, sourceFile{path: filepath.ToSlash(rel), ast: file, set: set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// skipForeign leaves out what the go command leaves out too, and modules of their own.
func skipForeign(root, name string, d fs.DirEntry) error {
	if name == root {
		return nil
	}
	if d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// The repository must build anywhere, so it names no place of a certain machine and no server that packages come from.
// The words are put together here so that this file does not contain them.
func TestNothingNamesAMachine(t *testing.T) {
	places := regexp.MustCompile(`(^|[^A-Za-z0-9_.*-])/(` + "wo" + `rk|` + "ro" + `ot)/|\.\./sha` + `red\b`)
	hosts := []string{
		"proxy.go" + "lang.org", "sum.go" + "lang.org", "goproxy" + ".io", "goproxy" + ".cn",
		"registry.npm" + "js.org", "registry.yarn" + "pkg.com", "npm.pkg.git" + "hub.com",
		"py" + "pi.org", "files.python" + "hosted.org", "static.cra" + "tes.io", "index.cra" + "tes.io", "ruby" + "gems.org",
		"deb.deb" + "ian.org", "archive.ubu" + "ntu.com", "dl-cdn.alpine" + "linux.org",
	}
	root := moduleRoot(t)
	for _, name := range repositoryFiles(t, root) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			continue // removed but still in the index, a link to a folder, or no text
		}
		for i, line := range strings.Split(string(text), "\n") {
			if at := places.FindString(line); at != "" {
				t.Errorf("%s:%d: names a place on one machine (%q): paths come from flags, the cache folder or the test's own folder", name, i+1, at)
			}
			for _, host := range hosts {
				if strings.Contains(line, host) {
					t.Errorf("%s:%d: names %s: where packages come from is the user's setting", name, i+1, host)
				}
			}
		}
	}
}

// repositoryFiles returns the files that are or would be committed, without the licence and the checksums.
func repositoryFiles(t *testing.T, root string) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a git checkout: nothing says which files belong to the repository")
	}
	out := run(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		return path.Base(name) == "LICENSE" || path.Ext(name) == ".sum"
	})
}
