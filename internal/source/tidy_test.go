package source

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestCommitsThatNobodyAsksForAreLetGo(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	later := time.Duration(0)
	store := newStore(t, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(later) } })
	store.maxKept = 8
	of := manifest.Origin{RepoURL: repo.url, Revision: "main"}
	known, err := store.repository(of)
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	push := func() {
		t.Helper()
		n := len(commits)
		commits = append(commits, repo.commit("main", map[string]string{"a": fmt.Sprint(n), fmt.Sprintf("dir/%d", n): "x"}))
		tree(t, store, repo.url, commits[n])
		store.running.Wait()
	}
	kept := func(of ...int) {
		t.Helper()
		var want []string
		for _, n := range of {
			want = append(want, commits[n])
		}
		slices.Sort(want)
		if d := cmp.Diff(want, known.kept()); d != "" {
			t.Errorf("kept (-want +got)\n%s", d)
		}
	}

	for range 12 {
		push()
		if len(commits) == 3 {
			if _, _, err := store.Resolve(t.Context(), of, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)

	later = 2 * restFor
	before := tree(t, store, repo.url, commits[0])
	// The first is read, the third is where main was when the server was last asked, the newest has just come.
	push()
	kept(0, 2, 11, 12)
	shallow, err := os.ReadFile(filepath.Join(known.dir, "shallow"))
	if lines := strings.Fields(string(shallow)); err != nil || len(lines) > 4 {
		t.Errorf("the server is told of %v, %v", lines, err)
	}
	gone := exec.CommandContext(t.Context(), "git", "--git-dir="+known.dir, "cat-file", "-e", commits[5])
	if gone.Run() == nil {
		t.Error("what was let go is still there")
	}

	for n, snap := range map[int]*snapshot{0: before, 2: tree(t, store, repo.url, commits[2]), 5: tree(t, store, repo.url, commits[5])} {
		if data, err := fs.ReadFile(snap, "a"); err != nil || string(data) != fmt.Sprint(n) {
			t.Errorf("ReadFile of commit %d = %q, %v", n, data, err)
		}
	}
	if _, fetches := store.Stats(); fetches != 14 {
		t.Errorf("%d fetches, want one for each push and one for what was let go", fetches)
	}
	store.running.Wait()
	kept(0, 2, 5, 11, 12)
}
