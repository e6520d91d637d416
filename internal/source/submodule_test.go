package source

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
	core "github.com/towline-cd/towline/internal/core/repository"
)

func modules(pairs ...string) string {
	var out strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		out.WriteString("[submodule \"" + pairs[i] + "\"]\n\tpath = " + pairs[i] + "\n\turl = " + pairs[i+1] + "\n")
	}
	return out.String()
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	inner := server.repo(t, "org/inner.git")
	innerCommit := inner.commit("main", map[string]string{"deep.yaml": "deep: 1"})
	lib := server.repo(t, "org/lib.git")
	libCommit := lib.commit("main", map[string]string{
		"base/a.yaml": "a: 1", "120000 link": "base/a.yaml", "120000 out": "../../secret", "120000 sly": "inner/../../x",
		".gitmodules": modules("inner", "./../inner.git"), "160000 inner": innerCommit,
	})
	app := server.repo(t, "org/app.git")
	commit := app.commit("main", map[string]string{
		".gitmodules": modules("vendor/lib", "../lib.git", "bad", "file:///etc", "ext", "ext::sh -c x"), "160000 vendor/lib": libCommit,
		"160000 unknown": libCommit, "160000 bad": libCommit, "160000 ext": libCommit, "secret": "s", "x": "x",
		"120000 into": "vendor/lib/base", "own.yaml": "own: 1",
	})
	store := newStore(t, nil)
	snap := tree(t, store, app.url, commit)
	for name, want := range map[string]string{
		"vendor/lib/base/a.yaml": "a: 1", "vendor/lib/link": "a: 1", "vendor/lib/inner/deep.yaml": "deep: 1", "into/a.yaml": "a: 1",
		"own.yaml": "own: 1",
	} {
		if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
			t.Errorf("ReadFile(%q) = %q, %v", name, data, err)
		}
	}
	if _, fetches := store.Stats(); fetches != 3 {
		t.Errorf("%d fetches, want 3", fetches)
	}
	for name, reason := range map[string]string{
		"vendor/lib/out": "SymlinkEscapes", "vendor/lib/sly": "SymlinkEscapes", "bad/x": "RepositoryRefused", "ext/x": "RepositoryRefused",
	} {
		_, err := fs.ReadFile(snap, name)
		wantFault(t, err, fault.Terminal, reason)
	}
	if _, err := fs.ReadFile(snap, "unknown/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a submodule of which nothing is known: %v", err)
	}
	sub, err := fs.Sub(snap, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "lib/base/a.yaml", "lib/inner/deep.yaml"); err != nil && !strings.Contains(err.Error(), "Symlink") &&
		!strings.Contains(err.Error(), "outside of the repository") {
		t.Error(err)
	}

	// What is read within is told by its path, and known again.
	got, err := snap.Trace(reads.File, "into/a.yaml")
	if diff := cmp.Diff([]string{"k into", "f vendor/lib/base/a.yaml"}, told(got)); diff != "" || err != nil {
		t.Errorf("Trace: %v (-want +got)\n%s", err, diff)
	}
	libNext := lib.commit("main", map[string]string{"base/b.yaml": "b: 1", "base/a.yaml": "a: 2"})
	next := app.commit("main", map[string]string{"160000 vendor/lib": libNext})
	after := tree(t, store, app.url, next)
	for _, read := range got {
		if same, err := after.Same(read); err != nil || same != (read.Kind == reads.Link) {
			t.Errorf("Same(%+v) = %v, %v", read, same, err)
		}
	}
	changes, err := store.Changes(t.Context(), manifest.Origin{RepoURL: app.url}, commit, next)
	want := []reads.Change{{Path: "vendor/lib"}, {Path: "vendor/lib/base/a.yaml"}, {Path: "vendor/lib/base/b.yaml", Shape: true}}
	if diff := cmp.Diff(want, changes); diff != "" || err != nil {
		t.Errorf("Changes: %v (-want +got)\n%s", err, diff)
	}
	before, err := snap.Digest("vendor")
	if err != nil {
		t.Fatal(err)
	}
	if now, err := after.Digest("vendor"); err != nil || now == before {
		t.Errorf("the digest of a folder with another submodule is %s, %v", now, err)
	}

	without := tree(t, newStore(t, func(o *Options) { o.NoSubmodules = true }), app.url, commit)
	if _, err := fs.ReadFile(without, "vendor/lib/base/a.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("submodules are off: %v", err)
	}
	kept := tree(t, newStore(t, func(o *Options) {
		o.Submodule = func(of manifest.Origin) error { return fault.Terminalf("NotPermitted", "not %s", of.RepoURL) }
	}), app.url, commit)
	_, err = fs.ReadFile(kept, "vendor/lib/base/a.yaml")
	wantFault(t, err, fault.Terminal, "NotPermitted", "/org/lib.git")
}

// A submodule is signed in to with what is known of its own URL, for the project of who asked.
func TestSubmodulesSignIn(t *testing.T) {
	t.Parallel()
	open, closed := newGitServer(t), newGitServer(t)
	lib := closed.repo(t, "lib.git")
	libCommit := lib.commit("main", map[string]string{"a": "1"})
	closed.set(func(s *gitServer) { s.login = basic("bot", canary) })
	app := open.repo(t, "app.git")
	commit := app.commit("main", map[string]string{".gitmodules": modules("lib", lib.url), "160000 lib": libCommit})
	store := newStore(t, func(o *Options) {
		o.Book = (&book{}).write(core.Trust{}, core.Repository{
			URL: lib.url, Project: "blue", Username: "bot", Password: core.NewSecret(canary),
		})
	})
	for project, want := range map[string]string{"blue": "", "red": "AuthenticationFailed"} {
		content, err := store.Tree(t.Context(), manifest.Origin{RepoURL: app.url, Project: project}, commit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = fs.ReadFile(content, "lib/a"); fault.ReasonOf(err) != want {
			t.Errorf("project %s: %v, want %q", project, err, want)
		}
		_ = content.(*snapshot).Close()
	}
	for _, header := range open.seen {
		if header != "" {
			t.Errorf("the other host was sent %q", header)
		}
	}
}

func TestSubmodulesWithinEachOther(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	last := ""
	url := ""
	for i := range maxModuleDepth + 3 {
		repo := server.repo(t, string(rune('a'+i))+".git")
		files := map[string]string{"f": "1"}
		if last != "" {
			files[".gitmodules"], files["160000 m"] = modules("m", url), last
		}
		last, url = repo.commit("main", files), repo.url
	}
	snap := tree(t, newStore(t, nil), url, last)
	if _, err := fs.ReadFile(snap, strings.Repeat("m/", maxModuleDepth)+"f"); err != nil {
		t.Error(err)
	}
	_, err := fs.ReadFile(snap, strings.Repeat("m/", maxModuleDepth+1)+"f")
	wantFault(t, err, fault.Terminal, "SubmodulesTooDeep")
}

func TestModuleURL(t *testing.T) {
	for _, test := range []struct{ of, written, want string }{
		{"https://example.com/org/app.git", "../lib.git", "https://example.com/org/lib.git"},
		{"https://example.com/org/app/", "../lib", "https://example.com/org/lib"},
		{"https://example.com/org/app", "./sub", "https://example.com/org/app/sub"},
		{"https://example.com/org/app", "../../other/lib", "https://example.com/other/lib"},
		{"https://example.com/org/app", "../../../evil.com/lib", ""},
		{"https://example.com", "../evil.com", ""},
		{"git@example.com:org/app.git", "../lib.git", "git@example.com:org/lib.git"},
		{"git@example.com:app", "../lib", "git@example.com:lib"},
		{"git@example.com:app", "../../lib", ""},
		{"ssh://git@example.com:22/org/app", "../lib", "ssh://git@example.com:22/org/lib"},
		{"https://example.com/org/app", "https://other.example.com/lib", "https://other.example.com/lib"},
	} {
		got, err := moduleURL(test.of, test.written)
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("moduleURL(%q, %q) = %q, %v; want %q", test.of, test.written, got, err, test.want)
		}
	}
}
