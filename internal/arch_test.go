package internal_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/towline-cd/towline"

// A layer says what the packages below a folder may import of this module, and why. The longest matching folder wins.
// Tests are free: they may use whatever proves the point.
type layer struct {
	folder string
	may    []string // folders of this module, besides its own
	only   []string // if set, the only modules outside the standard library
	why    string
}

const parts = "a part knows core and api, never another part nor those who use it: the engine's interfaces are its only door, " +
	"and cmd/towline alone knows every concrete type"

var layers = []layer{
	{
		folder: "api",
		only:   []string{"k8s.io/apimachinery", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"},
		why:    "api is a leaf: importing one type must not pull in the product",
	},
	{folder: "internal", why: "internal itself is the tour of the house and holds no code"},
	{folder: "internal/core", may: []string{"api"}, why: "core decides on values and knows nobody who fetches or writes them"},
	{
		folder: "internal/engine", may: []string{"api", "internal/core"},
		why: "engine declares the small interfaces that it needs; the parts satisfy them and cmd/towline plugs them in",
	},
	{folder: "internal/source", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/render", may: []string{"api", "internal/core", "internal/worker"}, why: parts},
	{folder: "internal/plugin", may: []string{"internal/core"}, why: parts},
	{folder: "internal/cluster", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/settings", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/script", may: []string{"api", "internal/core", "internal/worker"}, why: parts},
	{folder: "internal/worker", why: "worker starts, bounds and speaks to processes of this program; what they do is the business of those who use it"},
	{folder: "internal/pairs", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/shelf", may: []string{"internal/core"}, why: parts},
	{folder: "internal/event", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/herald", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/trace", may: []string{"internal/core"}, why: parts},
	{folder: "internal/ledger", may: []string{"internal/core"}, why: parts},
	{folder: "internal/metric", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/hub", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/forge", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/registrar", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/client", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/identity", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/sso", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/rival", may: []string{"api", "internal/core"}, why: parts},
	{folder: "internal/leader", may: []string{"api", "internal/core"}, why: parts},
	{
		folder: "internal/controller", may: []string{"api", "internal/core", "internal/engine"},
		why: "controller wakes the engine and leaves reads, decisions and writes to it",
	},
	{
		folder: "internal/server", may: []string{"api", "internal/core", "internal/engine", "web"},
		why: "server shows what the engine knows and asks it to act; it has no way of its own to a cluster",
	},
	{
		folder: "internal/cli", may: []string{"api", "internal/core", "internal/engine"},
		why: "cli runs the same engine as the controller, on what cmd/towline hands it",
	},
	{folder: "cmd", may: []string{"api", "config", "internal", "web"}, why: "the product must not contain its own test tools"},
	{folder: "config", why: "config holds manifests; Go there only embeds them"},
	{folder: "web", why: "web holds the browser's side; Go there only embeds it"},
	{folder: "hack", may: []string{"api", "cmd", "config", "internal"}, why: "development tools start the product; they do not depend on its tests"},
	{folder: "test", may: []string{"api", "cmd", "config", "hack", "internal", "web"}, why: "tests may use everything but the benchmarks"},
	{folder: "bench", may: []string{"api", "cmd", "config", "hack", "internal", "test", "web"}, why: "benchmarks measure what people get, the pages among it"},
}

// A ban names imports that no package below a folder may have, and why. A path ending in "/..." includes what is below.
type ban struct {
	folder string // "" is the whole module
	what   []string
	deep   bool // also through other packages
	tests  bool // also in tests
	why    string
}

var bans = []ban{
	{
		folder: "internal/core", what: []string{"net", "net/http/...", "os/...", "io/ioutil"},
		why: "core does no I/O: facts come in as values",
	},
	{folder: "internal/core", what: []string{"context"}, why: "core never waits, so there is nothing to cancel"},
	{folder: "internal/core", what: []string{"log/..."}, why: "core returns what is worth saying; the engine logs it"},
	{
		folder: "internal/core", what: []string{"math/rand/...", "crypto/rand"},
		why: "the same input gives the same output, or a bug cannot be replayed",
	},
	{
		folder: "internal/core", what: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/..."}, deep: true,
		why: "core decides on values; the engine has the cluster asked",
	},
	{
		folder: "api", what: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/..."}, deep: true,
		why: "api is a leaf: importing one type must not pull in a client",
	},
	{
		folder: "internal/engine", what: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/..."}, deep: true,
		why: "engine reaches clusters through its own interfaces, so that the same code runs on files and in tests",
	},
	{what: []string{"k8s.io/kubernetes/..."}, tests: true, why: "the server's own code is no library; hack/cluster/binaries builds it in a module of its own"},
	{what: []string{"k8s.io/kubectl/..."}, tests: true, why: "kubectl is a program; its packages bring its flags and its printing along"},
	{what: []string{"github.com/argoproj/argo-cd/..."}, tests: true, why: "we are compatible with Argo CD by behaviour, not by linking it"},
	{
		what: []string{"github.com/stretchr/testify/...", "github.com/onsi/gomega/..."}, tests: true,
		why: "tests compare with go-cmp and plain if, so that a failure reads like the code",
	},
	{
		what: []string{"github.com/golang/mock/...", "go.uber.org/mock/..."}, tests: true,
		why: "the interfaces are small enough to be implemented in memory",
	},
	{what: []string{"k8s.io/utils/pointer/..."}, tests: true, why: "new(value) does the same"},
}

// listed is what "go list" tells about a package.
type listed struct {
	ImportPath, Name                         string
	GoFiles                                  []string
	Imports, TestImports, XTestImports, Deps []string
}

// folder is the package's place in the module, with slashes.
func (p listed) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func TestImportsFollowTheLayers(t *testing.T) {
	for _, p := range loadPackages(t) {
		for _, complaint := range judgeImports(p) {
			t.Error(complaint)
		}
	}
}

// A rule that never fires guards nothing: every kind of rule is shown a package that breaks it.
func TestRulesBite(t *testing.T) {
	tests := map[string]struct {
		pkg  listed
		want string // part of the only complaint; empty for none
	}{
		"a core package on values": {
			pkg: listed{ImportPath: module + "/internal/core/plan", Imports: []string{"slices", module + "/internal/core/object", module + "/api/v1alpha1"}},
		},
		"core fetching": {
			pkg:  listed{ImportPath: module + "/internal/core/plan", Imports: []string{"net/http"}},
			want: "imports net/http: core does no I/O",
		},
		"core running programs": {
			pkg:  listed{ImportPath: module + "/internal/core/plan", Imports: []string{"os/exec"}},
			want: "imports os/exec: core does no I/O",
		},
		"core parsing an address": {
			pkg: listed{ImportPath: module + "/internal/core/plan", Imports: []string{"net/url"}},
		},
		"core reaching a client through another module": {
			pkg:  listed{ImportPath: module + "/internal/core/diff", Imports: []string{"example.com/x"}, Deps: []string{"example.com/x", "k8s.io/client-go/rest"}},
			want: "depends on k8s.io/client-go/rest",
		},
		"core looking up": {
			pkg:  listed{ImportPath: module + "/internal/core/plan", Imports: []string{module + "/internal/engine"}},
			want: "may not import internal/engine",
		},
		"a part using another part": {
			pkg:  listed{ImportPath: module + "/internal/render", Imports: []string{module + "/internal/source/git"}},
			want: "never another part",
		},
		"a part using its own folder": {
			pkg: listed{ImportPath: module + "/internal/source", Imports: []string{module + "/internal/source/git"}},
		},
		"a neighbour with a longer name is another folder": {
			pkg:  listed{ImportPath: module + "/internal/source", Imports: []string{module + "/internal/sourcery"}},
			want: "may not import internal/sourcery",
		},
		"the engine knowing a part": {
			pkg:  listed{ImportPath: module + "/internal/engine", Imports: []string{module + "/internal/hub"}},
			want: "engine declares the small interfaces",
		},
		"api growing a dependency": {
			pkg:  listed{ImportPath: module + "/api/v1alpha1", Imports: []string{"encoding/json", "k8s.io/apimachinery/pkg/runtime", "sigs.k8s.io/yaml"}},
			want: "may not import sigs.k8s.io/yaml: api is a leaf",
		},
		"the product containing test tools": {
			pkg:  listed{ImportPath: module + "/cmd/towline", Imports: []string{module + "/hack/cluster"}},
			want: "may not import hack/cluster",
		},
		"an assertion library in a test": {
			pkg:  listed{ImportPath: module + "/internal/render", XTestImports: []string{"github.com/stretchr/testify/require"}},
			want: "go-cmp",
		},
		"a package outside of the house": {
			pkg:  listed{ImportPath: module + "/pkg/thing"},
			want: "has no layer",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := judgeImports(test.pkg)
			if test.want == "" && len(got) > 0 {
				t.Fatalf("complaints about a good package: %q", got)
			}
			if test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Fatalf("got %q, want one complaint with %q", got, test.want)
			}
		})
	}
}

// judgeImports returns what is wrong with a package's imports, one sentence each.
func judgeImports(p listed) []string {
	var out []string
	home, ok := layerOf(p.folder())
	if !ok {
		return []string{fmt.Sprintf("%s has no layer: add a row to the table in internal/arch_test.go that says what it may import", p.folder())}
	}
	for _, imported := range p.Imports {
		if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
			if !mayImport(home, folder) {
				out = append(out, fmt.Sprintf("%s may not import %s: %s", p.folder(), folder, home.why))
			}
			continue
		}
		if len(home.only) > 0 && !isStandard(imported) && !slices.ContainsFunc(home.only, func(m string) bool { return within(imported, m) }) {
			out = append(out, fmt.Sprintf("%s may not import %s: %s", p.folder(), imported, home.why))
		}
	}
	for _, b := range bans {
		if b.folder == "" || within(p.folder(), b.folder) {
			out = append(out, b.judge(p)...)
		}
	}
	return out
}

func (b ban) judge(p listed) []string {
	var out []string
	for _, imported := range p.Imports {
		if b.covers(imported) {
			out = append(out, fmt.Sprintf("%s imports %s: %s", p.folder(), imported, b.why))
		}
	}
	if b.tests {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if b.covers(imported) {
				out = append(out, fmt.Sprintf("a test of %s imports %s: %s", p.folder(), imported, b.why))
			}
		}
	}
	// One way in is enough to act on; a client has hundreds of packages.
	if i := slices.IndexFunc(p.Deps, b.covers); b.deep && len(out) == 0 && i >= 0 {
		out = append(out, fmt.Sprintf("%s depends on %s (go mod why says through whom): %s", p.folder(), p.Deps[i], b.why))
	}
	return out
}

func (b ban) covers(imported string) bool {
	return slices.ContainsFunc(b.what, func(w string) bool {
		root, tree := strings.CutSuffix(w, "/...")
		return imported == root || tree && within(imported, root)
	})
}

func layerOf(folder string) (layer, bool) {
	var best layer
	found := false
	for _, l := range layers {
		// internal is the tour only; a new folder below it needs a row of its own.
		if l.folder == "internal" && folder != "internal" {
			continue
		}
		if within(folder, l.folder) && (!found || len(l.folder) > len(best.folder)) {
			best, found = l, true
		}
	}
	return best, found
}

func mayImport(l layer, folder string) bool {
	return within(folder, l.folder) || slices.ContainsFunc(l.may, func(m string) bool { return within(folder, m) })
}

// within reports whether a slash-separated path is root or below it.
func within(p, root string) bool {
	return p == root || strings.HasPrefix(p, root+"/")
}

// isStandard relies on what the go command relies on: only hosts have a dot in the first element.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func loadPackages(t *testing.T) []listed {
	t.Helper()
	// -e: a package that does not build at the moment still has imports to judge.
	out := run(t, moduleRoot(t), "go", "list", "-e", "-json=ImportPath,Name,GoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	var packages []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		err := dec.Decode(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("reading go list's answer: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no packages: this test would pass on anything")
	}
	slices.SortFunc(packages, func(a, b listed) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return packages
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out
}
