package render

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

const canary = "hunter2-canary"

// attack is a repository that wants to read what it must not, or to hurt. It is refused with all of want in the message,
// or does no harm and gives as many objects as it says.
type attack struct {
	name    string
	files   fstest.MapFS      // by name
	disk    map[string]string // on a real disk, where "-> x" is a symbolic link; then files is not used
	source  v1alpha1.ApplicationSource
	limits  Limits
	reason  string
	want    []string
	objects int
}

func dir(recurse bool) v1alpha1.ApplicationSource {
	return v1alpha1.ApplicationSource{Directory: &v1alpha1.ApplicationSourceDirectory{Recurse: recurse}}
}

func jsonnetWith(of v1alpha1.ApplicationSourceJsonnet) v1alpha1.ApplicationSource {
	return v1alpha1.ApplicationSource{Directory: &v1alpha1.ApplicationSourceDirectory{Jsonnet: of}}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func one(name, content string) fstest.MapFS { return fstest.MapFS{name: text(content)} }

const plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// lessRaced is a size, or a part of it under the race detector: what is refused by then is the same.
func lessRaced(size, part int) int {
	if raced {
		return size / part
	}
	return size
}

func fileAttacks() []attack {
	deep := fstest.MapFS{strings.Repeat("d/", lessRaced(5000, 5)) + "a.yaml": text(plain)}
	names := fstest.MapFS{}
	for _, name := range []string{
		".git/config.yaml", ".GIT/a.yaml", "git~1/a.yaml", "new\nline.yaml", strings.Repeat("n", 4<<10) + ".yaml",
		"Twin.yaml", "twin.yaml", "é.yaml", "e\u0301.yaml",
	} {
		names[name] = text(plain)
	}
	return []attack{
		{name: "M01 an absolute link", disk: map[string]string{"a.yaml": "-> /etc/passwd"}, want: []string{"a.yaml", "escapes"}},
		{name: "M01 a link upwards", disk: map[string]string{"a.yaml": "-> ../../../../etc/passwd"}, want: []string{"a.yaml", "escapes"}},
		{name: "M02 a chain of links", disk: map[string]string{"a.yaml": "-> b", "b": "-> c", "c": "-> ../../etc/passwd"}, want: []string{"a.yaml", "escapes"}},
		{name: "M02 a loop of links", disk: map[string]string{"a.yaml": "-> b.yaml", "b.yaml": "-> a.yaml"}, want: []string{"a.yaml"}},
		{name: "M02 a link to a folder outside", disk: map[string]string{"d": "-> /etc", "a.yaml": plain}, source: dir(true), objects: 1},
		{name: "M02 the path is a link outside", disk: map[string]string{"d": "-> /etc"}, source: v1alpha1.ApplicationSource{Path: "d"}, want: []string{`app path "d"`, "escapes"}},
		{name: "M02 the path is a link with a slash", disk: map[string]string{"d": "-> /etc"}, source: v1alpha1.ApplicationSource{Path: "d/"}, want: []string{`app path "d/"`, "escapes"}},
		{name: "M03 a link inside", disk: map[string]string{"a.yaml": "-> lib/b.yaml", "lib/b.yaml": plain}, objects: 1},
		{name: "M03 the path is a link inside", disk: map[string]string{"d": "-> lib", "lib/b.yaml": plain}, source: v1alpha1.ApplicationSource{Path: "d"}, objects: 1},
		{name: "M04 names", files: names, source: dir(true), objects: 9},
		{name: "M04 a name that is no text", files: one("bad\xffutf8.yaml", plain), reason: "InvalidPath", want: []string{`"bad\xffutf8.yaml"`}},
		{name: "M04 a depth of 5,000", files: deep, source: dir(true), objects: 1},
		{name: "M04 the path is ..", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: "../.."}, reason: "InvalidPath"},
		{name: "M04 the path is absolute", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: "/etc"}, reason: "InvalidPath"},
		{name: "M04 the path has a NUL", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: "a\x00b"}, reason: "PathNotFound"},
		{name: "M05 a path by URL", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: "file:///etc"}, reason: "PathNotFound"},
		{name: "M05 a path of Windows", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: `..\..\etc`}, reason: "PathNotFound"},
		{name: "M05 an encoded path", files: one("a.yaml", plain), source: v1alpha1.ApplicationSource{Path: "%2e%2e/etc"}, reason: "PathNotFound"},
		{name: "M05 a library outside", files: one("a.jsonnet", "{}"), source: jsonnetWith(v1alpha1.ApplicationSourceJsonnet{Libs: []string{"../../etc"}}), reason: "InvalidPath"},
		{
			name: "M05 an absolute library is of the repository", files: one("a.jsonnet", "import 'passwd'"),
			source: jsonnetWith(v1alpha1.ApplicationSourceJsonnet{Libs: []string{"/etc"}}), reason: "InvalidManifest", want: []string{"is in none of"},
		},
	}
}

func parserAttacks() []attack {
	laughs := plain + "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"} {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", pair[1], pair[1], strings.Repeat("*"+pair[:1]+",", 9))
	}
	list := func(items string) string { return `{"apiVersion":"v1","kind":"List","items":[` + items + `]}` }
	return []attack{
		{name: "M08 50 MiB of YAML", files: one("a.yaml", plain+strings.Repeat("# 123456789 123456789 123456789 123456789\n", 1<<20)), want: []string{"a.yaml", "bytes"}},
		{name: "M08 a file of 300 MiB", files: fstest.MapFS{"a.yaml": {Data: make([]byte, lessRaced(300<<20, 6))}}, want: []string{"a.yaml"}},
		{name: "M08 more than may be read", files: fstest.MapFS{"a.yaml": text(plain), "b.yaml": text(plain)}, limits: Limits{ReadBytes: 60}, reason: reasonLimit},
		{name: "M08 a line of 9 MiB", files: one("a.yaml", plain+"data: {a: \""+strings.Repeat("x", lessRaced(9<<20, 9))+"\"}\n"), objects: 1},
		{name: "M08 100,000 documents", files: one("a.yaml", strings.Repeat("---\na: 1\n", 100_000)), want: []string{"a.yaml", "10000 documents"}},
		{name: "M08 billion laughs", files: one("a.yaml", laughs), want: []string{"a.yaml", "aliases"}},
		{name: "M08 depth 10,000", files: one("a.yaml", plain+"a: "+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)), want: []string{"a"}},
		{name: "M08 depth 1,000,000", files: one("a.yaml", plain+"a: "+strings.Repeat("[", 1_000_000)), want: []string{"a.yaml", "max depth"}},
		{name: "M08 a merge key that merges itself", files: one("a.yaml", plain+"a: &a\n  <<: *a\n"), want: []string{"a.yaml"}},
		{name: "M08 a key twice", files: one("a.yaml", "apiVersion: v1\nkind: ConfigMap\nkind: Secret\n"), want: []string{"a.yaml", `"kind" already set`}},
		{name: "M08 YAML 1.1", files: one("a.yaml", plain+"data: {on: yes, n: 0o17, s: 1_000, d: 2001-01-01, b: !!binary aGk=}\n"), objects: 1},
		{name: "M09 depth of JSON", files: one("a.json", strings.Repeat("[", 1_000_000)), want: []string{"a.json", "max depth"}},
		{name: "M09 a number too large", files: one("a.json", `{"apiVersion":"v1","kind":"A","n":1e400}`), want: []string{"a.json"}},
		{name: "M09 a whole number too large", files: one("a.json", `{"apiVersion":"v1","kind":"A","n":123456789012345678901234567890}`), objects: 1},
		{name: "M09 two kinds", files: one("a.json", `{"apiVersion":"v1","kind":"A","kind":"B"}`), want: []string{"a.json", "kind"}},
		{name: "M10 lists of lists", files: one("a.json", list(list(list(`{"apiVersion":"v1","kind":"A"}`)))), objects: 1},
		{name: "M10 too many lists of lists", files: one("a.json", strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 20)+strings.Repeat("]}", 20)), want: []string{"a.json", "deep"}},
		{name: "M10 no kind", files: one("a.yaml", "apiVersion: v1\nmetadata: {name: a}\n"), want: []string{"a.yaml", "kind is missing"}},
		{name: "M10 strange names", files: one("a.yaml", plain+"---\napiVersion: v1\nkind: A\nmetadata: {name: null}\n---\napiVersion: v1\nkind: A\nmetadata: {name: "+
			strings.Repeat("n", 300)+"}\n---\napiVersion: v1\nkind: A\nmetadata: {generateName: a-}\nstatus: {a: b}\n"), objects: 4},
	}
}

func jsonnetAttacks() []attack {
	return []attack{
		{name: "M22 import an absolute path", files: one("a.jsonnet", "import '/etc/passwd'"), want: []string{"a.jsonnet", "only files within the repository"}},
		{name: "M22 importbin upwards", files: one("a.jsonnet", "importbin '../../etc/passwd'"), want: []string{"a.jsonnet", "out of the repository"}},
		{name: "M22 importstr by links", disk: map[string]string{"a.jsonnet": "importstr 'b'", "b": "-> /etc/passwd"}, want: []string{`"b"`, "escapes"}},
		{name: "M22 endless recursion", files: one("a.jsonnet", "local f(x) = 1 + f(x + 1); f(0)"), want: []string{"a.jsonnet", "max stack frames exceeded"}},
		{name: "M22 a file that imports itself", files: one("a.jsonnet", "import 'a.jsonnet'"), want: []string{"a.jsonnet"}},
		{name: "M22 endless tail recursion", files: one("a.jsonnet", "local f(x) = f(x) tailstrict; f(0)"), limits: Limits{Wall: 20 * time.Second}, reason: reasonLimit},
		{name: "M22 loops in loops", files: one("a.jsonnet", "local r = std.range(1, 3000);\n"+
			"[0 for x in r if std.length([0 for y in r if std.length([0 for z in r if z < 0]) > 0]) > 0]"), limits: Limits{CPU: time.Second}, reason: reasonLimit, want: []string{"took"}},
		{name: "M22 std.repeat", files: one("a.jsonnet", "std.repeat('x', 2000000000)"), limits: Limits{Memory: 128 << 20}, reason: reasonLimit, want: []string{"memory"}},
		{name: "M22 a list without end", files: one("a.jsonnet", "std.foldl(function(a, b) a + a, std.range(1, 60), ['x'])"), limits: Limits{Memory: 128 << 20, Wall: 20 * time.Second}, reason: reasonLimit},
		{name: "M22 no native functions", files: one("a.jsonnet", "std.native('exec')('id')"), want: []string{"a.jsonnet"}},
	}
}

func chart(template string, more ...string) fstest.MapFS {
	files := fstest.MapFS{"Chart.yaml": text("apiVersion: v2\nname: a\nversion: 1.0.0\n"), "templates/a.yaml": text(plain + "data: {a: " + template + "}\n")}
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = text(more[i+1])
	}
	return files
}

func values(file string) v1alpha1.ApplicationSource {
	return v1alpha1.ApplicationSource{Helm: &v1alpha1.ApplicationSourceHelm{ReleaseName: "a", ValueFiles: []string{file}}}
}

func helmAttacks() []attack {
	of := v1alpha1.ApplicationSource{Helm: &v1alpha1.ApplicationSourceHelm{ReleaseName: "a"}}
	bound := Limits{Memory: 192 << 20, CPU: 5 * time.Second}
	out := []attack{
		{name: "M19 helm: a text of a gigabyte", files: chart(`{{ repeat 1073741824 "x" }}`), source: of, limits: bound},
		{name: "M19 helm: a range without end", files: chart(`{{ range until 2000000000 }}{{ range until 2000000000 }}x{{ end }}{{ end }}`), source: of, limits: bound},
		{name: "M19 helm: recursive include", files: chart(`{{ include "r" . }}`, "templates/_r.tpl", `{{ define "r" }}{{ include "r" . }}{{ end }}`), source: of, limits: bound},
		{name: "M19 helm: recursive tpl", files: chart(`{{ tpl .Values.t . }}`, "values.yaml", "t: '{{ tpl .Values.t . }}'\n"), source: of, limits: bound},
		{name: "M20 helm: files outside", files: chart(`{{ .Files.Get "../../etc/passwd" | quote }}`), source: of, objects: 1},
		{name: "M20 helm: environment", files: chart(`{{ env "PATH" }}`), source: of},
	}
	for _, file := range []string{"/../../etc/passwd", "../../../etc/passwd", "file:///etc/passwd", `\\\\host\\share`, "$values/../../x", "%2e%2e/%2e%2e/etc/passwd", "../../etc/*"} {
		out = append(out, attack{name: "M05 helm: value file " + file, files: chart("b"), source: values(file)})
	}
	return out
}

func secretAttacks() []attack {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
	return []attack{
		{name: "M24 broken YAML", files: one("a.yaml", secret+"stringData:\n  password: "+canary+": x: y\n"), want: []string{"a.yaml"}},
		{name: "M24 a key twice", files: one("a.yaml", secret+"stringData:\n  password: "+canary+"\n  password: "+canary+"\n"), want: []string{"a.yaml"}},
		{name: "M24 broken JSON", files: one("a.json", `{"apiVersion":"v1","kind":"Secret","stringData":{"password":"`+canary+`"`), want: []string{"a.json"}},
		{
			name: "M24 jsonnet", files: one("a.jsonnet", "local s = {apiVersion: 'v1', kind: 'Secret',\n  stringData: {\n    password: '"+canary+"',\n  }};\nerror 'cannot use ' + s.stringData.password"),
			want: []string{"a.jsonnet", "++++++++"},
		},
		{name: "M24 a kind that is a value", files: one("a.yaml", "kind: [Secret]\napiVersion: v1\nstringData:\n  password: "+canary+"\n"), want: []string{"a.yaml"}},
		{name: "M24 an override that echoes", files: fstest.MapFS{
			".argocd-source.yaml": text("kind: Secret\nstringData: &a\n  password: " + canary + "\nhelm: [*a]\n"), "a.yaml": text(plain),
		}, reason: "InvalidOverride"},
	}
}

// TestMalicious plays each attack through a worker and in this process. Whatever it is, it must not show what a Secret
// holds, and the next render must go well.
func TestMalicious(t *testing.T) {
	play := func(t *testing.T, newHost func(*testing.T, HostOptions) *Host, all []attack) {
		t.Helper()
		shared := newHost(t, HostOptions{Workers: 1})
		for _, a := range all {
			t.Run(a.name, func(t *testing.T) {
				h := shared
				if a.limits != (Limits{}) {
					h = newHost(t, HostOptions{Workers: 1, Limits: a.limits})
				}
				a.play(t, h)
				good(t, shared)
			})
		}
	}
	t.Run("helm", func(t *testing.T) {
		t.Parallel()
		play(t, warmHost, helmAttacks())
	})
	for name, some := range map[string][]attack{
		"files": fileAttacks(), "parsers": parserAttacks(), "jsonnet": jsonnetAttacks(), "secrets": secretAttacks(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, testHost, some)
		})
	}
}

func (a attack) play(t *testing.T, h *Host) {
	t.Helper()
	req := manifest.Request{Source: a.source}
	result, err := h.Render(t.Context(), manifest.Trees{"": a.tree(t)}, req)
	a.judge(t, result, err)
	if a.limits != (Limits{}) {
		return
	}
	local, localErr := Local(t.Context(), manifest.Trees{"": a.tree(t)}, req)
	a.judge(t, local, localErr)
	if fmt.Sprint(err) != fmt.Sprint(localErr) {
		t.Errorf("in a worker the error is %v, and here %v", err, localErr)
	}
}

func (a attack) judge(t *testing.T, result manifest.Result, err error) {
	t.Helper()
	said := fmt.Sprint(err, result.Skipped, result.Notes)
	t.Logf("%d objects, %.300s", len(result.Objects), said)
	for _, secret := range []string{canary, "hunter2", "root:x:0"} {
		if strings.Contains(said, secret) {
			t.Errorf("it says %q", said)
		}
	}
	if a.objects > 0 {
		if err != nil || len(result.Objects) != a.objects {
			t.Errorf("got %d objects, %.500v; want %d", len(result.Objects), err, a.objects)
		}
		return
	}
	if err == nil {
		t.Fatalf("it was not refused: %d objects", len(result.Objects))
	}
	if a.reason != "" && (fault.ReasonOf(err) != a.reason || fault.ClassOf(err) != fault.Terminal) {
		t.Errorf("the reason is %s (%v), want %s", fault.ReasonOf(err), fault.ClassOf(err), a.reason)
	}
	for _, want := range a.want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %.500v does not say %q", err, want)
		}
	}
}

func (a attack) tree(t *testing.T) fs.FS {
	t.Helper()
	if a.disk == nil {
		return a.files
	}
	folder := t.TempDir()
	for name, content := range a.disk {
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, at)
		} else {
			err = os.WriteFile(at, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root.FS()
}
