package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// Of several replicas one writes, and the fence (internal/leader/fence.go) is what holds the others to it. It stands in
// the configurations that clients are made from, so each client must be made from one of those.

// clientsOf says for every package that makes clients where the configuration comes from.
var clientsOf = map[string]string{
	"internal/hub":           "build gives it the fenced way; commands their own",
	"internal/event":         "openReports gives the writer the fenced way; the reader is for commands",
	"internal/herald":        "build gives it the fenced way, to read; what it writes goes through the hub",
	"internal/settings":      "build gives it the fenced way, to read; commands their own",
	"internal/cluster":       "the fleet gives it the way of a member; commands a configuration of their own",
	"internal/cluster/fleet": "Access.Config: ours is the fenced way, and Guard has a say in all others",
	"internal/identity":      "openAPI gives it the open way: people sign in, whoever leads; commands their own",
	"internal/leader":        "the lease and the peers' secret go around the fence: who leads is decided there",
	"internal/rival":         "openHands gives the watch the fenced way, to read; commands their own",
	"internal/registrar":     "openWriting gives it the fenced way; commands their own. A probe only asks for a version",
	"cmd/towline":            "the oracle, from the fenced way; commands their own",
}

// makers are the functions that make clients, or what clients are made of.
var makers = []string{
	"NewForConfig", "NewForConfigOrDie", "NewForConfigAndClient", "NewDiscoveryClientForConfig", "RESTClientFor", "UnversionedRESTClientFor",
	"HTTPClientFor", "TransportFor", "InClusterConfig",
}

// aroundTheFence are the functions of cmd/towline that may read a kubeconfig or use the open way.
var aroundTheFence = map[string]string{
	"openWays":       "makes both ways",
	"openLeadership": "the lease and the peers' secret",
	"servePeers":     "the address of the API server",
	"openAPI":        "what the server does for people, whoever leads",

	"environment": command, "withAccounts": command, "hubClient": command, "newPlanner": command, "newGenerator": command, "newActor": command,
	"installation": command, "admission": command, "openRoster": command, "openTarget": command, "readRepositories": command,
	"kubeClient": command, "withSignOn": command, "openBackup": command, "openRegistrar": command,
	"openRival": command, "callServer": command, "inventory": command,
	"openShadow": "a command that makes both ways one, through a fence that nobody opens",
}

const command = "a command, which acts with the rights of whoever runs it"

func TestNobodyGoesAroundTheFence(t *testing.T) {
	makes, fenced := map[string]bool{}, 0
	for _, f := range sourceFiles(t) {
		folder := path.Dir(f.path)
		if !within(folder, "internal") && !within(folder, "cmd") {
			continue
		}
		for _, use := range made(f) {
			makes[folder] = true
			if clientsOf[folder] == "" {
				t.Errorf("%s: %s makes clients; say in clientsOf how its writes come to the fence", use, folder)
			}
		}
		if folder != "cmd/towline" {
			continue
		}
		for _, way := range opened(f) {
			if way.fenced {
				fenced++
			} else if aroundTheFence[way.in] == "" {
				t.Errorf("%s: %s goes around the fence; take ways.fenced, or say in aroundTheFence why not", way.at, way.in)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(clientsOf)) {
		if !makes[folder] {
			t.Errorf("%s makes no clients: this test looks for the wrong names, or the entry is to go", folder)
		}
	}
	if fenced < 5 {
		t.Errorf("the fenced way is used only %d times: this test looks for the wrong names", fenced)
	}
}

// made finds where a file makes clients.
func made(f sourceFile) []string {
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(makers, sel.Sel.Name) {
				out = append(out, fmt.Sprintf("%s:%d", f.path, f.line(call.Pos())))
			}
		}
		return true
	})
	return out
}

// opening is a use of one of the ways.
type opening struct {
	at, in string
	fenced bool
}

// opened finds where a file reads a kubeconfig, makes a configuration out of nothing, or uses a way.
func opened(f sourceFile) []opening {
	var out []opening
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		say := func(n ast.Node, fenced bool) {
			out = append(out, opening{fmt.Sprintf("%s:%d", f.path, f.line(n.Pos())), fn.Name.Name, fenced})
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "restConfig" {
					say(x, false)
				}
			case *ast.CompositeLit:
				if sel, ok := x.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Config" && nameOf(sel.X) == "rest" {
					say(x, false)
				}
			case *ast.SelectorExpr:
				if slices.Contains([]string{"w", "ways"}, nameOf(x.X)) && (x.Sel.Name == "open" || x.Sel.Name == "fenced") {
					say(x, x.Sel.Name == "fenced")
				}
			}
			return true
		})
	}
	return out
}

// nameOf is the last name of an expression such as p.ways.
func nameOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func parseSource(t *testing.T, name, text string) sourceFile {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return sourceFile{path: name, ast: file, set: set}
}

// The test of the fence bites.
func TestFenceRulesBite(t *testing.T) {
	bad := parseSource(t, "cmd/towline/bad.go", `package main
func (p *parts) sneak() {
	c, _ := kubernetes.NewForConfig(p.ways.open)
	d, _ := hub.New(&rest.Config{Host: "x"}, "")
	config, _ := restConfig("", "")
	e, _ := hub.New(w.fenced, "")
}`)
	var got []string
	for _, o := range opened(bad) {
		got = append(got, fmt.Sprintf("%s %s %v", o.at, o.in, o.fenced))
	}
	want := []string{"cmd/towline/bad.go:3 sneak false", "cmd/towline/bad.go:4 sneak false", "cmd/towline/bad.go:5 sneak false", "cmd/towline/bad.go:6 sneak true"}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(made(bad)) != 1 {
		t.Errorf("found %q", made(bad))
	}
}
