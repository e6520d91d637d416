package render_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/render"
)

// folder is what a case asks for.
type folder struct {
	Path              string
	Explicit, Recurse bool
	Include, Exclude  string

	DisableExtensionFilter bool
}

func (f folder) request() manifest.Request {
	source := v1alpha1.ApplicationSource{Path: f.Path}
	if d := (v1alpha1.ApplicationSourceDirectory{
		Recurse: f.Recurse, Include: f.Include, Exclude: f.Exclude, DisableExtensionFilter: f.DisableExtensionFilter,
	}); f.Explicit || f.Recurse || f.Include != "" || f.Exclude != "" || f.DisableExtensionFilter {
		source.Directory = &d
	}
	return manifest.Request{Source: source}
}

// TestDirectory reads the files of testdata: "given/…" is the tree (a file whose content is "-> target" is a symbolic
// link), "when" is the request as JSON, "then" is what comes of it.
func TestDirectory(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("finding testdata: %v, %v", archives, err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			parsed, err := txtar.ParseFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			tree := fstest.MapFS{}
			var asked folder
			want := ""
			for _, file := range parsed.Files {
				path, isTree := strings.CutPrefix(file.Name, "given/")
				target, isLink := strings.CutPrefix(strings.TrimSpace(string(file.Data)), "-> ")
				switch {
				case isLink:
					tree[path] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
				case isTree:
					tree[path] = &fstest.MapFile{Data: file.Data}
				case file.Name == "when":
					if err := json.Unmarshal(file.Data, &asked); err != nil {
						t.Fatal(err)
					}
				case file.Name == "then":
					want = strings.TrimSpace(string(file.Data))
				}
			}
			if diff := cmp.Diff(want, outcome(render.Directory{}.Render(t.Context(), manifest.Trees{"": tree}, asked.request()))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func outcome(result manifest.Result, err error) string {
	if err != nil {
		return fmt.Sprintf("error %v %s\n%s", fault.ClassOf(err), fault.ReasonOf(err), err)
	}
	lines := []string{fmt.Sprintf("files %d, incomplete %t", result.Files, result.Incomplete)}
	for _, object := range result.Objects {
		lines = append(lines, object.GetKind()+" "+object.GetName())
	}
	for _, skipped := range result.Skipped {
		lines = append(lines, "skipped "+skipped)
	}
	return strings.Join(lines, "\n")
}

func TestLimits(t *testing.T) {
	tree := fstest.MapFS{
		"a.yaml": {Data: []byte("apiVersion: v1\nkind: A\n")}, "b.yaml": {Data: []byte("apiVersion: v1\nkind: B\n")}, "c.txt": {},
	}
	tests := map[string]struct {
		limits render.Directory
		reason string
	}{
		"bytes fit":      {render.Directory{MaxBytes: 46}, ""},
		"too many bytes": {render.Directory{MaxBytes: 45}, "TooLarge"},
		"files fit":      {render.Directory{MaxFiles: 3}, ""},
		"too many files": {render.Directory{MaxFiles: 2}, "TooManyFiles"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tc.limits.Render(t.Context(), manifest.Trees{"": tree}, manifest.Request{})
			if got := fault.ReasonOf(err); got != tc.reason || (err != nil && fault.ClassOf(err) != fault.Terminal) {
				t.Errorf("Render = %v, want the reason %q", err, tc.reason)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := render.Directory{}.Render(ctx, manifest.Trees{"": fstest.MapFS{"a.yaml": {}}}, manifest.Request{})
	if !errors.Is(err, context.Canceled) || fault.ClassOf(err) != fault.Transient {
		t.Errorf("Render = %v", err)
	}
}

// broken is a tree that fails to read one file, as a remote disk may.
type broken struct{ fstest.MapFS }

func (b broken) Open(name string) (fs.File, error) {
	if name == "b.yaml" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fault.Transientf("GitFailed", "git ended")}
	}
	return b.MapFS.Open(name)
}

func (b broken) ReadFile(name string) ([]byte, error) {
	if _, err := b.Open(name); err != nil {
		return nil, err
	}
	return b.MapFS.ReadFile(name)
}

func TestUnreadableFileIsNeverAMissingOne(t *testing.T) {
	object := &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: A\n")}
	result, err := render.Directory{}.Render(t.Context(),
		manifest.Trees{"": broken{fstest.MapFS{"a.yaml": object, "b.yaml": object}}}, manifest.Request{})
	if fault.ReasonOf(err) != "GitFailed" || len(result.Objects) != 0 {
		t.Errorf("Render = %v, %v", result, err)
	}
}

// modules is a tree in which the folder "module" is a submodule.
type modules struct{ fstest.MapFS }

type moduleEntry struct{ fs.DirEntry }

func (m moduleEntry) Submodule() string { return strings.Repeat("12", 20) }

type moduleInfo struct{ fs.FileInfo }

func (m moduleInfo) Submodule() string { return strings.Repeat("12", 20) }

func (m modules) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := m.MapFS.ReadDir(name)
	for i, entry := range entries {
		if entry.Name() == "module" {
			entries[i] = moduleEntry{entry}
		}
	}
	return entries, err
}

func (m modules) Stat(name string) (fs.FileInfo, error) {
	info, err := m.MapFS.Stat(name)
	if name == "module" {
		return moduleInfo{info}, err
	}
	return info, err
}

func TestSubmodules(t *testing.T) {
	tree := modules{fstest.MapFS{"module": {Mode: fs.ModeDir}, "a.yaml": {Data: []byte("apiVersion: v1\nkind: A\n")}}}
	tests := map[string]struct {
		req  folder
		want string
	}{
		"beside what is read": {folder{}, "files 1, incomplete false\nA "},
		"below what is read": {
			folder{Explicit: true, Recurse: true},
			"files 1, incomplete true\nA \nskipped module: it is a submodule, and those are not read by this build",
		},
		"the path of the app": {
			folder{Path: "module"},
			"error Terminal SubmoduleUnsupported\napp path \"module\" is a submodule, and those are not read by this build; " +
				"point the app to the repository of the submodule",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, outcome(render.Directory{}.Render(t.Context(), manifest.Trees{"": tree}, tc.req.request()))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
