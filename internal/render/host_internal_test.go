package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
)

var shop = fstest.MapFS{
	"deploy/a.yaml":        {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {n: 1, big: 9223372036854775807, f: 1.5, t: true, nil: null, l: [], m: {}}\n")},
	"deploy/b.json":        {Data: []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}]}`)},
	"deploy/c.jsonnet":     {Data: []byte(`local l = import 'lib.libsonnet'; [l.map(n) for n in ['c', 'd']] + [null]`)},
	"deploy/lib.libsonnet": {Data: []byte(`{map(n):: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: n}, data: {n: 3, f: 0.5}}}`)},
	"deploy/values.yaml":   {Data: []byte("replicas: 3\n")},
	"other/x.yaml":         {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")},
	"wrong/x.yaml":         {Data: []byte("apiVersion: v1\nmetadata: {name: x}\n")},
}

func at(path string) manifest.Request {
	return manifest.Request{Source: v1alpha1.ApplicationSource{Path: path}}
}

func good(t *testing.T, h *Host) {
	t.Helper()
	result, err := h.Render(t.Context(), manifest.Trees{"": shop}, at("other"))
	if err != nil || len(result.Objects) != 1 || result.Objects[0].GetName() != "x" {
		t.Errorf("a render like any other: %v, %v", result.Objects, err)
	}
}

// TestAWorkerAnswersAsThisProcess: nothing is lost or changed on the way, numbers least of all.
func TestAWorkerAnswersAsThisProcess(t *testing.T) {
	h := testHost(t, HostOptions{})
	for _, path := range []string{"deploy", "other", "wrong", "nowhere", "../etc", "."} {
		t.Run(path, func(t *testing.T) {
			trees := manifest.Trees{"": shop}
			want, wantErr := Local(t.Context(), trees, at(path))
			got, err := h.Render(t.Context(), trees, at(path))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-local +worker)\n%s", diff)
			}
			if fmt.Sprint(wantErr) != fmt.Sprint(err) || fault.ClassOf(wantErr) != fault.ClassOf(err) || fault.ReasonOf(wantErr) != fault.ReasonOf(err) {
				t.Errorf("the error is %v (%s), and here it is %v (%s)", err, fault.ReasonOf(err), wantErr, fault.ReasonOf(wantErr))
			}
			if path == "deploy" {
				bare, err := Directory{}.Render(t.Context(), trees, at(path))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(bare.Objects, got.Objects[:2]); diff != "" {
					t.Errorf("(-bare +worker)\n%s", diff)
				}
				if len(got.Objects) != 4 || len(got.Skipped) != 1 {
					t.Errorf("got %d objects, %v", len(got.Objects), got.Skipped)
				}
			}
		})
	}
}

// traced is a tree that tells what reading it depends on.
type traced struct{ fstest.MapFS }

func (f traced) Trace(kind reads.Kind, path string) ([]reads.Read, error) {
	return []reads.Read{{Path: path, Kind: kind, Digest: "d"}}, nil
}

func (f traced) Same(reads.Read) (bool, error) { return true, nil }

func TestReadsAreNoted(t *testing.T) {
	want := strings.Fields(`t:deploy l:deploy f:deploy/a.yaml f:deploy/b.json f:deploy/c.jsonnet f:deploy/lib.libsonnet f:deploy/values.yaml
		a:deploy/.argocd-source.yaml a:deploy/.argocd-source-shop.yaml a:deploy/Chart.yaml
		a:deploy/kustomization.yaml a:deploy/kustomization.yml a:deploy/Kustomization`)
	req := at("deploy")
	req.App.Name = "shop"
	h := testHost(t, HostOptions{})
	render := map[string]func(context.Context, manifest.Trees, manifest.Request) (manifest.Result, error){"worker": h.Render, "local": Local}
	for name, render := range render {
		t.Run(name, func(t *testing.T) {
			result, err := render(t.Context(), manifest.Trees{"": traced{shop}, "$values": traced{shop}}, req)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]struct{}{}
			for _, r := range result.Reads {
				got[fmt.Sprintf("%c:%s", r.Kind, r.Path)] = struct{}{}
			}
			wanted := map[string]struct{}{}
			for _, w := range want {
				wanted[w] = struct{}{}
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			result, err = render(t.Context(), manifest.Trees{"": shop}, req)
			if err != nil || result.Reads != nil {
				t.Errorf("of a tree that does not tell: %v, %v", result.Reads, err)
			}
		})
	}
}

// TestBombs: a render that takes too much of something is stopped by name, and the next is none the worse for it.
func TestBombs(t *testing.T) {
	tests := map[string]struct {
		plugin string
		limits Limits
		want   string
	}{
		"M19 an endless loop":      {"loop", Limits{Wall: time.Hour, CPU: time.Second}, "processor time"},
		"M19 a text of a gigabyte": {"repeat", Limits{}, "more than 512 MiB of memory"},
		"M19 memory bit by bit":    {"grow", Limits{Memory: 96 << 20}, "more than 96 MiB of memory"},
		"M19 recursion":            {"recursion", Limits{}, "calls itself without end"},
		"M19 many objects":         {"objects", Limits{}, "more than 50000 objects"},
		"M19 much output":          {"output", Limits{}, "larger than 100 MiB"},
		"small and then large":     {"wide", Limits{}, "the render was stopped"},
		"many questions":           {"read", Limits{Files: 100}, "more than 100 files"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testHost(t, HostOptions{Workers: 1, Limits: tc.limits})
			good(t, h)
			_, err := h.Render(t.Context(), manifest.Trees{"": shop}, plugin(tc.plugin))
			t.Log(err)
			if fault.ReasonOf(err) != reasonLimit || fault.ClassOf(err) != fault.Terminal || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("Render = %v (%s), want a limit with %q", err, fault.ReasonOf(err), tc.want)
			}
			good(t, h)
		})
	}
}

// TestTime: what takes long is stopped, and is told to be the machine's fault where it is.
func TestTime(t *testing.T) {
	h := testHost(t, HostOptions{Limits: Limits{Wall: 500 * time.Millisecond, CPU: time.Hour}})
	_, err := h.Render(t.Context(), manifest.Trees{"": shop}, plugin("loop"))
	if fault.ReasonOf(err) != "RenderSlow" || fault.ClassOf(err) != fault.Transient || !strings.Contains(fmt.Sprint(err), "longer than 500ms") {
		t.Errorf("Render = %v (%s)", err, fault.ReasonOf(err))
	}
	h = testHost(t, HostOptions{Limits: Limits{Wall: 500 * time.Millisecond, CPU: time.Millisecond * 400}})
	_, err = h.Render(t.Context(), manifest.Trees{"": shop}, plugin("loop"))
	if !strings.Contains(fmt.Sprint(err), "took") {
		t.Errorf("Render = %v (%s)", err, fault.ReasonOf(err))
	}
}

// TestABombHurtsNobodyElse: neighbours render while it burns.
func TestABombHurtsNobodyElse(t *testing.T) {
	h := testHost(t, HostOptions{Workers: 2, Limits: Limits{CPU: time.Second}})
	good(t, h)
	over := make(chan error)
	go func() {
		_, err := h.Render(t.Context(), manifest.Trees{"": shop}, plugin("loop"))
		over <- err
	}()
	n := 0
	for {
		select {
		case err := <-over:
			if fault.ReasonOf(err) != reasonLimit {
				t.Errorf("the bomb: %v", err)
			}
			if n == 0 {
				t.Error("no neighbour was rendered meanwhile")
			}
			t.Logf("%d neighbours were rendered meanwhile", n)
			return
		default:
			good(t, h)
			n++
		}
	}
}

func pidOf(t *testing.T, h *Host) int64 {
	t.Helper()
	result, err := h.Render(t.Context(), manifest.Trees{"": shop}, plugin("a"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := result.Objects[0].Object["data"].(map[string]any)["pid"].(int64)
	return pid
}

// TestRecycling: which renders leave doubt about a worker.
func TestRecycling(t *testing.T) {
	tests := map[string]struct {
		trees  manifest.Trees
		req    manifest.Request
		reason string
		kept   bool
	}{
		"a user's mistake":               {manifest.Trees{"": shop}, at("wrong"), "InvalidManifest", true},
		"a tree that cannot be read":     {manifest.Trees{"": broken{shop}}, at("other"), "GitFailed", true},
		"a panic":                        {manifest.Trees{"": shop}, plugin("panic"), reasonPanic, false},
		"a worker that ends":             {manifest.Trees{"": shop}, plugin("exit"), "WorkerEnded", false},
		"a worker that breaks the rules": {manifest.Trees{"": shop}, plugin("chatter"), "WorkerEnded", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testHost(t, HostOptions{Workers: 1})
			before := pidOf(t, h)
			_, err := h.Render(t.Context(), tc.trees, tc.req)
			if fault.ReasonOf(err) != tc.reason {
				t.Errorf("Render = %v (%s)", err, fault.ReasonOf(err))
			}
			if kept := pidOf(t, h) == before; kept != tc.kept {
				t.Errorf("the worker was kept: %t", kept)
			}
		})
	}
	t.Run("after many renders", func(t *testing.T) {
		h := testHost(t, HostOptions{Workers: 1, Renders: 2})
		a, b, c := pidOf(t, h), pidOf(t, h), pidOf(t, h)
		if a != b || b == c {
			t.Errorf("three renders by %d, %d, %d", a, b, c)
		}
	})
	t.Run("ended while it was idle", func(t *testing.T) {
		h := testHost(t, HostOptions{Workers: 1})
		pid := pidOf(t, h)
		h.idle[0].Kill()
		if pidOf(t, h) == pid {
			t.Error("it renders on")
		}
	})
}

// broken is a tree that fails to read one file, as a remote disk may.
type broken struct{ fstest.MapFS }

var errDisk = errors.New("the disk is gone")

func (b broken) ReadFile(name string) ([]byte, error) {
	if name == "other/x.yaml" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fault.Transientf("GitFailed", "git ended: %w", errDisk)}
	}
	return b.MapFS.ReadFile(name)
}

func TestAnErrorOfATreeKeepsItsCause(t *testing.T) {
	h := testHost(t, HostOptions{})
	_, err := h.Render(t.Context(), manifest.Trees{"": broken{shop}}, at("other"))
	if !errors.Is(err, errDisk) || fault.ClassOf(err) != fault.Transient || fault.ReasonOf(err) != "GitFailed" {
		t.Errorf("Render = %v", err)
	}
	if want := `reading "other/x.yaml": open other/x.yaml: git ended: the disk is gone`; fmt.Sprint(err) != want {
		t.Errorf("Render = %v, want %s", err, want)
	}
}

func TestCancelledRender(t *testing.T) {
	h := testHost(t, HostOptions{Workers: 1})
	good(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := h.Render(ctx, manifest.Trees{"": shop}, plugin("loop"))
	if !errors.Is(err, context.Canceled) || fault.ClassOf(err) != fault.Transient {
		t.Errorf("Render = %v", err)
	}
	good(t, h)
}

func TestWhatIsKnownOfTheClusterArrives(t *testing.T) {
	h := testHost(t, HostOptions{Workers: 1})
	for _, kube := range []manifest.Kube{{}, {Version: "1.36.3", APIs: []string{"v1", "apps/v1"}}, {Version: "1.36.3", APIs: []string{"v1", "apps/v1"}}, {Version: "1.30.0"}} {
		req := plugin("kube")
		req.Kube = kube
		result, err := h.Render(t.Context(), manifest.Trees{"": shop}, req)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"version": kube.Version, "apis": fmt.Sprint(kube.APIs)}
		if diff := cmp.Diff(want, result.Objects[0].Object["data"]); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	h := testHost(t, HostOptions{Workers: 2})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				good(t, h)
			}
		})
	}
	wg.Wait()
	if n := len(h.idle); n > 2 {
		t.Errorf("%d workers are idle", n)
	}
}

func TestAnIdleWorkerIsLetGo(t *testing.T) {
	h := testHost(t, HostOptions{Idle: time.Millisecond})
	for range 2 {
		good(t, h)
		for gone := false; !gone; time.Sleep(time.Millisecond) {
			h.mu.Lock()
			gone = len(h.idle) == 0
			h.mu.Unlock()
		}
	}
}

func TestAWorkerThatCannotBeStarted(t *testing.T) {
	h := NewHost(HostOptions{Command: []string{"/nowhere/towline"}})
	_, err := h.Render(t.Context(), manifest.Trees{"": shop}, at("other"))
	if fault.ReasonOf(err) != "WorkerUnavailable" || fault.ClassOf(err) != fault.Transient {
		t.Errorf("Render = %v", err)
	}
	if got := h.Sandbox(); !strings.HasPrefix(got, sandboxNone) {
		t.Errorf("Sandbox = %q", got)
	}
}

// TestAWholeFolderIsOneQuestion: a chart is read at once, and answers as it does file by file.
func TestAWholeFolderIsOneQuestion(t *testing.T) {
	files := fstest.MapFS{
		"c/Chart.yaml": {Data: []byte("name: c\n")}, "c/templates/a.yaml": {Data: []byte("a")}, "c/templates/deep/b.yaml": {Data: []byte("b")},
		"c/empty": {Mode: fs.ModeDir}, "c/link": {Data: []byte("Chart.yaml"), Mode: fs.ModeSymlink}, "d/x": {},
	}
	desk := newDesk(manifest.Trees{"": traced{files}}, Limits{}.withDefaults())
	counted := &counter{asker: desk}
	tree := newTree("", counted)
	if err := tree.whole("c"); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	walk := func(fsys fs.FS, into *[]string) {
		if err := fs.WalkDir(fsys, "c", func(path string, d fs.DirEntry, err error) error {
			line := fmt.Sprint(path, " ", err)
			if err == nil && path != "c" {
				info, infoErr := d.Info()
				line += fmt.Sprint(" ", d.Type(), infoErr)
				if d.Type().IsRegular() {
					data, readErr := fs.ReadFile(fsys, path)
					line += fmt.Sprint(" ", info.Size(), string(data), readErr)
				}
			}
			*into = append(*into, line)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	walk(files, &want)
	walk(tree, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The folder itself is described by a question of its own.
	if counted.n > 2 {
		t.Errorf("%d questions were asked", counted.n)
	}
	if diff := cmp.Diff(reads.Set{{Path: "c", Kind: reads.Folder, Digest: "d"}}, desk.set()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if data, err := fs.ReadFile(tree, "c/link"); err != nil || string(data) != "name: c\n" {
		t.Errorf("through a link: %q, %v", data, err)
	}
}

type counter struct {
	asker
	n int
}

func (c *counter) ask(questions []question) ([]answer, error) {
	c.n++
	return c.asker.ask(questions)
}

func BenchmarkHost(b *testing.B) {
	h := NewHost(HostOptions{Command: []string{os.Args[0], workerArgument}, Workers: 1, Renders: 1 << 30})
	defer h.Close()
	trees := manifest.Trees{"": shop}
	for name, render := range map[string]func(context.Context, manifest.Trees, manifest.Request) (manifest.Result, error){
		"worker": h.Render, "local": Local, "bare": Directory{}.Render,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := render(b.Context(), trees, at("other")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
