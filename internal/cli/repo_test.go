package cli_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/repository"
)

func (d *desk) Repositories(context.Context) ([]repository.View, error) { return d.repos, nil }

func (d *desk) Templates(context.Context) ([]repository.Template, error) {
	return d.places.templates, nil
}

// PutRepository writes the keys of the secret down, with their values: what the tests type is no secret.
func (d *desk) PutRepository(_ context.Context, r repository.Repository, w repository.Wish) error {
	data := repository.Write(nil, r, w.Many)
	for _, k := range slices.Sorted(maps.Keys(data)) {
		d.town.add("%s: %s=%s", map[bool]string{true: "repo-creds", false: "repository"}[w.Many], k, strings.TrimSpace(string(data[k])))
	}
	if w.Upsert {
		d.town.add("in place of what is there")
	}
	return d.places.refusal
}

func (d *desk) DropRepository(_ context.Context, r repository.Repository, many bool) error {
	if d.places.refusal != nil {
		return d.places.refusal
	}
	d.town.add("drop %s of project %q, for many: %t", r.URL, r.Project, many)
	return nil
}

func TestRepositories(t *testing.T) {
	yes, no := true, false
	d := &desk{hub: newMemory(), repos: []repository.View{
		{Repo: "https://git.example.com/shop.git", Type: "git", Name: "shop", OwnCreds: &yes},
		{Repo: "https://charts.example.com", Type: "helm", Name: "charts", OwnCreds: &no, InheritedCreds: true, Project: "retail"},
		{
			Repo: "https://git.example.com/told.git", Type: "git", Proxy: "http://proxy.example.com",
			ConnectionState: &repository.Connection{Status: "Failed", Message: "no route\nto host"},
		},
	}}
	for _, c := range []struct {
		words string
		code  int
		out   string
		err   string
	}{
		{words: "repo list", out: `TYPE   NAME     REPO                               INSECURE   OCI     LFS     CREDS       STATUS    MESSAGE            PROJECT
helm   charts   https://charts.example.com         false      false   false   inherited   Unknown                      retail
git    shop     https://git.example.com/shop.git   false      false   false   true        Unknown
git             https://git.example.com/told.git   false      false   false   -           Failed    no route to host
`},
		{words: "repo list -o url", out: "https://charts.example.com\nhttps://git.example.com/shop.git\nhttps://git.example.com/told.git\n"},
		{words: "repo get shop -o name", out: "shop\n"},
		{words: "repo get https://git.example.com/shop -o json", out: `{
  "repo": "https://git.example.com/shop.git",
  "type": "git",
  "name": "shop"
}
`},
		{words: "repo get charts --project other", code: 20, err: `repository "charts" is not known`},
		{words: "repo list --refresh hard -o name", out: "charts\nshop\n\n", err: "--refresh has no effect"},
		{words: "repo list -o tree", code: 2, err: `the output "tree" is not known`},
	} {
		got := d.run(t, strings.Fields(c.words)...)
		if got.code != c.code || got.out != c.out || !strings.Contains(got.err, c.err) || (c.err == "") != (got.err == "") {
			t.Errorf("%s ends with %d and prints\n%s%s", c.words, got.code, got.out, got.err)
		}
	}
}

// Without a server there are no logs, and of a tree only what Git asks for.
func TestWithoutAServer(t *testing.T) {
	d := &desk{hub: newMemory(shop("shop"))}
	got := d.run(t, "app", "logs", "shop")
	if got.code != 2 || !strings.Contains(got.err, "kubectl logs") {
		t.Errorf("logs end with %d: %s", got.code, got.err)
	}
	got = d.run(t, "app", "resources", "shop", "-o", "json")
	if got.code != 0 || !strings.Contains(got.out, `"kind": "Deployment"`) || !strings.Contains(got.err, "without a server") {
		t.Errorf("resources end with %d:\n%s%s", got.code, got.out, got.err)
	}
	got = d.run(t, "app", "get", "shop", "-o", "tree", "--watch")
	if got.code != 2 || !strings.Contains(got.err, "leave out --watch") {
		t.Errorf("a tree that is watched ends with %d: %s", got.code, got.err)
	}
}
