package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/helm"
)

const chartFile = "apiVersion: v2\nname: hostile\nversion: 1.0.0\n"

// tree makes a tree of names and contents in turn.
func tree(namesAndContents ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(namesAndContents); i += 2 {
		files[namesAndContents[i]] = &fstest.MapFile{Data: []byte(namesAndContents[i+1]), Mode: 0o644}
	}
	return files
}

func chart(namesAndContents ...string) fstest.MapFS {
	return tree(append([]string{"Chart.yaml", chartFile}, namesAndContents...)...)
}

func render(t *testing.T, trees manifest.Trees, source v1alpha1.ApplicationSource) (manifest.Result, error) {
	t.Helper()
	return helm.Render(t.Context(), trees, manifest.Request{
		Source: source, App: manifest.App{Name: "demo", Namespace: "shop"}, Kube: manifest.Kube{Version: "1.36.3"},
	})
}

func refused(t *testing.T, result manifest.Result, err error, want string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != fault.Terminal || !strings.Contains(err.Error(), want) {
		t.Errorf("Render = %d objects, needs %v, error %.400v (%v); want a Terminal fault with %q",
			len(result.Objects), result.Needs, err, fault.ClassOf(err), want)
	}
}

// guarded is a tree that fails the test if anything outside of it is asked for.
type guarded struct {
	fstest.MapFS
	t *testing.T
}

func (g guarded) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		g.t.Errorf("the tree was asked for %q", name)
	}
	return g.MapFS.Open(name)
}

// TestM05 names value files that lead out: absolute, by URL, by ref, encoded, by pattern.
func TestM05(t *testing.T) {
	for _, tc := range []struct{ file, want string }{
		{"/etc/passwd", "does not exist"},
		{"../../../../etc/passwd", "leads out of the repository"},
		{"..", "is a folder"},
		{"../..", "leads out of the repository"},
		{"/../../etc/passwd", "leads out of the repository"},
		{"file:///etc/passwd", "read from the repository alone"},
		{"FILE:///etc/passwd", "read from the repository alone"},
		{"http://169.254.169.254/latest/meta-data", "from which nothing is fetched"},
		{"http://[fe80::1]/x", "from which nothing is fetched"},
		{"https://127.0.0.1/x.yaml", "from which nothing is fetched"},
		{"https://user:secret@example.com/x.yaml", "not a URL that can be fetched"},
		{`\\server\share\x.yaml`, "does not exist"},
		{"$values/../../x", "leads out of the repository"},
		{"$values/..", "leads out of the repository"},
		{"$other/x.yaml", `there is $values`},
		{"a/$values/x.yaml", "does not exist"},
		{"%2e%2e/%2e%2e/etc/passwd", "does not exist"},
		{"../../*.yaml", "leads out of the repository"},
		{"/**/../../etc/*", "leads out of the repository"},
		{"*/../../../etc/*", "leads out of the repository"},
		{"secrets://values.enc.yaml", "helm-secrets"},
		{"secrets+age-import:///key.txt?values.enc.yaml", "helm-secrets"},
		{"git+https://git.example.com/x@values.yaml", "downloader plugin"},
		{"s3://bucket/values.yaml", "downloader plugin"},
		{"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*.yaml", "write fewer alternatives"},
		{"", "has no path"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			trees := manifest.Trees{
				"":        guarded{MapFS: tree("chart/Chart.yaml", chartFile, "chart/templates/a.yaml", "a: {{ .Values.x }}"), t: t},
				"$values": guarded{MapFS: tree("x", "secret: 1"), t: t},
			}
			result, err := render(t, trees, v1alpha1.ApplicationSource{Path: "chart", Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{tc.file}}})
			refused(t, result, err, tc.want)
			result, err = render(t, trees, v1alpha1.ApplicationSource{
				Path: "chart",
				Helm: &v1alpha1.ApplicationSourceHelm{FileParameters: []v1alpha1.HelmFileParameter{{Name: "x", Path: tc.file}}},
			})
			refused(t, result, err, "")
		})
	}
}

// TestM05Schemes: the installation says which schemes value files may be fetched by.
func TestM05Schemes(t *testing.T) {
	source := v1alpha1.ApplicationSource{Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"http://files.example.com/a.yaml"}}}
	request := manifest.Request{Source: source, App: manifest.App{Name: "demo"}, Build: manifest.Build{ValuesSchemes: []string{"https"}}}
	result, err := helm.Render(t.Context(), manifest.Trees{"": chart()}, request)
	refused(t, result, err, "helm.valuesFileSchemes")

	request.Build.ValuesSchemes = nil
	result, err = helm.Render(t.Context(), manifest.Trees{"": chart()}, request)
	if err != nil || len(result.Needs) != 1 || result.Needs[0].URL != "http://files.example.com/a.yaml" {
		t.Errorf("Render = needs %v, %v; want the file", result.Needs, err)
	}
}

// TestM19 has what can be bounded within the process: what a single call makes out of a number, recursion of templates,
// and what is printed. A template that just goes on is ended with its process.
func TestM19(t *testing.T) {
	for name, tc := range map[string]struct{ template, want string }{
		"a gigabyte of repeat":     {`a: {{ repeat 1073741824 "x" }}`, "repeat"},
		"repeat of a long text":    {`{{ $a := repeat 1000000 "x" }}{{ repeat 1000000 $a }}`, "repeat"},
		"until":                    {`a: {{ until 1000000000 | len }}`, "until"},
		"untilStep":                {`a: {{ untilStep 0 2000000000 1 | len }}`, "untilStep"},
		"untilStep down":           {`a: {{ untilStep 0 -2000000000 -1 | len }}`, "untilStep"},
		"seq":                      {`a: {{ seq 1000000000 | len }}`, "seq"},
		"indent":                   {`a: {{ indent 1000000000 "x" }}`, "indent"},
		"nindent":                  {`a: {{ nindent 1000000000 "x" }}`, "indent"},
		"randAlphaNum":             {`a: {{ randAlphaNum 1000000000 }}`, "randAlphaNum"},
		"randBytes":                {`a: {{ randBytes 1000000000 }}`, "randBytes"},
		"a template within itself": {`{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`, "nested reference name"},
		"two within each other": {
			`{{ define "x" }}{{ include "y" . }}{{ end }}{{ define "y" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`,
			"nested reference name",
		},
		"output": {`{{ $a := repeat 16000000 "x" }}{{ $a }}{{ $a }}{{ $a }}{{ $a }}{{ $a }}`, "prints more than"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			result, err := render(t, manifest.Trees{"": chart("templates/a.yaml", tc.template)}, v1alpha1.ApplicationSource{})
			refused(t, result, err, tc.want)
			t.Logf("after %v", time.Since(began))
			if _, err := render(t, manifest.Trees{"": chart("templates/a.yaml", object)}, v1alpha1.ApplicationSource{}); err != nil {
				t.Errorf("the next render: %v", err)
			}
		})
	}
}

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// TestBoundedFunctions: the functions that are bounded answer what the unbounded ones do.
func TestBoundedFunctions(t *testing.T) {
	template := object + `data:
  repeat: {{ repeat 2 "ab" }}{{ repeat 0 "x" }}
  until: {{ until 3 | toJson | quote }}
  down: {{ until -2 | toJson | quote }}
  step: {{ untilStep 3 0 -2 | toJson | quote }}
  seq: {{ seq 2 }}/{{ seq 3 1 }}/{{ seq 0 2 4 }}
  indent: {{ indent 2 "a" | quote }}
  nindent: {{ nindent 2 "a" | quote }}
  lengths: {{ len (randAlphaNum 5) }}{{ len (randAlpha 5) }}{{ len (randNumeric 5) }}{{ len (randAscii 5) }}{{ len (randBytes 3) }}
`
	result, err := render(t, manifest.Trees{"": chart("templates/a.yaml", template)}, v1alpha1.ApplicationSource{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"repeat": "abab", "until": "[0,1,2]", "down": "[0,-1]", "step": "[3,1]", "seq": "1 2/3 2 1/0 2 4", "indent": "  a",
		"nindent": "\n  a", "lengths": int64(55554),
	}
	if diff := cmp.Diff(want, result.Objects[0].Object["data"]); diff != "" {
		t.Errorf("data (-want +got)\n%s", diff)
	}
}

// TestM20: templates learn nothing of the world around them.
func TestM20(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PROCESS", "visible")
	template := object + `data:
  host: {{ getHostByName "example.com" | quote }}
  lookup: {{ lookup "v1" "Secret" "" "" | toJson | quote }}
  up: {{ .Files.Get "../../secret" | quote }}
  absolute: {{ .Files.Get "/etc/passwd" | quote }}
  glob: {{ .Files.Glob "../**" | len | quote }}
  text: {{ "$SECRET_OF_THE_PROCESS" | quote }}
`
	result, err := render(t, manifest.Trees{"": guarded{MapFS: tree("secret", "s", "a/secret", "s", "a/chart/Chart.yaml", chartFile, "a/chart/templates/a.yaml", template), t: t}},
		v1alpha1.ApplicationSource{Path: "a/chart"})
	if err != nil {
		t.Fatal(err)
	}
	want := "map[absolute: glob:0 host: lookup:{} text:$SECRET_OF_THE_PROCESS up:]"
	if got := fmt.Sprint(result.Objects[0].Object["data"]); got != want {
		t.Errorf("data = %s, want %s", got, want)
	}
	for _, function := range []string{`env "HOME"`, `expandenv "$HOME"`} {
		result, err := render(t, manifest.Trees{"": chart("templates/a.yaml", "{{ "+function+" }}")}, v1alpha1.ApplicationSource{})
		refused(t, result, err, "not defined")
	}
}

// TestM21 has charts whose metadata, schema or archive is an attack.
func TestM21(t *testing.T) {
	named := func(name string) fstest.MapFS {
		return tree("Chart.yaml", "apiVersion: v2\nversion: 1.0.0\nname: "+name+"\n")
	}
	packedWith := func(name string) fstest.MapFS { return chart("charts/x.tgz", string(pack(t, name, "apiVersion: v2"))) }
	link := chart("templates/a.yaml", object)
	link["Chart.lock"] = &fstest.MapFile{Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink | 0o777}
	for name, tc := range map[string]struct {
		tree fs.FS
		want string
	}{
		"the name leads up":           {named(`"../x"`), "is invalid"},
		"the name is a dot":           {named(`"."`), "is not allowed"},
		"the name is two dots":        {named(`".."`), "is not allowed"},
		"the name is a path":          {named("/abs"), "is invalid"},
		"no name":                     {named(`""`), "name is required"},
		"null maintainers":            {tree("Chart.yaml", chartFile+"maintainers: [null]\n"), "maintainers"},
		"null dependencies":           {tree("Chart.yaml", chartFile+"dependencies: [null]\n"), "dependenc"},
		"no version":                  {tree("Chart.yaml", "apiVersion: v2\nname: x\n"), "version is required"},
		"a lock that is a link":       {link, "symbolic link"},
		"a dependency outside":        {tree("c/Chart.yaml", chartFile), "no chart"},
		"a schema of a file":          {schema(`{"$ref": "file:///dev/zero"}`), "points out of the chart"},
		"a schema of a host":          {schema(`{"properties": {"a": {"$ref": "https://example.com/schema.json"}}}`), "points out of the chart"},
		"a schema of another file":    {schema(`{"allOf": [{"$ref": "other.json#/x"}]}`), "points out of the chart"},
		"a schema of an id":           {schema(`{"$id": "https://example.com/", "$ref": "b.json"}`), "points out of the chart"},
		"a dynamic schema":            {schema(`{"$dynamicRef": "https://example.com/x"}`), "points out of the chart"},
		"a nested schema":             {schema(strings.Repeat(`{"not":`, 5000) + "{}" + strings.Repeat("}", 5000)), "deep"},
		"no schema":                   {schema(`{`), "values.schema.json"},
		"an archive that leads up":    {packedWith("chart/../../x"), "leads out of the chart"},
		"an archive without a folder": {packedWith("Chart.yaml"), "not in the folder"},
		"an absolute archive":         {packedWith("chart//etc/passwd"), "leads out of the chart"},
		"no archive":                  {chart("charts/x.tgz", "not an archive"), "unpacking"},
		"an archive of zeros":         {chart("charts/x.tgz", string(pack(t, "chart/big", strings.Repeat("\x00", 101<<20)))), "larger than"},
		"many archives":               {manyArchives(t), "larger than"},
		"archives in archives":        {nestedArchives(t, 20), "more than 8 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := render(t, manifest.Trees{"": tc.tree}, v1alpha1.ApplicationSource{})
			refused(t, result, err, tc.want)
		})
	}
}

// TestM21Recursion: a schema that is built on itself is no reason to give up.
func TestM21Recursion(t *testing.T) {
	for _, text := range []string{
		`{"$ref": "#"}`,
		`{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`,
		`{"properties": {"a": {"$ref": "#"}}}`,
	} {
		if _, err := render(t, manifest.Trees{"": schema(text)}, v1alpha1.ApplicationSource{}); err != nil && fault.ClassOf(err) != fault.Terminal {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func schema(text string) fstest.MapFS {
	return chart("values.schema.json", text, "templates/a.yaml", object)
}

func pack(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tarred := tar.NewWriter(zipped)
	if err := tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := tarred.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := tarred.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// manyArchives are each within what Helm allows for one.
func manyArchives(t *testing.T) fstest.MapFS {
	t.Helper()
	packed := string(pack(t, "chart/big", strings.Repeat("\x00", 30<<20)))
	files := chart()
	for i := range 5 {
		files[fmt.Sprintf("charts/%d.tgz", i)] = &fstest.MapFile{Data: []byte(packed)}
	}
	return files
}

func nestedArchives(t *testing.T, depth int) fstest.MapFS {
	t.Helper()
	inner := pack(t, "chart/Chart.yaml", chartFile)
	for range depth {
		inner = pack(t, "chart/charts/x.tgz", string(inner))
	}
	return chart("charts/x.tgz", string(inner))
}

// TestSecretsStayOutOfErrors: what a template was given, or what a broken Secret holds, is not told.
func TestSecretsStayOutOfErrors(t *testing.T) {
	for name, template := range map[string]string{
		"tpl that fails":      `{{ tpl .Values.secret . }}`,
		"tpl that is broken":  `{{ tpl (printf "%s {{" .Values.secret) . }}`,
		"a Secret, not YAML":  "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Values.secret }}: a: b}\n",
		"a Secret, odd types": "apiVersion: v1\nkind: Secret\nmetadata: {{ .Values.secret | quote }}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, manifest.Trees{"": chart("templates/a.yaml", template)}, v1alpha1.ApplicationSource{
				Helm: &v1alpha1.ApplicationSourceHelm{Values: `secret: 'hunter2 {{ fail "no" }}'`},
			})
			if err == nil {
				t.Skip("it renders")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the secret: %v", err)
			}
			if !strings.Contains(err.Error(), "templates/a.yaml") {
				t.Errorf("the error does not name the template: %v", err)
			}
		})
	}
}

// module is a folder whose content is in another repository.
type module struct{ fs.DirEntry }

func (module) Submodule() string { return "0123456789" }

type withModule struct{ fstest.MapFS }

func (w withModule) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.MapFS.ReadDir(name)
	for i, entry := range entries {
		if entry.Name() == "sub" {
			entries[i] = module{entry}
		}
	}
	return entries, err
}

// TestContentFromElsewhere: what a submodule or Git LFS keeps is missed, and told.
func TestContentFromElsewhere(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	files := chart("templates/a.yaml", object, "charts/sub/Chart.yaml", chartFile, "logo.png", pointer)
	result, err := render(t, manifest.Trees{"": withModule{files}}, v1alpha1.ApplicationSource{})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Incomplete || len(result.Skipped) != 1 || !strings.Contains(result.Skipped[0], "charts/sub: it is a submodule") {
		t.Errorf("Incomplete = %v, Skipped = %q; want the submodule", result.Incomplete, result.Skipped)
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "logo.png") {
		t.Errorf("Notes = %q; want the picture", result.Notes)
	}
	result, err = render(t, manifest.Trees{"": chart("templates/a.yaml", object, "v.yaml", pointer)},
		v1alpha1.ApplicationSource{Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"v.yaml"}}})
	refused(t, result, err, "Git LFS")
}
