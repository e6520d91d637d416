package repository_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/repository"
)

// What is shown of an entry tells whether one signs in, and never how.
func TestViews(t *testing.T) {
	word := repository.NewSecret("hidden")
	set := repository.NewSet([]repository.Repository{
		{URL: "https://git.example.com/own.git", Name: "own", Username: "hidden", Password: word},
		{URL: "https://bot:hidden@git.example.com/inside.git"},
		{URL: "https://forge.example.com/inherited.git", Type: repository.Git, Project: "web", Proxy: "http://me:hidden@proxy.example.com"},
		{URL: "git@host.example.com:team/ssh.git"},
	}, []repository.Repository{{URL: "https://forge.example.com", Password: word, Username: "hidden"}}, repository.Trust{})
	got := map[string]string{}
	for _, v := range set.Views() {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hidden") {
			t.Errorf("it tells a login: %s", text)
		}
		creds := "none"
		switch {
		case *v.OwnCreds:
			creds = "own"
		case v.InheritedCreds:
			creds = "inherited"
		}
		got[v.Repo] = creds
	}
	want := map[string]string{
		"https://git.example.com/own.git": "own", "https://git.example.com/inside.git": "none",
		"https://forge.example.com/inherited.git": "inherited", "git@host.example.com:team/ssh.git": "none",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !repository.Same("https://Git.example.com/own/", "https://git.example.com/own.git") || repository.Same("a", "b") {
		t.Error("addresses are compared wrongly")
	}
}
