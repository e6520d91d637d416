package gitserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/hack/cluster/gitserver"
)

// client runs the real git program without any settings of the machine.
type client struct {
	tb  testing.TB
	dir string
}

func (c client) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = c.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.invalid",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c client) git(args ...string) string {
	c.tb.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (c client) write(name, content string) {
	c.tb.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.tb.Fatal(err)
	}
}

func create(tb testing.TB, server *gitserver.Server, repo string, files map[string]string) {
	tb.Helper()
	if err := server.Create(repo, files); err != nil {
		tb.Fatal(err)
	}
}

func commit(tb testing.TB, server *gitserver.Server, branch string, changes map[string]*string) string {
	tb.Helper()
	sha, err := server.Commit("team/app", branch, "change", changes)
	if err != nil {
		tb.Fatal(err)
	}
	return sha
}

func TestCloneFetchAndCount(t *testing.T) {
	server := gitserver.New(t)
	create(t, server, "team/app", map[string]string{"a.yaml": "a: 1\n", "dir/with space.yaml": "b: 1\n"})
	home := client{t, t.TempDir()}
	home.git("clone", "--quiet", server.URL("team/app"), "work")
	work := client{t, filepath.Join(home.dir, "work")}
	if got, want := work.git("ls-files"), "a.yaml\ndir/with space.yaml"; got != want {
		t.Errorf("cloned files %q, want %q", got, want)
	}
	// A fetch that finds nothing new asks for the refs and transfers nothing.
	work.git("fetch", "--quiet")
	want := map[string]gitserver.Counts{"team/app": {AdvertiseFetch: 2, ListRefs: 2, Fetch: 1}}
	if diff := cmp.Diff(want, server.Requests()); diff != "" {
		t.Errorf("requests after a clone and an empty fetch (-want +got):\n%s", diff)
	}

	changed := "a: 2\n"
	sha := commit(t, server, "main", map[string]*string{"a.yaml": &changed, "dir": nil})
	server.ResetRequests()
	work.git("fetch", "--quiet")
	if got := work.git("rev-parse", "origin/main"); got != sha {
		t.Errorf("fetched %s, want the new commit %s", got, sha)
	}
	if got := work.git("ls-tree", "-r", "--name-only", sha); got != "a.yaml" {
		t.Errorf("files after the deletion: %q, want only a.yaml", got)
	}
	want = map[string]gitserver.Counts{"team/app": {AdvertiseFetch: 1, ListRefs: 1, Fetch: 1}}
	if diff := cmp.Diff(want, server.Requests()); diff != "" {
		t.Errorf("requests after a fetch (-want +got):\n%s", diff)
	}
}

func TestFetchesAnyCommitByID(t *testing.T) {
	server := gitserver.New(t)
	create(t, server, "team/app", map[string]string{"a": "1"})
	lost := commit(t, server, "side", nil)
	if err := server.SetRef("team/app", "refs/heads/side", ""); err != nil {
		t.Fatal(err)
	}
	home := client{t, t.TempDir()}
	home.git("init", "--quiet", "--bare")
	home.git("fetch", "--quiet", "--depth=1", strings.TrimSuffix(server.URL("team/app"), ".git"), lost)
	if got := home.git("rev-parse", "FETCH_HEAD"); got != lost {
		t.Errorf("fetched %s, want the commit %s that no ref names", got, lost)
	}
}

func TestPush(t *testing.T) {
	server := gitserver.New(t)
	create(t, server, "team/app", map[string]string{"a": "1"})
	home := client{t, t.TempDir()}
	home.git("clone", "--quiet", server.URL("team/app"), "work")
	work := client{t, filepath.Join(home.dir, "work")}
	// More than git's post buffer, so that it sends the pack in chunks.
	work.write("large", incompressible(3<<20))
	work.git("add", ".")
	work.git("commit", "--quiet", "-m", "large")
	work.git("push", "--quiet")
	got, err := server.Revision("team/app", "main")
	if err != nil {
		t.Fatal(err)
	}
	if want := work.git("rev-parse", "HEAD"); got != want {
		t.Errorf("main is at %s, want the pushed %s", got, want)
	}
	if requests := server.Requests()["team/app"]; requests.AdvertisePush != 1 || requests.Push < 1 {
		t.Errorf("requests of a push: %+v, want one AdvertisePush and a Push", requests)
	}
}

func TestSameContentSameCommit(t *testing.T) {
	var first string
	for range 2 {
		server := gitserver.New(t)
		create(t, server, "team/app", map[string]string{"a": "1", "b": "2"})
		content := "3"
		sha := commit(t, server, "main", map[string]*string{"b": &content})
		if first != "" && sha != first {
			t.Errorf("the same commits made %s and %s", first, sha)
		}
		first = sha
	}
}

func TestDownAndLogin(t *testing.T) {
	server := gitserver.New(t)
	create(t, server, "team/app", map[string]string{"a": "1"})
	home := client{t, t.TempDir()}
	tests := map[string]struct {
		prepare func()
		url     string
		want    string
	}{
		"up":             {func() {}, server.URL("team/app"), "refs/heads/main"},
		"down":           {func() { server.SetDown(true) }, server.URL("team/app"), "503"},
		"no login":       {func() { server.RequireLogin("me", "secret") }, server.URL("team/app"), "could not read Username"},
		"wrong login":    {func() { server.RequireLogin("me", "secret") }, withLogin(server, "me:wrong"), "Authentication failed"},
		"right login":    {func() { server.RequireLogin("me", "secret") }, withLogin(server, "me:secret"), "refs/heads/main"},
		"no such repo":   {func() {}, server.URL("team/other"), "not found"},
		"outside folder": {func() {}, server.URL("../home/x"), "not found"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.prepare()
			defer server.SetDown(false)
			defer server.RequireLogin("", "")
			out, _ := home.try("ls-remote", test.url)
			if !strings.Contains(out, test.want) {
				t.Errorf("ls-remote said %q, want %q", out, test.want)
			}
		})
	}
}

func withLogin(server *gitserver.Server, login string) string {
	return strings.Replace(server.URL("team/app"), "http://", "http://"+login+"@", 1)
}

// incompressible is the same noise every time.
func incompressible(size int) string {
	out := make([]byte, size)
	state := uint32(1)
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = byte(state >> 24)
	}
	return string(out)
}
