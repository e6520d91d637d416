package kustomize_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render/kustomize"
)

// tree makes a tree of names and contents in turn.
func tree(namesAndContents ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(namesAndContents); i += 2 {
		files[namesAndContents[i]] = &fstest.MapFile{Data: []byte(namesAndContents[i+1]), Mode: 0o644}
	}
	return files
}

func render(t *testing.T, trees manifest.Trees, path, options string) (manifest.Result, error) {
	t.Helper()
	return kustomize.Render(t.Context(), trees, manifest.Request{
		Source: v1alpha1.ApplicationSource{Path: path}, App: manifest.App{Name: "demo", Namespace: "shop"},
		Kube: manifest.Kube{Version: "1.36.3"}, Build: manifest.Build{KustomizeOptions: options},
	})
}

func refused(t *testing.T, result manifest.Result, err error, want string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != fault.Terminal || !strings.Contains(err.Error(), want) {
		t.Errorf("Render = %d objects, needs %v, error %.600v (%v); want a Terminal fault with %q",
			len(result.Objects), result.Needs, err, fault.ClassOf(err), want)
	}
}

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// TestM16: a remote base is asked for, by what was read out of it, or refused; nothing is run for it.
func TestM16(t *testing.T) {
	for _, entry := range []string{
		"https://git.example.com/org/repo//path?ref=--upload-pack=touch%20/tmp/x",
		"https://git.example.com/org/repo//path?ref=-oProxyCommand=x",
		"https://git.example.com/org/repo//path?version=--x",
		"https://git.example.com/org/repo//path?ref=a%0Ab",
		"https://git.example.com/org/repo//../../x?ref=v1",
		"ssh://-oProxyCommand=touch/org/repo",
		"git@-oProxyCommand=x:org/repo",
		"git@git.example.com:-x/repo.git",
		"ext::sh -c touch% /tmp/x",
		"git::ext::sh -c x",
		"file:///etc",
		"git::file:///etc//x",
		"git://git.example.com/org/repo",
		"https://-x/org/repo",
		"https://git.example.com/org/re;id//path",
		"https://git.example.com/org/$(id)`x`//path",
		"s3::https://bucket/x",
		"hg::http://host/x",
	} {
		for _, field := range []string{"resources", "components", "bases", "transformers"} {
			t.Run(field+" "+entry, func(t *testing.T) {
				files := tree("kustomization.yaml", fmt.Sprintf("%s: [%q]\n", field, entry))
				result, err := render(t, manifest.Trees{"": files}, ".", "--load-restrictor LoadRestrictionsNone")
				refused(t, result, err, "")
				if len(result.Needs) > 0 {
					t.Errorf("needs %v", result.Needs)
				}
			})
		}
	}
	result, err := render(t, manifest.Trees{"": tree("kustomization.yaml", "resources: ['https://git.example.com/org/repo']\n")}, ".", "")
	if err != nil || len(result.Needs) != 1 || result.Needs[0].Kind != manifest.NeedGit || result.Needs[0].URL != "https://git.example.com/org/repo" {
		t.Errorf("a plain base: needs %v, %v; want the repository", result.Needs, err)
	}
}

// TestM16Bases: what was fetched reads its own repository alone.
func TestM16Bases(t *testing.T) {
	need := manifest.Need{Kind: manifest.NeedGit, URL: "https://github.com/org/base", Revision: "v1"}
	for name, base := range map[string]string{
		"a base of the repository":       "resources: [../../repo/secret]\n",
		"a file of the repository":       "configMapGenerator: [{name: x, files: [../../repo/secret/a.yaml]}]\n",
		"a patch of the repository":      "patches: [{path: ../../0/repo/secret/a.yaml}]\n",
		"an absolute file":               "configMapGenerator: [{name: x, files: [/0/repo/secret/a.yaml]}]\n",
		"a plugin with a file":           "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, files: [../repo/secret/a.yaml]}']\n",
		"a file beside it":               "configMapGenerator: [{name: x, files: [../other/a.yaml]}]\n",
		"values of the repository":       "helmCharts: [{name: c, releaseName: r, valuesFile: ../repo/secret/a.yaml}]\n",
		"a chart home of the repository": "helmGlobals: {chartHome: ../../repo}\nhelmCharts: [{name: secret, releaseName: r}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			trees := manifest.Trees{
				"":        tree("app/kustomization.yaml", "resources:\n- github.com/org/base//path?ref=v1\n", "secret/kustomization.yaml", "resources: [a.yaml]\n", "secret/a.yaml", object),
				need.ID(): tree("path/kustomization.yaml", base, "path/charts/c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n", "other/a.yaml", object),
			}
			result, err := render(t, trees, "app", "--enable-helm --load-restrictor LoadRestrictionsNone")
			refused(t, result, err, "")
		})
	}
}

// TestM17: nothing is run, nothing is read from outside, and what is not honoured is named.
func TestM17(t *testing.T) {
	chart := []string{"app/charts/c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n", "app/charts/c/templates/a.yaml", object}
	for name, tc := range map[string]struct{ kustomization, want string }{
		"a chart home outside":     {"helmGlobals: {chartHome: ../../../etc}\nhelmCharts: [{name: c, releaseName: r}]\n", "leads out of the repository"},
		"an absolute chart home":   {"helmGlobals: {chartHome: /etc}\nhelmCharts: [{name: c, releaseName: r}]\n", "leads out of the repository"},
		"a chart outside":          {"helmCharts: [{name: ../../../etc, releaseName: r}]\n", "leads out of the repository"},
		"a chart that is a flag":   {"helmCharts: [{name: --post-renderer=x, releaseName: r}]\n", "cannot be the name"},
		"a release that is a flag": {"helmCharts: [{name: c, releaseName: --post-renderer=x}]\n", "cannot be the name"},
		"a release of odd letters": {"helmCharts: [{name: c, releaseName: 'a;b'}]\n", "release name"},
		"values outside":           {"helmCharts: [{name: c, releaseName: r, valuesFile: ../../etc/passwd}]\n", "leads out of the repository"},
		"more values outside":      {"helmCharts: [{name: c, releaseName: r, additionalValuesFiles: [../../etc/passwd]}]\n", "leads out of the repository"},
		"a schema outside":         {"openapi: {path: ../../etc/schema.json}\n", "leads out of the repository"},
		"an absolute schema":       {"openapi: {path: /etc/schema.json}\n", "leads out of the repository"},
		"an exec generator":        {"generators: [exec.yaml]\n", "ksops"},
		"a plugin by its kind":     {"transformers: ['{apiVersion: example.com/v1, kind: Sed, metadata: {name: x}}']\n", "Sed (example.com/v1)"},
		"a plugin of a base":       {"transformers: [plugins]\n", "plugin"},
		"a container":              {"validators: [container.yaml]\n", "registry.example.com/fn:v1"},
		"a file outside":           {"configMapGenerator: [{name: x, files: [../../../etc/passwd]}]\n", "leads out of the repository"},
		"a key and a file outside": {"secretGenerator: [{name: x, files: [key=/etc/passwd]}]\n", "leads out of the repository"},
		"an env file outside":      {"configMapGenerator: [{name: x, envs: [/proc/self/environ]}]\n", "leads out of the repository"},
		"a patch outside":          {"patches: [{path: /etc/passwd}]\n", "leads out of the repository"},
		"an absolute resource":     {"resources: [/etc]\n", "leads out of the repository"},
		"a plugin's file outside":  {"transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: ../../etc/passwd}']\n", "leads out of the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			files := tree(append(chart, "app/kustomization.yaml", tc.kustomization,
				"app/exec.yaml", "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nfiles: [a]\n",
				"app/plugins/kustomization.yaml", "resources: [p.yaml]\n", "app/plugins/p.yaml", "apiVersion: example.com/v1\nkind: Sed\nmetadata: {name: x}\n",
				"app/container.yaml", "apiVersion: a/v1\nkind: Fn\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: '{container: {image: \"registry.example.com/fn:v1\"}}'\n",
			)...)
			options := "--enable-helm --enable-alpha-plugins --enable-exec --network --load-restrictor LoadRestrictionsNone"
			result, err := render(t, manifest.Trees{"": files}, "app", options)
			refused(t, result, err, tc.want)
		})
	}
	files := tree("kustomization.yaml", "resources: [a.yaml]\n", "a.yaml", object)
	result, err := render(t, manifest.Trees{"": files}, ".", "--enable-alpha-plugins --enable-exec --network --helm-command /tmp/x -o /tmp/y")
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"--enable-alpha-plugins", "--enable-exec", "--network", "--helm-command", "-o"} {
		if !strings.Contains(strings.Join(result.Notes, "\n"), "the option "+option+" of kustomize.buildOptions is not honoured") {
			t.Errorf("the notes do not name %s: %q", option, result.Notes)
		}
	}
	result, err = render(t, manifest.Trees{"": files}, ".", "--evil")
	refused(t, result, err, "--evil")
}

// TestM17Links: a link that leads out is not followed.
func TestM17Links(t *testing.T) {
	for _, target := range []string{"../../etc", "/etc", "kustomization.yaml/../../../x"} {
		files := tree("app/kustomization.yaml", "resources: [link]\n")
		files["app/link"] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		result, err := render(t, manifest.Trees{"": files}, "app", "--load-restrictor LoadRestrictionsNone")
		refused(t, result, err, "link")
	}
	files := tree("app/kustomization.yaml", "resources: [a]\n")
	files["app/a"] = &fstest.MapFile{Data: []byte("b"), Mode: fs.ModeSymlink | 0o777}
	files["app/b"] = &fstest.MapFile{Data: []byte("a"), Mode: fs.ModeSymlink | 0o777}
	result, err := render(t, manifest.Trees{"": files}, "app", "")
	refused(t, result, err, "")
}

// TestM18: kustomizations that never end, or that end too late.
func TestM18(t *testing.T) {
	deep, wide, many := fstest.MapFS{}, fstest.MapFS{}, &strings.Builder{}
	for i := range 1000 {
		deep[fmt.Sprintf("%d/kustomization.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "resources: [../%d]\n", i+1)}
	}
	for i := range 20 {
		wide[fmt.Sprintf("%d/kustomization.yaml", i)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncomponents: [../%d, ../%d/.]\n", i+1, i+1),
		}
	}
	wide["20/kustomization.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n")}
	many.WriteString("components:\n")
	for range 150_000 {
		many.WriteString("- ../c\n")
	}
	for name, tc := range map[string]struct {
		tree fs.FS
		path string
		want string
	}{
		"a base of itself":         {tree("a/kustomization.yaml", "resources: [../a]\n"), "a", "built on itself"},
		"two bases of each other":  {tree("a/kustomization.yaml", "resources: [../b]\n", "b/kustomization.yaml", "resources: [../a]\n"), "a", `by way of "a", "b"`},
		"a component of itself":    {tree("a/kustomization.yaml", "components: [.]\n"), "a", "built on itself"},
		"a base of what it is in":  {tree("a/kustomization.yaml", "resources: [b]\n", "a/b/kustomization.yaml", "resources: [..]\n"), "a", "built on itself"},
		"a transformer of itself":  {tree("a/kustomization.yaml", "transformers: [../a]\n"), "a", "built on itself"},
		"a thousand deep":          {deep, "0", "more than 128 deep"},
		"a million builds":         {wide, "0", "more than 10000 builds"},
		"entries without end":      {tree("a/kustomization.yaml", many.String(), "c/kustomization.yaml", "kind: Component\ncommonAnnotations: {a: b}\n"), "a", "more than"},
		"a kustomization of bytes": {tree("a/kustomization.yaml", strings.Repeat("#", 11<<20)), "a", "the limit is"},
		"several kustomizations":   {tree("a/kustomization.yaml", "resources: []\n", "a/Kustomization", "resources: []\n"), "a", "several kustomization files"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			result, err := render(t, manifest.Trees{"": tc.tree}, tc.path, "")
			refused(t, result, err, tc.want)
			t.Logf("after %v", time.Since(began))
		})
	}
}

// TestM18Repositories: repositories that are built on each other.
func TestM18Repositories(t *testing.T) {
	one := manifest.Need{Kind: manifest.NeedGit, URL: "https://github.com/org/one"}
	two := manifest.Need{Kind: manifest.NeedGit, URL: "https://github.com/org/two"}
	result, err := render(t, manifest.Trees{
		"":       tree("kustomization.yaml", "resources: [github.com/org/one]\n"),
		one.ID(): tree("kustomization.yaml", "resources: [github.com/org/two]\n"),
		two.ID(): tree("kustomization.yaml", "resources: [github.com/org/one]\n"),
	}, ".", "")
	refused(t, result, err, "built on itself")
}

// TestSecretsStayOutOfErrors: the library writes the configuration of a generator into its errors; here it is left out.
func TestSecretsStayOutOfErrors(t *testing.T) {
	files := tree("kustomization.yaml", "secretGenerator: [{name: x, literals: ['password=hunter2', 'broken-hunter2']}]\n")
	_, err := render(t, manifest.Trees{"": files}, ".", "")
	if err == nil || strings.Contains(err.Error(), "password=hunter2") {
		t.Errorf("error %v; want one without the secret", err)
	}
}
