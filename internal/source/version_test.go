package source

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestVersionRanges(t *testing.T) {
	t.Parallel()
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commits := map[string]string{}
	for tag := range strings.SplitSeq("v1.0.0 v1.2.0 v1.10.0 v2.0.0-rc.1 2.1 nonsense app-3.0.0 app-3.1.0-beta web-9.0.0 v0.9.0+build", " ") {
		commits[tag] = repo.commit("main", map[string]string{"a": tag})
		repo.git("", "tag", "-a", "-m", tag, tag, commits[tag])
	}
	commits["main"] = repo.commit("main", map[string]string{"a": "main"})
	repo.git("", "branch", "1.x", commits["main"])
	repo.git("", "branch", "7.x", commits["main"])
	store := newStore(t, nil)
	for _, test := range []struct{ revision, prefix, want string }{
		{"1.*", "", "v1.10.0"},
		{"^1.0.0", "", "v1.10.0"},
		{"~1.2", "", "v1.2.0"},
		{">=1.0.0 <1.10.0", "", "v1.2.0"},
		{">= 1.0, < 1.5 || ~1.2", "", "v1.2.0"},
		{"1.0 - 1.2", "", "v1.2.0"},
		{"*", "", "2.1"},
		{">=2.0.0-0 <2.1.0", "", "v2.0.0-rc.1"},
		{"<1.0.0", "", "v0.9.0+build"},
		{"*", "app-", "app-3.0.0"},
		{">=3.0.0-0", "app-", "app-3.1.0-beta"},
		{"3.0.0", "app-", "app-3.0.0"},
		{"v1.2.0", "", "v1.2.0"},
		{"1.x", "", "v1.10.0"}, // the range wins over the branch
		{"7.x", "", "main"},    // but the branch is found where no tag is in the range
		{"main", "app-", "main"},
	} {
		got, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: test.revision, TagPrefix: test.prefix}, time.Hour)
		if err != nil || got != commits[test.want] {
			t.Errorf("Resolve(%q, %q) = %s, %v; want %s of %s", test.revision, test.prefix, got, err, commits[test.want], test.want)
		}
	}
	for revision, prefix := range map[string]string{">=5": "", "^1.0.0": "app-", "*": "none-"} {
		_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: revision, TagPrefix: prefix}, time.Hour)
		wantFault(t, err, fault.Terminal, "RevisionNotFound", revision, prefix)
	}
	for _, revision := range []string{"a*", "main^", "main~1", "<x>", "1.0 - ", ">="} {
		_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: revision}, time.Hour)
		wantFault(t, err, fault.Terminal, "RevisionRefused", revision)
	}
}

func TestLooked(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	repo.commit("main", map[string]string{"a": "1"})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	told := make(chan string, 10)
	store := newStore(t, func(o *Options) {
		o.Now, o.Looked = func() time.Time { return now }, func(url string) { told <- url }
	})
	if at := store.Looked(repo.url); !at.IsZero() {
		t.Errorf("before the first look it was looked at %v", at)
	}
	look := func() { resolve(t, store, repo.url, "main") }
	look()
	if url := <-told; url != repo.url || !store.Looked(repo.url).Equal(now) {
		t.Errorf("told of %q, looked at %v", url, store.Looked(repo.url))
	}
	first := now
	now = now.Add(time.Minute)
	look() // nothing moved
	if !store.Looked(repo.url).Equal(now) {
		t.Errorf("looked at %v, want %v", store.Looked(repo.url), now)
	}
	repo.commit("main", map[string]string{"a": "2"})
	look()
	if url := <-told; url != repo.url || len(told) != 0 {
		t.Errorf("told of %q and %d more", url, len(told))
	}

	// An outage says how old what is known is, and takes nothing away.
	server.Close()
	_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
	wantFault(t, err, fault.Transient, "GitFailed", "what is known is from 2026-01-01T00:01:00Z")
	if store.Looked(repo.url).Equal(first) {
		t.Error("the look is lost")
	}
}
