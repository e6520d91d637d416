package source

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// A server that sends nonsense costs the fetch, and nothing that was here before.
func TestSpoiledPacks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]byte) []byte{
		"cut short":    func(b []byte) []byte { return b[:len(b)*2/3] },
		"cut very":     func(b []byte) []byte { return b[:min(len(b), 30)] },
		"no pack":      func(b []byte) []byte { return bytes.Replace(b, []byte("PACK"), []byte("KCAP"), 1) },
		"wrong end":    func(b []byte) []byte { return flip(b, len(b)-12) },
		"wrong object": func(b []byte) []byte { return flip(b, bytes.Index(b, []byte("PACK"))+20) },
		"more objects": func(b []byte) []byte { return flip(b, bytes.Index(b, []byte("PACK"))+11) },
		"huge count":   func(b []byte) []byte { return flip(b, bytes.Index(b, []byte("PACK"))+8) },
		"empty":        func([]byte) []byte { return nil },
		"other words":  func([]byte) []byte { return []byte("0000000000000000") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newGitServer(t)
			repo := server.repo(t, "shop.git")
			before := repo.commit("main", map[string]string{"a": "1"})
			store := newStore(t, nil)
			snap := tree(t, store, repo.url, before)
			if _, err := fs.ReadFile(snap, "a"); err != nil {
				t.Fatal(err)
			}
			noise := make([]byte, 4000)
			for i := range noise {
				noise[i] = byte(rand.IntN(256))
			}
			after := repo.commit("main", map[string]string{"a": "2", "b": string(bytes.ReplaceAll(noise, []byte("\n"), nil))})
			server.set(func(s *gitServer) {
				s.spoil = func(b []byte) []byte {
					if !bytes.Contains(b, []byte("PACK")) && name != "empty" {
						return b
					}
					return spoil(bytes.Clone(b))
				}
			})
			if _, err := store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, after); err == nil {
				t.Error("the commit was fetched")
			}
			known, err := store.repository(manifest.Origin{RepoURL: repo.url})
			if err != nil {
				t.Fatal(err)
			}
			for _, pattern := range leftovers {
				if left, _ := filepath.Glob(filepath.Join(known.dir, pattern)); len(left) > 0 {
					t.Errorf("it left %v", left)
				}
			}
			if data, err := fs.ReadFile(tree(t, store, repo.url, before), "a"); err != nil || string(data) != "1" {
				t.Errorf("what was here before = %q, %v", data, err)
			}
			server.set(func(s *gitServer) { s.spoil = nil })
			if data, err := fs.ReadFile(tree(t, store, repo.url, after), "a"); err != nil || string(data) != "2" {
				t.Errorf("after the server came to its senses = %q, %v", data, err)
			}
		})
	}
}

func flip(b []byte, at int) []byte {
	if at >= 0 && at < len(b) {
		b[at] ^= 0x55
	}
	return b
}

// Names that a server gives to its refs are only ever compared, never used as a path or as an argument.
func TestOddRefs(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	packed := "# pack-refs with: peeled fully-peeled sorted \n"
	for _, ref := range []string{"refs/heads/-oProxyCommand=x", "refs/heads/a;id", "refs/heads/$(id)", "refs/tags/--upload-pack=x", "refs/weird/é"} {
		packed += commit + " " + ref + "\n"
	}
	if err := os.WriteFile(filepath.Join(repo.dir, "packed-refs"), []byte(packed), 0o600); err != nil {
		t.Fatal(err)
	}
	store := newStore(t, nil)
	for revision, want := range map[string]string{"main": commit, "a;id": commit, "$(id)": commit, "refs/weird/é": commit} {
		if got := resolve(t, store, repo.url, revision); got != want {
			t.Errorf("Resolve(%q) = %s", revision, got)
		}
	}
	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "-oProxyCommand=x"}, 0)
	wantFault(t, err, fault.Terminal, "RevisionRefused")

	// What no git writes: the answer is read by line, and what is not a ref is nobody's.
	sha := strings.Repeat("ab", 20)
	answer := parseRefs([]byte(sha+"\t../../x\n"+sha+"\trefs/heads/../../../x\nnonsense\n"+sha+"\n"+sha+" refs/heads/y\n\t\n"), store.now())
	if len(answer.named) != 1 || answer.named["refs/heads/../../../x"] != sha {
		t.Errorf("the named refs are %v", answer.named)
	}
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "../../../x"}, 0)
	wantFault(t, err, fault.Terminal, "RevisionRefused")
}

// Nothing in a repository makes git run or read anything: no attributes, no hooks, no filters.
func TestRepositoriesAreOnlyRead(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	proof := filepath.Join(t.TempDir(), "proof")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 12\n"
	files := map[string]string{
		".gitattributes": "* filter=evil\n*.bin filter=lfs\n", "hooks/post-checkout": "#!/bin/sh\ntouch " + proof + "\n",
		".gitconfig": "[filter \"evil\"]\n\tsmudge = touch " + proof + "\n", "big.bin": pointer, "a": "1",
	}
	commit := repo.commit("main", files)
	snap := tree(t, newStore(t, nil), repo.url, commit)
	for name, want := range files {
		if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
			t.Errorf("ReadFile(%q) = %q, %v", name, data, err)
		}
	}
	if exists(proof) {
		t.Error("something was run")
	}
}

// noise is some content that does not get smaller.
func noise() string {
	data := make([]byte, 300<<10)
	for i := range data {
		data[i] = byte(rand.IntN(255) + 1)
	}
	return string(data)
}

func TestLimits(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	files := map[string]string{"big": noise()}
	for i := range 50 {
		files[fmt.Sprintf("d/%d", i)] = "x"
	}
	commit := repo.commit("main", files)
	small := newStore(t, func(o *Options) { o.MaxFetch = 64 << 10 })
	_, err := small.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
	wantFault(t, err, fault.Terminal, "RepositoryTooLarge")
	few := newStore(t, func(o *Options) { o.MaxFiles = 40 })
	_, err = fs.ReadDir(tree(t, few, repo.url, commit), "d")
	wantFault(t, err, fault.Terminal, "TooManyFiles")
}

func TestDeepAndLongNames(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	deep := strings.Repeat("d/", 200) + "f"
	long := strings.Repeat("n", 4000)
	commit := repo.commit("main", map[string]string{deep: "1", long: "2", "plain": "3", "new\tline": "4", "K": "big", "k": "small"})
	snap := tree(t, newStore(t, nil), repo.url, commit)
	if _, err := fs.ReadFile(snap, deep); err == nil {
		t.Error("a file below 200 folders was read")
	}
	for name, want := range map[string]string{long: "2", "plain": "3", "K": "big", "k": "small"} {
		if data, err := fs.ReadFile(snap, name); err != nil || string(data) != want {
			t.Errorf("ReadFile(%.20q) = %q, %v", name, data, err)
		}
	}
}

// TestAParentThatIsTooLarge: a commit is asked for with its parents, and alone where those bring more than is allowed.
func TestAParentThatIsTooLarge(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, func(o *Options) { o.MaxFetch = 64 << 10 })
	tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "1"}))
	repo.commit("main", map[string]string{"big": noise()})
	last := repo.commit("main", map[string]string{"a": "2", "big": "-"})
	if data, err := fs.ReadFile(tree(t, store, repo.url, last), "a"); err != nil || string(data) != "2" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
}
