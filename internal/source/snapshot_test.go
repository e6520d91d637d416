package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestSnapshotIsAFileSystem(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{
		"README.md": "hello", "apps/a.yaml": "a: 1\n", "apps/b/c.yaml": "", "apps.yaml": "x", "100755 run.sh": "#!/bin/sh\n",
		"120000 link.yaml": "apps/a.yaml", "120000 apps/up": "../README.md", "160000 module": strings.Repeat("12", 20),
	})
	store := newStore(t, nil)
	snap := tree(t, store, repo.url, commit)

	if err := fstest.TestFS(snap, "README.md", "apps/a.yaml", "apps/b/c.yaml", "apps.yaml", "run.sh", "link.yaml", "apps/up", "module"); err != nil {
		t.Error(err)
	}
	var walked []string
	err := fs.WalkDir(snap, ".", func(path string, d fs.DirEntry, err error) error {
		walked = append(walked, d.Type().String()+" "+path)
		return err
	})
	want := []string{
		"d--------- .", "---------- README.md", "d--------- apps", "---------- apps/a.yaml", "d--------- apps/b", "---------- apps/b/c.yaml",
		"L--------- apps/up", "---------- apps.yaml", "L--------- link.yaml", "d--------- module", "---------- run.sh",
	}
	if diff := cmp.Diff(want, walked); diff != "" || err != nil {
		t.Errorf("WalkDir: %v (-want +got)\n%s", err, diff)
	}
	for name, want := range map[string]string{"link.yaml": "a: 1\n", "apps/up": "hello", "apps/b/c.yaml": ""} {
		if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
			t.Errorf("ReadFile(%q) = %q, %v; want %q", name, data, err, want)
		}
	}
	entries, err := fs.ReadDir(snap, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if got := entry.(interface{ Submodule() string }).Submodule(); (got != "") != (entry.Name() == "module") {
			t.Errorf("Submodule of %q = %q", entry.Name(), got)
		}
	}
	for name, want := range map[string]error{
		"none": fs.ErrNotExist, "apps/none/x": fs.ErrNotExist, "README.md/x": fs.ErrNotExist, "module/x": fs.ErrNotExist,
		"../x": fs.ErrInvalid, "/README.md": fs.ErrInvalid, "apps/": fs.ErrInvalid, "": fs.ErrInvalid,
	} {
		if _, err := snap.Open(name); !errors.Is(err, want) {
			t.Errorf("Open(%q) = %v, want %v", name, err, want)
		}
	}
}

func TestSymbolicLinks(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{
		"120000 absolute": "/etc/passwd", "120000 apps/above": "../../secret", "120000 apps/back": "../../shop/x", "x": "1",
		"120000 loop": "loop2", "120000 loop2": "loop", "120000 dangling": "nothing", "120000 dir": "apps/deep", "apps/deep/f": "f",
		"120000 chain": "dir/f", "120000 here": ".", "120000 apps/deep/top": "../..", "120000 sly": "here/apps/../../x",
		"120000 slier": "apps/deep/top/../x", "120000 through": "x/y",
	})
	snap := tree(t, newStore(t, nil), repo.url, commit)

	for name, want := range map[string]string{"dir/f": "f", "chain": "f", "here/here/dir/f": "f", "apps/deep/top/x": "1"} {
		if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
			t.Errorf("ReadFile(%q) = %q, %v; want %q", name, data, err, want)
		}
	}
	for name, reason := range map[string]string{
		"absolute": "SymlinkEscapes", "apps/above": "SymlinkEscapes", "apps/back": "SymlinkEscapes", "absolute/x": "SymlinkEscapes",
		"slier": "SymlinkEscapes", "sly": "SymlinkEscapes", "loop": "SymlinkLoop",
	} {
		_, err := fs.ReadFile(snap, name)
		wantFault(t, err, fault.Terminal, reason, name)
	}
	_, err := fs.ReadFile(snap, "apps/deep/top/apps/above")
	wantFault(t, err, fault.Terminal, "SymlinkEscapes", `the symbolic link "apps/above" points to "../../secret"`)
	for _, name := range []string{"dangling", "through"} {
		if _, err := fs.ReadFile(snap, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%q) = %v, want ErrNotExist", name, err)
		}
	}
	if target, err := fs.ReadLink(snap, "absolute"); err != nil || target != "/etc/passwd" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
}

func TestDigestFollowsContent(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "mono.git")
	store := newStore(t, nil)
	files := map[string]string{
		"a/x.yaml": "1", "b/x.yaml": "1", "c/y.yaml": "1", "120000 c/shared": "../common/dir", "common/dir/z": "1",
		"120000 common/dir/more": "../more", "common/more": "1", "120000 c/later": "../common/later", "120000 self/up": "..",
	}
	digests := func(changes map[string]string) map[string]string {
		commit := repo.commit("main", changes)
		snap := tree(t, store, repo.url, commit)
		got := map[string]string{}
		for _, path := range []string{"a", "b", "c", "self", "a/x.yaml", "."} {
			digest, err := snap.Digest(path)
			if err != nil {
				t.Fatal(err)
			}
			got[path] = digest
		}
		if want := repo.git("", "rev-parse", commit+":a"); got["a"] != want {
			t.Errorf("Digest(a) = %s, want git's %s", got["a"], want)
		}
		return got
	}
	last := digests(files)
	if last["a"] != last["b"] {
		t.Error("the same content has two digests")
	}
	for _, step := range []struct {
		change map[string]string
		moves  []string
	}{
		{map[string]string{"b/x.yaml": "2"}, []string{".", "b", "self"}},
		{map[string]string{"a/new": "1"}, []string{".", "a", "self"}},
		{map[string]string{"common/dir/z": "2"}, []string{".", "c", "self"}},
		{map[string]string{"common/more": "2"}, []string{".", "c", "self"}},
		{map[string]string{"common/later": "at last"}, []string{".", "c", "self"}},
		{map[string]string{"common/unrelated": "1"}, []string{".", "self"}},
		{map[string]string{"100755 a/x.yaml": "3"}, []string{".", "a", "a/x.yaml", "self"}},
	} {
		now := digests(step.change)
		var moved []string
		for _, path := range []string{".", "a", "a/x.yaml", "b", "c", "self"} {
			if now[path] != last[path] {
				moved = append(moved, path)
			}
		}
		if diff := cmp.Diff(step.moves, moved); diff != "" {
			t.Errorf("after %v the digests that moved (-want +got)\n%s", step.change, diff)
		}
		last = now
	}
}

func TestFileSizeIsBounded(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"large": strings.Repeat("x", 1001), "fits": strings.Repeat("x", 1000)})
	snap := tree(t, newStore(t, func(o *Options) { o.MaxFile = 1000 }), repo.url, commit)

	for range 2 { // the second time shows that the refusal did no harm
		_, err := fs.ReadFile(snap, "large")
		wantFault(t, err, fault.Terminal, "FileTooLarge", "large", "1001", "1000")
		if data, err := fs.ReadFile(snap, "fits"); err != nil || len(data) != 1000 {
			t.Errorf("ReadFile(fits) = %d bytes, %v", len(data), err)
		}
		if info, err := fs.Stat(snap, "large"); err != nil || info.Size() != 1001 {
			t.Errorf("Stat(large) = %v, %v", info, err)
		}
	}
}

func TestManyReadersOfOneSnapshot(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	files := map[string]string{}
	for name := range strings.SplitSeq("a/b/c d/e/f g h/i", " ") {
		files[name] = strings.Repeat(name, 1000)
	}
	snap := tree(t, newStore(t, nil), repo.url, repo.commit("main", files))
	var readers sync.WaitGroup
	for name, want := range files {
		for range 5 {
			readers.Go(func() {
				if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
					t.Errorf("ReadFile(%q) = %d bytes, %v", name, len(data), err)
				}
			})
		}
	}
	readers.Wait()
}

func TestReaderThatIsKilledAndClosed(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	snap := tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "1"}))
	if _, err := fs.ReadFile(snap, "a"); err != nil {
		t.Fatal(err)
	}
	process := snap.reader
	process.cancel() // as if somebody had killed it
	<-process.ended

	_, err := fs.ReadFile(snap, "a")
	wantFault(t, err, fault.Transient, "GitFailed")
	if data, err := fs.ReadFile(snap, "a"); err != nil || string(data) != "1" {
		t.Errorf("the next attempt = %q, %v", data, err)
	}
	for range 2 {
		if err := snap.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := fs.ReadFile(snap, "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadFile after Close = %v", err)
	}
	if _, err := snap.Digest("."); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Digest after Close = %v", err)
	}
}

// To start a process takes longer than to read what most ask for, so one is left to the next.
func TestReaderIsLeftToTheNext(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	first := tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "1"}))
	second := tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "2"}))
	read := func(snap *snapshot, want string) *batch {
		t.Helper()
		if data, err := fs.ReadFile(snap, "a"); err != nil || string(data) != want {
			t.Fatalf("ReadFile = %q, %v", data, err)
		}
		return snap.reader.batch
	}
	process := read(first, "1")
	_ = first.Close()
	if read(second, "2") != process {
		t.Error("another process was started")
	}

	// One that was killed while it waited is not what the next has to suffer from.
	_ = second.Close()
	process.cancel()
	third := tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "3"}))
	process = read(third, "3")

	// The repository is made anew while a process waits, as after a disk lost something.
	_ = third.Close()
	if err := third.repo.distrust(third.commit); err != nil {
		t.Fatal(err)
	}
	again := tree(t, store, repo.url, third.commit)
	read(again, "3")
	last := again.reader
	_ = again.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	<-last.ended
	<-process.ended
}

func TestForgottenSnapshotEndsItsProcess(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	commit := repo.commit("main", map[string]string{"a": "1"})
	ended := func() chan struct{} {
		content, err := store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.ReadFile(content, "a"); err != nil {
			t.Fatal(err)
		}
		return content.(*snapshot).reader.ended
	}()
	for range 2 {
		runtime.GC()
	}
	<-ended
}

func TestInterruptedFetchLeavesNothingBroken(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	dir := t.TempDir()
	store := newStore(t, func(o *Options) { o.Dir = dir })
	tree(t, store, repo.url, commit)
	known, err := store.repository(manifest.Origin{RepoURL: repo.url})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("a second store in the same folder: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	next := repo.commit("main", map[string]string{"a": "2"})
	last := repo.commit("main", map[string]string{"a": "3"})
	// A ref that a power failure took may be empty, or as long as it should be and of nothing but zeros.
	leftBehind := map[string][]byte{
		"shallow.lock": nil, "shallow_Xy12": nil, "objects/pack/tmp_pack_Xy12": nil, "objects/tmp_objdir-incoming-Xy/pack/tmp_idx_1": nil,
		"refs/towline/" + next + ".lock": nil, "refs/towline/" + next: nil, "refs/towline/" + last: make([]byte, 41),
		"../" + strings.Repeat("0", 32) + ".new/HEAD": nil,
	}
	for name, content := range leftBehind {
		path := filepath.Join(known.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	again := newStore(t, func(o *Options) { o.Dir = dir })
	for name := range leftBehind {
		if _, err := os.Stat(filepath.Join(known.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	for sha, want := range map[string]string{commit: "1", next: "2", last: "3"} {
		if data, err := fs.ReadFile(tree(t, again, repo.url, sha), "a"); err != nil || string(data) != want {
			t.Errorf("ReadFile at %s = %q, %v; want %q", sha, data, err, want)
		}
	}
	if _, fetches := again.Stats(); fetches != 2 {
		t.Errorf("%d fetches, want 2", fetches)
	}
}

func TestLostObjectsAreFetchedAgain(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	store := newStore(t, nil)
	tree(t, store, repo.url, commit)
	known, err := store.repository(manifest.Origin{RepoURL: repo.url})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range packs(t, known) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}

	_, err = fs.ReadFile(tree(t, store, repo.url, commit), "a")
	wantFault(t, err, fault.Transient, "ObjectMissing", commit)
	if data, err := fs.ReadFile(tree(t, store, repo.url, commit), "a"); err != nil || string(data) != "1" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
}

func packs(t *testing.T, repo *repository) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repo.dir, "objects", "pack", "*.pack"))
	if err != nil || len(names) == 0 {
		t.Fatalf("finding the packs: %v, %v", names, err)
	}
	return names
}

func TestPacksAreJoinedUnderReaders(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	store.maxPacks = 3
	snaps := map[string]*snapshot{}
	for content := range strings.SplitSeq("1 2 3 4 5 6 7 8 9", " ") {
		snaps[content] = tree(t, store, repo.url, repo.commit("main", map[string]string{"a": content, "dir/" + content: content}))
		if _, err := snaps[content].Digest("."); err != nil { // its process has seen the packs of now
			t.Fatal(err)
		}
	}
	known, err := store.repository(manifest.Origin{RepoURL: repo.url})
	if err != nil {
		t.Fatal(err)
	}
	store.running.Wait()
	if names := packs(t, known); len(names) > store.maxPacks+1 {
		t.Errorf("%d packs", len(names))
	}
	for content, snap := range snaps {
		for _, name := range []string{"a", "dir/" + content} {
			if data, err := fs.ReadFile(snap, name); err != nil || string(data) != content {
				t.Errorf("ReadFile(%q) = %q, %v; want %q", name, data, err, content)
			}
		}
	}
}

func TestParseTreeRefuses(t *testing.T) {
	hash := strings.Repeat("\x01", hashBytes)
	for name, data := range map[string]string{
		"cut short":      "100644 a\x00" + hash[1:],
		"no end of name": "100644 a",
		"no mode":        "a\x00" + hash,
		"strange mode":   "060000 a\x00" + hash,
		"no name":        "100644 \x00" + hash,
		"parent":         "40000 ..\x00" + hash,
		"slash":          "100644 a/b\x00" + hash,
		"git folder":     "40000 .GIT\x00" + hash,
		"twice":          "100644 a\x00" + hash + "100644 a\x00" + hash,
	} {
		if entries, err := parseTree([]byte(data)); err == nil {
			t.Errorf("%s: parseTree = %v", name, entries)
		}
	}
}
