package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
	"github.com/towline-cd/towline/internal/plugin"
	"github.com/towline-cd/towline/internal/render"
	"github.com/towline-cd/towline/test/sidecar"
)

// renderWorker makes this program the worker that renders.
const renderWorker = "render-worker"

// worker is shared by the tests: what it is asked is not what they are about.
var worker *render.Host

func TestMain(m *testing.M) {
	ctx := context.Background()
	if code, is := sidecar.Main(ctx); is {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == renderWorker {
		if err := render.Work(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	worker = render.NewHost(render.HostOptions{Command: []string{os.Args[0], renderWorker}})
	code := m.Run()
	worker.Close()
	os.Exit(code)
}

// sockets is a folder whose name is short: the name of a socket must be.
func sockets(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p-") //nolint:usetesting // that name would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func host(t *testing.T, dir string, limits plugin.Limits) *plugin.Host {
	t.Helper()
	scratch := t.TempDir()
	t.Cleanup(func() {
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("files were left: %v, %v", left, err)
		}
	})
	return plugin.New(plugin.Options{Dir: dir, Next: worker, Scratch: scratch, Limits: limits})
}

// asked is a request for a plugin.
func asked(name string) manifest.Request {
	return manifest.Request{
		Source: v1alpha1.ApplicationSource{
			RepoURL: "https://git.example.com/shop", Path: "apps/shop", TargetRevision: "main",
			Plugin: &v1alpha1.ApplicationSourcePlugin{Name: name},
		},
		App:  manifest.App{Name: "shop", Namespace: "prod", Project: "retail", Revision: "0123456789abcdef"},
		Kube: manifest.Kube{Version: "1.36.3", APIs: []string{"apps/v1", "v1"}},
	}
}

const shopManifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: $ARGOCD_APP_NAME-$ARGOCD_ENV_LEVEL}\n"

func shop() fstest.MapFS {
	return fstest.MapFS{
		"apps/shop/a.yaml":   {Data: []byte(shopManifest)},
		"apps/shop/run.sh":   {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"apps/shop/Shopfile": {Data: []byte("x")},
		"base/b.yaml":        {Data: []byte("b")},
		"link":               {Data: []byte("base/b.yaml"), Mode: fs.ModeSymlink | 0o777},
		"out":                {Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		"rooted":             {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		".git/config":        {Data: []byte("token")},
		"new\nline ü":        {Data: []byte("odd")},
	}
}

// traced is a tree that can tell what was read.
type traced struct{ fstest.MapFS }

func (f traced) Trace(kind reads.Kind, path string) ([]reads.Read, error) {
	return []reads.Read{{Path: path, Kind: kind, Digest: "d"}}, nil
}

func (f traced) Same(reads.Read) (bool, error) { return true, nil }

func TestAPluginRenders(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop-v1.0"}.Start(t)
	req := asked("shop-v1.0")
	req.Source.Plugin.Env = []v1alpha1.EnvEntry{{Name: "LEVEL", Value: "high"}}
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": traced{shop()}}, req)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Objects) != 1 || result.Objects[0].GetName() != "shop-high" {
		t.Errorf("the objects are %v", result.Objects)
	}
	if result.Type != v1alpha1.SourceTypePlugin || !result.UsesRevision || !result.UsesAPIs || len(result.Needs) > 0 || result.Incomplete {
		t.Errorf("the result is %+v", result)
	}
	// Nobody knows what a plugin looks at.
	if diff := cmp.Diff(reads.Set{{Path: ".", Kind: reads.Folder, Digest: "d"}}, result.Reads); diff != "" {
		t.Errorf("reads (-want +got)\n%s", diff)
	}
	untraced, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": shop()}, req)
	if err != nil || untraced.Reads != nil {
		t.Errorf("of a tree that does not tell: %v, %v", untraced.Reads, err)
	}
}

func TestOthersAreNotConcerned(t *testing.T) {
	req := asked("")
	req.Source.Plugin, req.Source.Path = nil, "other"
	tree := fstest.MapFS{"other/a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}}
	h := host(t, "", plugin.Limits{})
	result, err := h.Render(t.Context(), manifest.Trees{"": tree}, req)
	if err != nil || len(result.Objects) != 1 || result.Type != v1alpha1.SourceTypeDirectory {
		t.Errorf("got %v, %v", result, err)
	}
	if parameters, err := h.Parameters(t.Context(), manifest.Trees{"": tree}, req); parameters != nil || err != nil {
		t.Errorf("its parameters are %v, %v", parameters, err)
	}
}

// TestWhatAPluginGets: all of the content but what would lead out of it, and all variables; no credentials.
func TestWhatAPluginGets(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "echo", Do: sidecar.Echo, WantsCredentials: true}.Start(t)
	req := asked("echo")
	req.Source.Plugin.Env = []v1alpha1.EnvEntry{{Name: "A", Value: "1"}}
	req.Source.Plugin.Parameters = []v1alpha1.ApplicationSourcePluginParameter{{Name: "p", String: new("2")}}
	// What a plugin is asked may stand in the repository, too.
	tree := shop()
	tree["apps/shop/.argocd-source-shop.yaml"] = &fstest.MapFile{Data: []byte("plugin: {env: [{name: B, value: $ARGOCD_APP_REVISION_SHORT}]}\n")}
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": tree}, req)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := result.Objects[0].Object["data"].(map[string]any)
	var got sidecar.Received
	if err := json.Unmarshal([]byte(data["text"].(string)), &got); err != nil {
		t.Fatal(err)
	}
	want := sidecar.Received{
		App: "shop", Path: "apps/shop",
		Variables: []string{
			"ARGOCD_APP_NAME=shop", "ARGOCD_APP_NAMESPACE=prod", "ARGOCD_APP_PROJECT_NAME=retail", "ARGOCD_APP_REVISION=0123456789abcdef",
			"ARGOCD_APP_REVISION_SHORT=0123456", "ARGOCD_APP_REVISION_SHORT_8=01234567", "ARGOCD_APP_SOURCE_PATH=apps/shop",
			"ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop", "ARGOCD_APP_SOURCE_TARGET_REVISION=main",
			"KUBE_API_VERSIONS=apps/v1,v1", "KUBE_VERSION=1.36.3", "ARGOCD_ENV_B=0123456",
			`ARGOCD_APP_PARAMETERS=[{"name":"p","string":"2"}]`, "PARAM_P=2",
		},
		Files: map[string]string{
			"apps/shop/a.yaml": shopManifest, "apps/shop/run.sh x": "#!/bin/sh\n", "apps/shop/Shopfile": "x", "base/b.yaml": "b",
			"link": "-> base/b.yaml", "new\nline ü": "odd",
			"apps/shop/.argocd-source-shop.yaml": "plugin: {env: [{name: B, value: $ARGOCD_APP_REVISION_SHORT}]}\n",
		},
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return name == ".checksum" || name == ".size"
	}, cmp.Ignore())); diff != "" {
		t.Errorf("received (-want +got)\n%s", diff)
	}
	notes := strings.Join(result.Notes, "\n")
	for _, word := range []string{`".git", which is git's own`, `link "out"`, `link "rooted"`, "provideGitCreds"} {
		if !strings.Contains(notes, word) {
			t.Errorf("the notes do not tell of %s:\n%s", word, notes)
		}
	}
}

// TestAFileThatIsTooLarge is left out by name, and nothing is deleted on such a render's word.
func TestAFileThatIsTooLarge(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop"}.Start(t)
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": large{shop()}}, asked("shop"))
	if err != nil || !result.Incomplete || !strings.Contains(strings.Join(result.Notes, "\n"), "base/b.yaml") {
		t.Errorf("got %+v, %v", result, err)
	}
}

// large has a file that is too large to be read.
type large struct{ fstest.MapFS }

func (f large) ReadFile(name string) ([]byte, error) {
	if name == "base/b.yaml" {
		return nil, fault.Terminalf("FileTooLarge", "it is 99 bytes long, the limit is 10")
	}
	return f.MapFS.ReadFile(name)
}

func TestDiscovery(t *testing.T) {
	dir := sockets(t)
	for _, p := range []sidecar.Plugin{
		{Name: "a-silent"}, {Name: "b-other", Matches: "Otherfile"}, {Name: "c-shop", Matches: "Shopfile", Do: sidecar.Echo}, {Name: "d-shop", Matches: "Shopfile"},
	} {
		p.Dir = dir
		p.Start(t)
	}
	h := host(t, dir, plugin.Limits{})
	result, err := h.Render(t.Context(), manifest.Trees{"": shop()}, asked(""))
	if err != nil || len(result.Objects) != 1 || result.Objects[0].GetName() != "received" {
		t.Errorf("got %v, %v", result.Objects, err)
	}
	tree := shop()
	delete(tree, "apps/shop/Shopfile")
	_, err = h.Render(t.Context(), manifest.Trees{"": tree}, asked(""))
	wantFault(t, err, fault.Terminal, "PluginNotFound", "no plugin says that it is for this source", "a-silent, b-other, c-shop, d-shop")
	// One that cannot be asked might have been the one.
	sidecar.Plugin{Dir: dir, Name: "e-noise", Do: sidecar.Noise}.Start(t)
	_, err = h.Render(t.Context(), manifest.Trees{"": tree}, asked(""))
	wantFault(t, err, fault.Transient, "PluginUnavailable", "not all could be asked", "e-noise")
}

func wantFault(t *testing.T, err error, class fault.Class, reason string, words ...string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Errorf("the error is %v (%s, %s), want %s, %s", err, fault.ClassOf(err), fault.ReasonOf(err), class, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
}

func TestNoSuchPlugin(t *testing.T) {
	h := host(t, "", plugin.Limits{})
	_, err := h.Render(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	wantFault(t, err, fault.Terminal, "PluginsOff", "plugin shop", "--plugins")
	dir, elsewhere := sockets(t), sockets(t)
	h = host(t, dir, plugin.Limits{})
	_, err = h.Render(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	wantFault(t, err, fault.Terminal, "PluginNotFound", `no plugin "shop"`, "no sockets in "+dir)
	sidecar.Plugin{Dir: dir, Name: "shop-v1"}.Start(t)
	sidecar.Plugin{Dir: elsewhere, Name: "shop"}.Start(t)
	_, err = h.Render(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	wantFault(t, err, fault.Terminal, "PluginNotFound", `no plugin "shop"`, "shop-v1")
	// M23: neither a name nor a link leads out of the folder.
	if err := os.Symlink(filepath.Join(elsewhere, "shop.sock"), filepath.Join(dir, "linked.sock")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../" + filepath.Base(elsewhere) + "/shop", "linked", "..", "a/b", ".hidden", "a\x00b", strings.Repeat("a", 300)} {
		_, err = h.Render(t.Context(), manifest.Trees{"": shop()}, asked(name))
		wantFault(t, err, fault.Terminal, "PluginNotFound")
	}
	_, err = host(t, filepath.Join(dir, "nowhere"), plugin.Limits{}).Render(t.Context(), manifest.Trees{"": shop()}, asked(""))
	wantFault(t, err, fault.Transient, "PluginUnavailable")
}

// TestHostilePlugins: each costs its own render, within bounds, and no other.
func TestHostilePlugins(t *testing.T) {
	bound := plugin.Limits{Time: time.Minute, AnswerBytes: 2 << 20, ManifestBytes: 2 << 20}
	brief, small := bound, bound
	brief.Time, small.AnswerBytes = 700*time.Millisecond, 16<<20
	tests := map[string]struct {
		plugin sidecar.Plugin
		limits plugin.Limits
		class  fault.Class
		reason string
		words  []string
	}{
		"M23 it never ends":           {sidecar.Plugin{Do: sidecar.Hang}, brief, fault.Transient, "PluginSlow", []string{"longer than 700ms"}},
		"M23 it prints and prints":    {sidecar.Plugin{Do: sidecar.Endless}, bound, fault.Terminal, "PluginFailed", []string{"more than one message"}},
		"M23 it prints much":          {sidecar.Plugin{Do: sidecar.Large}, bound, fault.Terminal, "PluginLimit", []string{"larger than 2 MiB"}},
		"M23 a manifest is huge":      {sidecar.Plugin{Do: sidecar.LargeOne}, small, fault.Terminal, "PluginLimit", []string{"manifest 1"}},
		"it answers nonsense":         {sidecar.Plugin{Do: sidecar.Garbage}, bound, fault.Terminal, "PluginFailed", []string{"cannot be read"}},
		"it dies":                     {sidecar.Plugin{Do: sidecar.Die}, bound, fault.Transient, "PluginUnavailable", nil},
		"it does not speak gRPC":      {sidecar.Plugin{Do: sidecar.Noise}, bound, fault.Transient, "PluginUnavailable", nil},
		"it does not speak at all":    {sidecar.Plugin{Do: sidecar.Deaf}, brief, fault.Transient, "PluginSlow", nil},
		"it prints what is no YAML":   {sidecar.Plugin{Do: sidecar.Text, Say: "a: b: c"}, bound, fault.Terminal, "InvalidManifest", []string{"manifest 1 of the plugin"}},
		"it prints what is no object": {sidecar.Plugin{Do: sidecar.Text, Say: "a: b"}, bound, fault.Terminal, "InvalidManifest", []string{"manifest 1 of the plugin"}},
		"M08 it prints a bomb": {
			sidecar.Plugin{Do: sidecar.Text, Say: "a: &a [x,x,x,x,x,x,x,x,x]\n" + bomb()}, bound, fault.Terminal, "InvalidManifest", []string{"manifest 1 of the plugin"},
		},
		"it fails": {sidecar.Plugin{Do: sidecar.Fail, Say: "no such file: ü%20\nline two"}, bound, fault.Transient, "PluginFailed", []string{`plugin "it" failed: no such file: ü%20` + "\nline two"}},
		"M24 it tells secrets": {
			sidecar.Plugin{Do: sidecar.Fail, Say: "cannot use hunter2hunter2 and swordfish and " + "topsecretvalue at level high"},
			bound, fault.Transient, "PluginFailed",
			[]string{"cannot use ++++++++ and ++++++++ and ++++++++ at level high"},
		},
		"it complains at length":   {sidecar.Plugin{Do: sidecar.Fail, Before: 100 << 10, Say: "the end"}, bound, fault.Transient, "PluginFailed", []string{"xxx … xxx", "the end"}},
		"it complains without end": {sidecar.Plugin{Do: sidecar.Fail, Before: 1 << 20, Say: "the end"}, bound, fault.Transient, "PluginUnavailable", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sockets(t)
			tc.plugin.Dir, tc.plugin.Name = dir, "it"
			tc.plugin.Start(t)
			sidecar.Plugin{Dir: dir, Name: "good"}.Start(t)
			tree := shop()
			tree["apps/shop/secret.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: swordfish\n")}
			req := asked("it")
			req.Source.Plugin.Env = []v1alpha1.EnvEntry{{Name: "API_TOKEN", Value: "hunter2hunter2"}, {Name: "LEVEL", Value: "high"}}
			req.Source.Plugin.Parameters = []v1alpha1.ApplicationSourcePluginParameter{{Name: "password", String: new("topsecretvalue")}}
			h := host(t, dir, tc.limits)
			_, err := h.Render(t.Context(), manifest.Trees{"": tree}, req)
			t.Log(err)
			wantFault(t, err, tc.class, tc.reason, tc.words...)
			if err != nil && len(err.Error()) > 4000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			req.Source.Plugin.Name = "good"
			patient := tc.limits
			patient.Time = time.Minute
			result, err := host(t, dir, patient).Render(t.Context(), manifest.Trees{"": tree}, req)
			if err != nil || len(result.Objects) != 2 {
				t.Errorf("another plugin: %v, %v", result.Objects, err)
			}
		})
	}
}

// bomb is a YAML document whose aliases multiply.
func bomb() string {
	var out strings.Builder
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&out, "%c: &%c [*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c]\n", c, c, c-1)
	}
	return out.String()
}

func TestWhatIsSentIsBounded(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop"}.Start(t)
	tree := shop()
	tree["big"] = &fstest.MapFile{Data: make([]byte, 2<<20)}
	for name, limits := range map[string]plugin.Limits{"bytes": {SentBytes: 1 << 20}, "files": {SentFiles: 5}} {
		t.Run(name, func(t *testing.T) {
			_, err := host(t, dir, limits).Render(t.Context(), manifest.Trees{"": tree}, asked("shop"))
			wantFault(t, err, fault.Terminal, "PluginLimit", "smaller repository")
		})
	}
	deep := shop()
	deep[strings.Repeat("d/", 150)+"f"] = &fstest.MapFile{}
	_, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": deep}, asked("shop"))
	wantFault(t, err, fault.Terminal, "PluginLimit", "folders deep")
	// More than one chunk, and not a whole number of them.
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": noisy(tree)}, asked("shop"))
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("within the bounds: %v, %v", result.Objects, err)
	}
}

// noisy adds a file that cannot be compressed.
func noisy(tree fstest.MapFS) fstest.MapFS {
	data, n := make([]byte, 700<<10+13), uint64(88172645463325252)
	for i := range data {
		n ^= n << 13
		n ^= n >> 7
		n ^= n << 17
		data[i] = byte(n)
	}
	tree["noise"] = &fstest.MapFile{Data: data}
	return tree
}

func TestAnOldPlugin(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop", Old: true}.Start(t)
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("got %v, %v", result.Objects, err)
	}
}

// TestASocketThatNobodyListensAt is that of a container that ended.
func TestASocketThatNobodyListensAt(t *testing.T) {
	dir := sockets(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "shop.sock")})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	_ = listener.Close()
	_, err = host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	wantFault(t, err, fault.Transient, "PluginUnavailable", "does its container run")
}

func TestParameters(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop"}.Start(t)
	got, err := host(t, dir, plugin.Limits{}).Parameters(t.Context(), manifest.Trees{"": shop()}, asked("shop"))
	if err != nil {
		t.Fatal(err)
	}
	want := []plugin.Parameter{
		{Name: "level", Title: "Level", Required: true, Item: "number", String: "3"},
		{Name: "hosts", Collection: "array", Array: []string{"a", "b"}},
		{Name: "labels", Collection: "map", Map: map[string]string{"k": "v"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestManyAtOnce: a plugin has few renders in hand at a time, and each caller gets its own answer.
func TestManyAtOnce(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "shop"}.Start(t)
	h := host(t, dir, plugin.Limits{Calls: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			req := asked("shop")
			req.App.Name = fmt.Sprintf("shop%d", i)
			result, err := h.Render(t.Context(), manifest.Trees{"": shop()}, req)
			if err != nil || len(result.Objects) != 1 || result.Objects[0].GetName() != req.App.Name+"-" {
				t.Errorf("%s: got %v, %v", req.App.Name, result.Objects, err)
			}
		})
	}
	wg.Wait()
}

// TestAHangingPluginHoldsUpOnlyItsOwn: others have places of their own.
func TestAHangingPluginHoldsUpOnlyItsOwn(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "hangs", Do: sidecar.Hang}.Start(t)
	sidecar.Plugin{Dir: dir, Name: "good"}.Start(t)
	h := host(t, dir, plugin.Limits{Calls: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := h.Render(ctx, manifest.Trees{"": shop()}, asked("hangs"))
			ended <- err
		}()
	}
	result, err := h.Render(t.Context(), manifest.Trees{"": shop()}, asked("good"))
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("got %v, %v", result.Objects, err)
	}
	cancel()
	for range 2 {
		wantFault(t, <-ended, fault.Transient, "Cancelled")
	}
}

// TestAChart: the content of such a source is the chart, and nobody wrote a path.
func TestAChart(t *testing.T) {
	dir := sockets(t)
	sidecar.Plugin{Dir: dir, Name: "echo", Do: sidecar.Echo}.Start(t)
	req := asked("echo")
	req.Source.Path, req.Source.Chart = "", "shop"
	result, err := host(t, dir, plugin.Limits{}).Render(t.Context(), manifest.Trees{"": shop()}, req)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := result.Objects[0].Object["data"].(map[string]any)
	var got sidecar.Received
	if err := json.Unmarshal([]byte(data["text"].(string)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Path != "." || !slices.Contains(got.Variables, "ARGOCD_APP_SOURCE_PATH=") {
		t.Errorf("for a chart: path %q, %q", got.Path, got.Variables)
	}
}
