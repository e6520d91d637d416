package repository_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/core/repository"
)

// TestPlace: the ways to one repository have one place, and others do not.
func TestPlace(t *testing.T) {
	for want, urls := range map[string][]string{
		"github.com/org/repo": {
			"https://github.com/org/repo", "https://github.com/Org/Repo.git", "https://user:pass@github.com:443/org/repo.git/",
			"git@github.com:org/repo.git", "ssh://git@github.com/org/repo", "ssh://git@ssh.github.com:443/org/repo.git",
			"http://github.com/org//repo", "org-123@github.com:org/repo.git",
		},
		"git.example.com/a/b":    {"https://git.example.com:8443/a/b", "ssh://git@git.example.com:2222/a/b.git", "git@git.example.com:a/b"},
		"[::1]/a":                {"http://[::1]:3000/a.git", "http://[::1]/a"},
		"bitbucket.org/team/one": {"git@altssh.bitbucket.org:team/one.git", "https://bitbucket.org/team/one"},
		"ghcr.io/org/chart":      {"oci://ghcr.io/org/chart", "ghcr.io/org/chart"},
		"dev.azure.com/org/my project/repo": {
			"https://org@dev.azure.com/org/My%20Project/_git/repo", "git@ssh.dev.azure.com:v3/org/My Project/repo",
			"https://org.visualstudio.com/DefaultCollection/My%20Project/_git/repo", "org@vs-ssh.visualstudio.com:v3/org/My Project/repo",
		},
		"dev.azure.com/org/one/one": {"https://dev.azure.com/org/one/_git/one", "https://dev.azure.com/org/_git/one"},
		"ssh.example":               {"https://ssh.example/"},
		"/srv/git/a.git":            {"/srv/git/a.git"},
		"":                          {"", "  "},
	} {
		for _, url := range urls {
			if got := repository.Place(url); got != want {
				t.Errorf("%q is at %q, want %q", url, got, want)
			}
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, seed := range []string{"https://a/b.git", "git@a:b", "http://[::1]:1/a", "://", "ssh://@", "dev.azure.com", "https://x.visualstudio.com/_git"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, url string) { repository.Place(url) })
}
