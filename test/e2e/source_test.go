package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// shopFiles is a repository with a source of each type.
var shopFiles = map[string]string{
	"chart/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"chart/values.yaml": "level: default\nreplicas: 1\n",
	"chart/templates/web.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-web
data:
  level: {{ .Values.level | quote }}
  replicas: {{ .Values.replicas | quote }}
  kube: {{ .Capabilities.KubeVersion.Major | quote }}
  apps: {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" | quote }}
`,
	"env/prod.yaml":                      "level: prod\n",
	"base/kustomization.yaml":            "resources: [web.yaml]\n",
	"base/web.yaml":                      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {level: base}\n",
	"overlays/prod/kustomization.yaml":   "resources: [../../base]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
	"jsonnet/web.jsonnet":                "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: std.extVar('name')}, data: {level: (import 'lib/level.libsonnet')}}\n",
	"jsonnet/lib/level.libsonnet":        "'imported'\n",
	"plain/extra.yaml":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {level: plain}\n",
	"docs/README.md":                     "hello\n",
	"override/.argocd-source-named.yaml": "kustomize: {namePrefix: own-}\n",
	"override/kustomization.yaml":        "resources: [web.yaml]\n",
	"override/web.yaml":                  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {level: overridden}\n",
}

// sourced creates an Application with a source, or with sources, as YAML.
func (f *fixture) sourced(name, field, source string) {
	f.Helper()
	manifest := fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  %s: %s
  syncPolicy: %s
`, name, f.control, f.dest, field, source, automated)
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating application %s: %v\n%s", name, err, out)
	}
}

// data is that of a live ConfigMap.
func (f *fixture) configMap(name string) map[string]string {
	f.Helper()
	u := f.object(configMaps, name)
	if u == nil {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	f.must(err)
	return data
}

// settled is Synced, Healthy and idle, at whatever revision.
func settled(app *v1alpha1.Application) bool {
	op := app.Status.OperationState
	return app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && app.Status.Health.Status == v1alpha1.HealthStatusHealthy &&
		app.Operation == nil && op != nil && op.Phase == v1alpha1.OperationSucceeded
}

func TestSourcesOfEachType(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", shopFiles))
	url := f.git.URL("shop")
	f.start()
	f.sourced("helm", "source", fmt.Sprintf(`{repoURL: %q, path: chart, targetRevision: main, helm: {valueFiles: [../env/prod.yaml], `+
		`parameters: [{name: replicas, value: "3"}]}}`, url))
	f.sourced("overlay", "source", fmt.Sprintf(`{repoURL: %q, path: overlays/prod, targetRevision: main, kustomize: {namePrefix: k-, `+
		`commonLabels: {team: blue}}}`, url))
	f.sourced("jsonnet", "source", fmt.Sprintf(`{repoURL: %q, path: jsonnet, targetRevision: main, directory: {jsonnet: {extVars: `+
		`[{name: name, value: "j-$ARGOCD_APP_NAME"}]}}}`, url))
	f.sourced("named", "source", fmt.Sprintf(`{repoURL: %q, path: override, targetRevision: main}`, url))
	for name, want := range map[string]v1alpha1.SourceType{
		"helm": "Helm", "overlay": "Kustomize", "jsonnet": "Directory", "named": "Kustomize",
	} {
		if app := f.await(name, "settled", settled); app.Status.SourceType != want {
			t.Errorf("application %s is of type %q, want %q", name, app.Status.SourceType, want)
		}
	}
	got := map[string]map[string]string{}
	for _, name := range []string{"helm-web", "k-web", "j-jsonnet", "own-web"} {
		got[name] = f.configMap(name)
	}
	want := map[string]map[string]string{
		"helm-web":  {"level": "prod", "replicas": "3", "kube": "1", "apps": "true"},
		"k-web":     {"level": "base"},
		"j-jsonnet": {"level": "imported"},
		"own-web":   {"level": "overridden"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the objects differ (-want +got):\n%s", d)
	}
	f.elsewhere()
	f.rendersTheSame()
}

// elsewhere: a commit that nobody read anything of costs nobody a request, and
// one to a shared base those who read it.
func (f *fixture) elsewhere() {
	f.Helper()
	before := len(f.requests())
	_, err := f.git.Commit("shop", "main", "docs", map[string]*string{"docs/README.md": new("changed\n"), "docs/new.md": new("x")})
	f.must(err)
	f.must(err)
	head, err := f.git.Commit("shop", "main", "the base", map[string]*string{
		"base/web.yaml": new(strings.Replace(shopFiles["base/web.yaml"], "level: base", "level: changed", 1)),
	})
	f.must(err)
	// Who asks for one tells the others: one look serves the repository.
	f.refresh("jsonnet")
	f.await("overlay", "at the new base", func(app *v1alpha1.Application) bool { return settled(app) && app.Status.Sync.Revision == head })
	if got := f.configMap("k-web")["level"]; got != "changed" {
		f.Errorf("the overlay has the level %q", got)
	}
	for _, e := range f.requests()[before:] {
		if e.Resource == "applications" && e.Name != "overlay" && e.Name != "jsonnet" {
			f.Errorf("application %s was written for a commit that it read nothing of: %s", e.Name, e.Verb)
		}
	}
}

// rendersTheSame: what the commands show is what is applied, with and without a
// cluster.
func (f *fixture) rendersTheSame() {
	f.Helper()
	online, stderr, code := f.towline("app", "manifests", "overlay")
	if code != 0 {
		f.Fatalf("app manifests: %d: %s", code, stderr)
	}
	dir := f.TempDir()
	for name, text := range shopFiles {
		path := filepath.Join(dir, "repo", name)
		f.must(os.MkdirAll(filepath.Dir(path), 0o755))
		f.must(os.WriteFile(path, []byte(text), 0o600))
	}
	f.must(os.WriteFile(filepath.Join(dir, "repo", "base", "web.yaml"),
		[]byte(strings.Replace(shopFiles["base/web.yaml"], "level: base", "level: changed", 1)), 0o600))
	app := filepath.Join(dir, "app.yaml")
	f.must(os.WriteFile(app, []byte(f.kubectl("-n", f.control, "get", "application", "overlay", "-o", "yaml")), 0o600))
	offline, stderr, code := f.command("render", "-f", app, "--repo", filepath.Join(dir, "repo"))
	if code != 0 {
		f.Fatalf("render: %d: %s", code, stderr)
	}
	if d := cmp.Diff(online, offline); d != "" || !strings.Contains(online, "name: k-web") {
		f.Errorf("the manifests differ (-online +offline):\n%s\n%s", d, online)
	}
}

// TestSeveralSources: a chart with values of another repository beside plain
// manifests; a push to the values, a rollback of both.
func TestSeveralSources(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", shopFiles))
	f.must(f.git.Create("values", map[string]string{"web.yaml": "level: one\n", "other.yaml": "x\n"}))
	f.start()
	f.sourced("several", "sources", fmt.Sprintf(
		`[{repoURL: %q, targetRevision: main, ref: values}, `+
			`{repoURL: %[2]q, path: chart, targetRevision: main, helm: {valueFiles: [$values/web.yaml], releaseName: s}}, `+
			`{repoURL: %[2]q, path: plain, targetRevision: main}]`, f.git.URL("values"), f.git.URL("shop")))
	app := f.await("several", "settled", settled)
	if d := cmp.Diff([]v1alpha1.SourceType{"", "Helm", "Directory"}, app.Status.SourceTypes); d != "" || len(app.Status.Sync.Revisions) != 3 {
		t.Errorf("the types differ (-want +got):\n%s\nrevisions %v", d, app.Status.Sync.Revisions)
	}
	if level := f.configMap("s-web")["level"]; level != "one" || f.configMap("extra") == nil {
		t.Errorf("the level is %q", level)
	}
	head, err := f.git.Commit("values", "main", "two", map[string]*string{"web.yaml": new("level: two\n")})
	f.must(err)
	f.refresh("several")
	f.await("several", "at the new values", func(app *v1alpha1.Application) bool {
		return settled(app) && len(app.Status.Sync.Revisions) == 3 && app.Status.Sync.Revisions[0] == head
	})
	if level := f.configMap("s-web")["level"]; level != "two" {
		t.Errorf("the level is %q", level)
	}
	f.edit(configMaps, "s-web", `{"data":{"level":"drifted"}}`)
	f.awaitObject(configMaps, "s-web", func(u *unstructured.Unstructured) bool {
		level, _, _ := unstructured.NestedString(u.Object, "data", "level")
		return level == "two"
	})
	if _, stderr, code := f.towline("app", "rollback", "several"); code != 0 {
		t.Fatalf("rollback: %d: %s", code, stderr)
	}
	if level := f.configMap("s-web")["level"]; level != "one" {
		t.Errorf("after the rollback the level is %q", level)
	}
}

// TestChartsOfARepository: by a range of versions, with a login from a secret
// that comes late, and a chart that depends on another one.
func TestChartsOfARepository(t *testing.T) {
	f := setup(t)
	repo := newChartRepository(t, "bot", "hunter2")
	repo.add("library", "0.1.0", map[string]string{
		"Chart.yaml":                "apiVersion: v2\nname: library\nversion: 0.1.0\n",
		"templates/from-below.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: below}\ndata: {level: {{ .Values.level | quote }}}\n",
		"values.yaml":               "level: low\n",
	})
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		repo.add("shop", version, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + version + "\n" +
				"dependencies: [{name: library, version: 0.x, repository: " + repo.URL + "}]\n",
			"templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-repo}\ndata: {version: {{ .Chart.Version | quote }}}\n",
		})
	}
	f.start()
	f.sourced("chart", "source", fmt.Sprintf(`{repoURL: %q, chart: shop, targetRevision: 1.x, helm: {valuesObject: {library: {level: high}}}}`, repo.URL))
	app := f.await("chart", "refused", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) > 0 })
	if m := app.Status.Conditions[0].Message; !strings.Contains(m, repo.URL) || strings.Contains(m, "hunter2") {
		t.Errorf("the condition is %q", m)
	}
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: charts, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}\n"+
		"stringData: {type: helm, name: charts, url: %q, username: bot, password: hunter2}\n", f.control, repo.URL)
	if out, err := f.kubectlTry(secret, "apply", "-f", "-"); err != nil {
		t.Fatalf("creating the secret: %v\n%s", err, out)
	}
	f.await("chart", "settled", func(app *v1alpha1.Application) bool { return settled(app) && app.Status.Sync.Revision == "1.1.0" })
	if f.configMap("from-repo")["version"] != "1.1.0" || f.configMap("below")["level"] != "high" {
		t.Errorf("the objects are %v and %v", f.configMap("from-repo"), f.configMap("below"))
	}
	if strings.Contains(f.log.String(), "hunter2") {
		t.Error("the password is in the log")
	}
}

// TestAPrivateRepository: a secret that comes late, a wrong one before it.
func TestAPrivateRepository(t *testing.T) {
	f := setup(t)
	private := gitserver.New(t)
	f.must(private.Create("shop", shopFiles))
	private.RequireLogin("bot", "hunter2")
	f.start()
	f.sourced("private", "source", fmt.Sprintf(`{repoURL: %q, path: plain, targetRevision: main}`, private.URL("shop")))
	refused := func(app *v1alpha1.Application) bool {
		return len(app.Status.Conditions) > 0 && strings.Contains(app.Status.Conditions[0].Message, "credentials")
	}
	f.await("private", "refused", refused)
	for _, password := range []string{"wrong-one", "hunter2"} {
		secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: host, namespace: %s, labels: {argocd.argoproj.io/secret-type: repo-creds}}\n"+
			"stringData: {type: git, url: %q, username: bot, password: %s}\n", f.control, strings.TrimSuffix(private.URL("shop"), "/shop.git"), password)
		if out, err := f.kubectlTry(secret, "apply", "-f", "-"); err != nil {
			t.Fatalf("creating the secret: %v\n%s", err, out)
		}
		if password == "wrong-one" {
			f.refresh("private")
			f.await("private", "refused still", refused)
		}
	}
	f.await("private", "settled", settled)
	for _, secret := range []string{"hunter2", "wrong-one"} {
		if strings.Contains(f.log.String(), secret) {
			t.Error("a password is in the log")
		}
	}
}

// chartRepository serves charts to those who sign in.
type chartRepository struct {
	*httptest.Server
	t     *testing.T
	files map[string][]byte
	index strings.Builder
}

func newChartRepository(t *testing.T, user, password string) *chartRepository {
	t.Helper()
	r := &chartRepository{t: t, files: map[string][]byte{}}
	r.index.WriteString("apiVersion: v1\nentries:\n")
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, p, ok := req.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if req.URL.Path == "/index.yaml" {
			_, _ = w.Write([]byte(r.index.String()))
			return
		}
		data, ok := r.files[strings.TrimPrefix(req.URL.Path, "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(r.Close)
	return r
}

// add packs a chart. The versions of a chart are added one after the other.
func (r *chartRepository) add(name, version string, files map[string]string) {
	r.t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for path, text := range files {
		header := &tar.Header{Name: name + "/" + path, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			r.t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		r.t.Fatal(err)
	}
	file := name + "-" + version + ".tgz"
	r.files[file] = packed.Bytes()
	if !strings.Contains(r.index.String(), "\n  "+name+":\n") {
		fmt.Fprintf(&r.index, "  %s:\n", name)
	}
	fmt.Fprintf(&r.index, "  - {name: %s, version: %s, apiVersion: v2, urls: [%s]}\n", name, version, file)
}
