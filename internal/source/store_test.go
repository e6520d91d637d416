package source

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	core "github.com/towline-cd/towline/internal/core/repository"
)

func resolve(t *testing.T, store *Store, url, revision string) string {
	t.Helper()
	commit, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: url, Revision: revision}, 0)
	if err != nil {
		t.Fatalf("Resolve(%q): %v", revision, err)
	}
	return commit
}

func tree(t *testing.T, store *Store, url, commit string) *snapshot {
	t.Helper()
	content, err := store.Tree(t.Context(), manifest.Origin{RepoURL: url}, commit)
	if err != nil {
		t.Fatalf("Tree(%s): %v", commit, err)
	}
	snap := content.(*snapshot)
	t.Cleanup(func() { _ = snap.Close() })
	return snap
}

func wantFault(t *testing.T, err error, class fault.Class, reason string, words ...string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Errorf("got %v (%v %s), want %v %s", err, fault.ClassOf(err), fault.ReasonOf(err), class, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("message %q lacks %q", err, word)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	first := repo.commit("main", map[string]string{"a": "1"})
	second := repo.commit("main", map[string]string{"a": "2"})
	other := repo.commit("feature/login", map[string]string{"a": "3"})
	repo.git("", "tag", "-a", "-m", "a tag with a message", "v1.0.0", first)
	repo.git("", "tag", "plain", first)
	repo.git("", "tag", "both", first)
	repo.git("", "branch", "both", second)
	repo.git("", "update-ref", "refs/pull/7/head", other)
	store := newStore(t, nil)
	tree(t, store, repo.url, first)

	tests := map[string]string{
		"": second, "HEAD": second, "main": second, "refs/heads/main": second, "heads/main": second,
		"feature/login": other, "v1.0.0": first, "refs/tags/v1.0.0": first, "plain": first,
		"both": second, "refs/tags/both": first, "refs/pull/7/head": other,
		second[:7]: second, first[:12]: first, strings.ToUpper(other): other,
	}
	for revision, want := range tests {
		if got := resolve(t, store, repo.url, revision); got != want {
			t.Errorf("Resolve(%q) = %s, want %s", revision, got, want)
		}
	}
	before, _ := store.Stats()
	unknown := strings.Repeat("ab", 20)
	if got := resolve(t, store, repo.url, unknown); got != unknown {
		t.Errorf("Resolve of a full SHA = %s", got)
	}
	if after, _ := store.Stats(); after != before {
		t.Errorf("a full SHA was asked about")
	}

	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "feature/logn"}, 0)
	wantFault(t, err, fault.Terminal, "RevisionNotFound", repo.url, `"feature/logn"`, `"feature/login"`)
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "1.0.0"}, 0)
	wantFault(t, err, fault.Terminal, "RevisionNotFound", `"v1.0.0"`)
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "deadbeef"}, 0)
	wantFault(t, err, fault.Terminal, "RevisionNotFound", "full SHA")
	empty := server.repo(t, "empty.git")
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: empty.url, Revision: ""}, 0)
	wantFault(t, err, fault.Terminal, "RevisionNotFound", "empty.git has no HEAD")
}

func TestResolveUsesAnswerUntilItIsTooOld(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	first := repo.commit("main", map[string]string{"a": "1"})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store := newStore(t, func(o *Options) { o.Now = func() time.Time { return now } })
	asked := now
	if got := resolve(t, store, repo.url, "main"); got != first {
		t.Fatalf("Resolve = %s, want %s", got, first)
	}
	second := repo.commit("main", map[string]string{"a": "2"})
	repo.git("", "branch", "new", second)

	steps := []struct {
		after    time.Duration
		revision string
		maxAge   time.Duration
		want     string
		seen     time.Time
		asks     int64
	}{
		{time.Second, "main", time.Minute, first, asked, 1},
		{time.Minute, "main", time.Minute, first, asked, 1},
		{time.Minute + 1, "main", time.Minute, second, asked.Add(time.Minute + 1), 2},
		{time.Minute + 1, "main", 0, second, asked.Add(time.Minute + 1), 3},
	}
	for _, step := range steps {
		now = asked.Add(step.after)
		got, seen, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: step.revision}, step.maxAge)
		asks, _ := store.Stats()
		if err != nil || got != step.want || !seen.Equal(step.seen) || asks != step.asks {
			t.Errorf("after %v: Resolve = %s seen %v, %v after %d questions; want %s seen %v after %d",
				step.after, got, seen, err, asks, step.want, step.seen, step.asks)
		}
	}

	// A name that came into being since the last answer is found, though that answer is young enough for others.
	third := repo.commit("newer", map[string]string{"a": "3"})
	now = now.Add(30 * time.Second)
	got, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "newer"}, time.Hour)
	if err != nil || got != third {
		t.Errorf("Resolve of a new branch = %s, %v; want %s", got, err, third)
	}
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "never"}, time.Hour)
	wantFault(t, err, fault.Terminal, "RevisionNotFound")
	if asks, _ := store.Stats(); asks != 4 {
		t.Errorf("%d questions, want 4: a wrong name must not ask every time", asks)
	}

	// So is one that came a moment after that answer; and a wrong one asks once in a while.
	repo.git("", "tag", "v2", third)
	now = now.Add(time.Second)
	got, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "v2"}, time.Hour)
	if err != nil || got != third {
		t.Errorf("Resolve of a new tag = %s, %v; want %s", got, err, third)
	}
	for range 3 {
		now = now.Add(time.Second)
		_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "never"}, time.Hour)
		wantFault(t, err, fault.Terminal, "RevisionNotFound")
	}
	if asks, _ := store.Stats(); asks != 6 {
		t.Errorf("%d questions, want 6: a wrong name must not ask every time", asks)
	}
}

func TestOneQuestionServesManyCallers(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	refs := []string{"", "HEAD", "main", "refs/heads/main"}
	for _, name := range []string{"b1", "b2", "b3", "b4", "b5", "b6"} {
		repo.git("", "branch", name, commit)
		refs = append(refs, name, "refs/heads/"+name)
	}
	store := newStore(t, nil)
	hold := make(chan struct{})
	server.set(func(s *gitServer) { s.hold = hold })

	var callers sync.WaitGroup
	ask := func(revision string) {
		callers.Go(func() {
			if got, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: revision}, time.Minute); err != nil || got != commit {
				t.Errorf("Resolve(%q) = %s, %v", revision, got, err)
			}
		})
	}
	ask("main")
	<-server.held
	for i := range 20 {
		ask(refs[i%len(refs)])
	}
	close(hold)
	callers.Wait()
	if asks, _ := store.Stats(); asks != 1 {
		t.Errorf("%d questions, want 1", asks)
	}
}

func TestNobodyIsGivenAnAnswerFromBeforeTheyAsked(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	repo.commit("main", map[string]string{"a": "1"})
	store := newStore(t, nil)
	hold := make(chan struct{})
	server.set(func(s *gitServer) { s.hold = hold })
	known, err := store.repository(manifest.Origin{RepoURL: repo.url})
	if err != nil {
		t.Fatal(err)
	}
	sent, _ := store.join(t.Context(), known, 0)
	<-server.held // the answer to sent is made
	pushed := repo.commit("main", map[string]string{"a": "2"})

	second, _ := store.join(t.Context(), known, 0)
	third, _ := store.join(t.Context(), known, 0)
	if second == sent {
		t.Error("a caller who came after the push was given the question from before it")
	}
	if second != third {
		t.Error("two callers who came during a question do not share the next")
	}
	server.set(func(s *gitServer) { s.hold = nil })
	close(hold)
	<-second.done
	if second.err != nil || second.answer.named["refs/heads/main"] != pushed {
		t.Errorf("the answer after the push is %v, %v; want %s", second.answer, second.err, pushed)
	}
	if asks, _ := store.Stats(); asks != 2 {
		t.Errorf("%d questions, want 2", asks)
	}
}

func TestOneFetchServesManyCallers(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	store := newStore(t, nil)
	hold := make(chan struct{})
	server.set(func(s *gitServer) { s.hold = hold })

	leaves, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := store.Tree(leaves, manifest.Origin{RepoURL: repo.url}, commit)
		left <- err
	}()
	<-server.held
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			content, err := store.Tree(t.Context(), manifest.Origin{RepoURL: strings.TrimSuffix(repo.url, ".git") + ".git/"}, commit)
			if err != nil {
				t.Errorf("Tree: %v", err)
				return
			}
			defer content.(*snapshot).Close()
			if data, err := fs.ReadFile(content, "a"); err != nil || string(data) != "1" {
				t.Errorf("ReadFile = %q, %v", data, err)
			}
		})
	}
	cancel() // who came first and leaves must not take the others with them
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left got %v", err)
	}
	close(hold)
	callers.Wait()
	if _, fetches := store.Stats(); fetches != 1 {
		t.Errorf("%d fetches, want 1", fetches)
	}
}

func TestReadingNeedsNoRemote(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a/b": "1"})
	later := repo.commit("main", map[string]string{"a/b": "2"})
	dir := t.TempDir()
	store := newStore(t, func(o *Options) { o.Dir = dir })
	tree(t, store, repo.url, commit)
	server.Close()

	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
	wantFault(t, err, fault.Transient, "GitFailed", repo.url)
	_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, later)
	wantFault(t, err, fault.Transient, "GitFailed", repo.url, later)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	again := newStore(t, func(o *Options) { o.Dir = dir })
	data, err := fs.ReadFile(tree(t, again, repo.url, commit), "a/b")
	if err != nil || string(data) != "1" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
	author, date, message, err := again.Describe(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
	got := []any{author, date.Unix(), message, err}
	if diff := cmp.Diff([]any{"Ada <ada@example.com>", int64(1714564800), "Change some files.", nil}, got); diff != "" {
		t.Errorf("Describe (-want +got)\n%s", diff)
	}
	if asks, fetches := again.Stats(); asks+fetches != 0 {
		t.Errorf("%d questions and %d fetches, want none", asks, fetches)
	}
}

func TestServerThatOnlyGivesOutWhatItAdvertises(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	first := repo.commit("main", map[string]string{"a": "1"})
	second := repo.commit("main", map[string]string{"a": "2"})
	repo.git("", "tag", "-a", "-m", "release", "v1", first)
	third := repo.commit("main", map[string]string{"a": "3"})
	server.set(func(s *gitServer) { s.old = true })
	store := newStore(t, nil)

	for commit, want := range map[string]string{first: "1", second: "2", third: "3"} {
		data, err := fs.ReadFile(tree(t, store, repo.url, commit), "a")
		if err != nil || string(data) != want {
			t.Errorf("at %s ReadFile = %q, %v; want %q", commit, data, err, want)
		}
	}
	_, err := store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, strings.Repeat("ab", 20))
	wantFault(t, err, fault.Terminal, "CommitNotFound", "abab")
}

func TestFaultsOfTheRemote(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	store := newStore(t, nil)

	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: server.URL + "/none.git", Revision: "main"}, 0)
	wantFault(t, err, fault.Terminal, "RepositoryNotFound", "none.git")
	_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, strings.Repeat("ab", 20))
	wantFault(t, err, fault.Terminal, "CommitNotFound", repo.url)
	_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, "main")
	wantFault(t, err, fault.Terminal, "RevisionRefused", `"main"`)

	for _, status := range []int{http.StatusBadGateway, http.StatusTooManyRequests} {
		server.set(func(s *gitServer) { s.status = status })
		_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
		wantFault(t, err, fault.Transient, "GitFailed")
	}
	server.set(func(s *gitServer) { s.status, s.login = 0, "Basic Ym90OnMzY3JldA==" })
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
	wantFault(t, err, fault.Terminal, "AuthenticationFailed")

	withLogin := strings.Replace(repo.url, "://", "://bot:s3cret@", 1)
	if got := resolve(t, store, withLogin, "main"); got != commit {
		t.Errorf("Resolve with a login = %s, want %s", got, commit)
	}
	tree(t, store, withLogin, commit)
	_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
	wantFault(t, err, fault.Terminal, "AuthenticationFailed") // what one login fetched is not there for others

	wrong := strings.Replace(repo.url, "://", "://bot:wr0ng@", 1)
	_, _, err = store.Resolve(t.Context(), manifest.Origin{RepoURL: wrong, Revision: "main"}, 0)
	wantFault(t, err, fault.Terminal, "AuthenticationFailed")
	if strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("the message %q shows the password", err)
	}
	files, err := filepath.Glob(filepath.Join(store.dir, "repos", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the store has no files: %v", err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), "s3cret") {
			t.Errorf("%s holds the password", name)
		}
	}
}

func TestHungRemoteTimesOut(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	repo.commit("main", map[string]string{"a": "1"})
	hold := make(chan struct{})
	server.set(func(s *gitServer) { s.hold = hold })
	t.Cleanup(func() { close(hold) })
	store := newStore(t, func(o *Options) { o.Timeout = 300 * time.Millisecond })

	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
	wantFault(t, err, fault.Transient, "Timeout", repo.url)
}

func TestRefusedAddressesAndRevisions(t *testing.T) {
	store := newStore(t, nil)
	proof := filepath.Join(t.TempDir(), "proof")
	for _, url := range []string{
		"", "--upload-pack=touch " + proof, "--upload-pack=touch$IFS" + proof, "-oProxyCommand=x", "ext::sh -c touch% " + proof,
		"ext::touch$IFS" + proof, "file:///etc", "/etc", "../etc", "etc", "git://example.com/x", "ssh://-oProxyCommand=x/y",
		"ssh://-x@example.com/y", "oci://example.com/x", "http://", "host:-x", "a\nb", "fd::17", "https://bot:s3cret@ex ample.com/",
		"https://bot:s3cret@example.com:port/x",
	} {
		_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: url, Revision: "main"}, 0)
		wantFault(t, err, fault.Terminal, "RepositoryRefused")
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the message %q shows the password", err)
		}
		_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: url}, strings.Repeat("ab", 20))
		wantFault(t, err, fault.Terminal, "RepositoryRefused")
	}
	for _, revision := range []string{"--upload-pack=touch" + proof, "-x", "a..b", "a b", "main@{1}", ":path", "a:b", "a\x00b", "a\\b"} {
		_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: "https://example.com/x", Revision: revision}, 0)
		wantFault(t, err, fault.Terminal, "RevisionRefused")
		_, err = store.Tree(t.Context(), manifest.Origin{RepoURL: "https://example.com/x"}, revision)
		wantFault(t, err, fault.Terminal, "RevisionRefused")
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command was run: %v", err)
	}
	if asks, fetches := store.Stats(); asks+fetches != 0 {
		t.Errorf("git was asked %d times and fetched %d times", asks, fetches)
	}
}

func TestAcceptedAddresses(t *testing.T) {
	same := [][]string{
		{"https://example.com/a/b", "https://example.com/a/b.git", "HTTPS://Example.com/a/b/", "https://example.com/a/b.git/"},
		{"https://example.com/a/B"},
		{"https://bot:x@example.com/a/b"},
		{"git@example.com:a/b", "git@example.com:a/b.git"},
		{"ssh://git@example.com/a/b"},
		{"ssh://git@example.com:2222/a/b"},
	}
	folders := map[string]int{}
	for i, spellings := range same {
		for _, url := range spellings {
			at, err := parseAddress(url, false)
			if err != nil {
				t.Errorf("parseAddress(%q): %v", url, err)
				continue
			}
			folder := at.folder(at.signedIn(core.Repository{}), []byte("key"))
			if owner, ok := folders[folder]; ok && owner != i {
				t.Errorf("%q has the folder of %q", url, same[owner])
			}
			folders[folder] = i
		}
	}
	if len(folders) != len(same) {
		t.Errorf("%d folders for %d repositories", len(folders), len(same))
	}
}

// TestForesee: what it brings is here when it is asked for; what is not there costs one request, and nobody's answer.
func TestForesee(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	first := repo.commit("main", map[string]string{"a": "1"})
	store := newStore(t, nil)
	of := manifest.Origin{RepoURL: repo.url, Revision: "main"}
	if err := store.Foresee(t.Context(), of, first); err != nil {
		t.Fatal(err)
	}
	fetches := func() int64 { _, n := store.Stats(); return n }
	if tree(t, store, repo.url, first); fetches() != 1 {
		t.Errorf("%d fetches of a commit that was foreseen", fetches())
	}
	err := store.Foresee(t.Context(), of, strings.Repeat("ab", 20))
	wantFault(t, err, fault.Terminal, "CommitNotFound", repo.url)
	if fetches() != 2 {
		t.Errorf("%d fetches after one for nothing", fetches())
	}
	for _, commit := range []string{first, "main", ""} {
		if err := store.Foresee(t.Context(), of, commit); err != nil || fetches() != 2 {
			t.Errorf("foreseeing %q: %v after %d fetches", commit, err, fetches())
		}
	}

	// A server that gives out only what it advertises is not asked for everything on a mere word.
	second := repo.commit("main", map[string]string{"a": "2"})
	repo.commit("main", map[string]string{"a": "3"})
	server.set(func(s *gitServer) { s.old = true })
	if err := store.Foresee(t.Context(), of, second); err == nil || fetches() != 3 {
		t.Errorf("foreseeing what is not advertised: %v after %d fetches", err, fetches())
	}
	if tree(t, store, repo.url, second); fetches() != 4 {
		t.Errorf("%d fetches in the end", fetches())
	}
	third := repo.commit("main", map[string]string{"a": "4"})
	if err := store.Foresee(t.Context(), of, third); err != nil || fetches() != 4 {
		t.Errorf("foreseeing at a server that is known for it: %v after %d fetches", err, fetches())
	}
}

// TestForeseenAndAskedForAtOnce: whoever needs the commit waits for the fetch that is under way, and makes his own if that
// brought nothing.
func TestForeseenAndAskedForAtOnce(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	store := newStore(t, nil)
	tree(t, store, repo.url, repo.commit("main", map[string]string{"a": "1"}))
	commit := repo.commit("main", map[string]string{"a": "2"})
	release := make(chan struct{})
	server.set(func(s *gitServer) { s.hold = release })
	foreseen, asked := make(chan error, 1), make(chan error, 1)
	go func() { foreseen <- store.Foresee(t.Context(), manifest.Origin{RepoURL: repo.url}, commit) }()
	<-server.held
	go func() {
		_, err := store.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
		asked <- err
	}()
	close(release)
	if err := errors.Join(<-foreseen, <-asked); err != nil {
		t.Fatal(err)
	}
	if _, n := store.Stats(); n != 2 {
		t.Errorf("%d fetches of two commits", n)
	}
}

// TestAServerIsToldOfTheLastCommits: of few of those that are here, and of none that is not; what it sends then is whole.
func TestAServerIsToldOfTheLastCommits(t *testing.T) {
	server := newGitServer(t)
	url := server.repo(t, "shop.git")
	store := newStore(t, nil)
	known, err := store.repository(manifest.Origin{RepoURL: url.url})
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	for i := range 3 * mostTips {
		text := strconv.Itoa(i)
		commits = append(commits, url.commit("main", map[string]string{"same": "0", "a": text}))
		content := tree(t, store, url.url, commits[i])
		for name, want := range map[string]string{"a": text, "same": "0"} {
			if data, err := fs.ReadFile(content, name); err != nil || string(data) != want {
				t.Fatalf("%s at commit %d = %q, %v", name, i, data, err)
			}
		}
		if told := known.known(); len(told) != min(i+1, mostTips) || told[0] != "--negotiation-tip="+commits[i] {
			t.Errorf("after commit %d the server is told of %v", i, told)
		}
	}
	tree(t, store, url.url, commits[0])
	if err := os.Remove(filepath.Join(known.dir, filepath.FromSlash(keptRefs), commits[len(commits)-1])); err != nil {
		t.Fatal(err)
	}
	if told := known.known(); len(told) != mostTips-1 || told[0] != "--negotiation-tip="+commits[0] {
		t.Errorf("in the end the server is told of %v", told)
	}
}
