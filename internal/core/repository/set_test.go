package repository_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/repository"
)

// login is an entry that can be told from others by its user.
func login(url, project, user string) repository.Repository {
	return repository.Repository{URL: url, Project: project, Username: user, Password: repository.NewSecret("p-" + user)}
}

func TestFor(t *testing.T) {
	set := repository.NewSet(
		[]repository.Repository{
			login("https://example.com/shop/app", "", "all"),
			login("https://example.com/shop/app.git", "blue", "blue"),
			login("https://example.com/shop/scoped", "blue", "scoped"),
			login("git@example.com:shop/app.git", "", "scp"),
			login("ssh://git@example.com:2222/shop/app", "", "port"),
			{URL: "https://example.com/shop/open", EnableLFS: true, Insecure: true, Proxy: "http://own:1"},
			login("https://example.com/shop/twice", "", "first"),
			login("https://example.com/shop/twice/", "", "second"),
			{URL: "registry.example.com/charts", Type: repository.Helm, Username: "registry"},
		},
		[]repository.Repository{
			login("https://example.com", "", "host"),
			login("https://example.com/shop", "", "shop"),
			login("https://example.com/shop/deep/", "", "deep"),
			login("https://example.com/shop", "green", "green"),
			login("https://exam", "", "half a host"),
			login("ssh://git@example.com/", "", "ssh host"),
			login("https://example.com:8443/shop", "", "other port"),
			{URL: "https://proxied.example.com", Username: "proxied", Proxy: "http://proxy:3128", NoProxy: "x"},
		},
		repository.Trust{})
	for _, test := range []struct{ url, project, want string }{
		{"https://example.com/shop/app", "", "all"},
		{"https://example.com/shop/app", "red", "all"},
		{"https://example.com/shop/app", "blue", "blue"},
		{"HTTPS://Example.COM/shop/app.git/", "red", "all"},
		{"https://example.com:443/shop/app", "red", "all"},
		{"https://example.com./Shop//App", "red", "all"},
		{"https://bot@example.com/shop/app", "red", "all"},
		{"https://example.com/shop/twice", "", "first"},
		{"git@example.com:shop/app", "", "scp"},
		{"ssh://git@EXAMPLE.com/shop/app.git", "", "scp"},
		{"ssh://git@example.com:22/shop/app", "", "scp"},
		{"ssh://git@example.com:2222/shop/app", "", "port"},
		{"ssh://other@example.com/shop/app", "", ""},
		{"registry.example.com/charts", "", "registry"},
		{"oci://registry.example.com/charts", "", "registry"},

		// An entry of another project is not there.
		{"https://example.com/shop/scoped", "blue", "scoped"},
		{"https://example.com/shop/scoped", "red", "shop"},
		{"https://example.com/shop/scoped", "", "shop"},

		// The longest entry for many, at the end of a segment.
		{"https://example.com/shop/other", "", "shop"},
		{"https://example.com/shop/other", "green", "green"},
		{"https://example.com/shop/deep/er/still", "", "deep"},
		{"https://example.com/shop/deeper", "", "shop"},
		{"https://example.com/shop-evil/app", "", "host"},
		{"https://example.com/", "", "host"},
		{"https://example.company/shop/app", "", ""},
		{"https://example.com.evil.org/shop/app", "", ""},
		{"http://example.com/shop/app", "", ""},
		{"https://example.com:8443/shop/x", "", "other port"},
		{"https://example.com:9443/shop/x", "", ""},
		{"git@example.com:other/x", "", "ssh host"},

		// A path that may lead elsewhere has no folder whose entry could count.
		{"https://example.com/shop/../secret/app", "", ""},
		{"https://example.com/shop/%2e%2e/secret/app", "", ""},
		{"https://example.com/shop%2fdeep/app", "", ""},
		{"https://example.com/shop/%5c..%5csecret", "", ""},
		{"/srv/git/shop", "", ""},
		{"", "", ""},
		{"https://bad url", "", ""},
	} {
		if got := set.For(test.url, test.project); got.Username != test.want {
			t.Errorf("For(%q, %q) is the entry %q, want %q", test.url, test.project, got.Username, test.want)
		}
	}

	open := set.For("https://example.com/shop/open.git", "red")
	want := login("https://example.com/shop/open", "", "shop")
	want.EnableLFS, want.Insecure, want.Proxy = true, true, "http://own:1"
	if diff := cmp.Diff(want, open, cmp.AllowUnexported(repository.Secret{})); diff != "" {
		t.Errorf("an entry without a login, filled (-want +got)\n%s", diff)
	}
	if got := set.For("https://proxied.example.com/x", ""); got.Proxy != "http://proxy:3128" || got.URL != "https://proxied.example.com" {
		t.Errorf("what is filled = %+v", got)
	}
	for name, want := range map[string]string{"stable": "", "mine": "all"} {
		named := repository.NewSet([]repository.Repository{
			{URL: "https://one.example.com", Name: "mine", Username: "all"},
			{URL: "https://two.example.com", Name: "stable", Username: "blue", Project: "blue"},
		}, nil, repository.Trust{})
		if got, ok := named.Named(name, "red"); got.Username != want || ok != (want != "") {
			t.Errorf("the entry named %q is that of %q, %v", name, got.Username, ok)
		}
	}
	if got := set.For("https://nowhere.example.org/x", "red"); !cmp.Equal(got, repository.Repository{}, cmp.AllowUnexported(repository.Secret{})) {
		t.Errorf("an unknown place = %+v", got)
	}
}

func TestChanged(t *testing.T) {
	trust := repository.Trust{
		KnownHosts: "a", Certificates: map[string]string{"one.example.com": "1", "two.example.com": "2"},
		PublicKeys: map[string]string{"A": "a"},
	}
	old := repository.NewSet(
		[]repository.Repository{login("https://example.com/a", "", "a"), login("https://example.com/b", "", "b")},
		[]repository.Repository{login("https://example.com/shop", "", "s")}, trust)
	moved := repository.Trust{
		KnownHosts: "b", Certificates: map[string]string{"one.example.com": "1", "two.example.com": "3"},
		PublicKeys: map[string]string{"A": "a"},
	}
	for name, test := range map[string]struct {
		now  *repository.Set
		want []string
	}{
		"nothing": {old, nil},
		"one entry and one that went": {
			repository.NewSet([]repository.Repository{login("https://Example.com/a.git", "", "other")},
				[]repository.Repository{login("https://example.com/shop", "", "s")}, trust),
			[]string{"https://example.com/a", "https://example.com/b"},
		},
		"trust": {
			repository.NewSet(
				[]repository.Repository{login("https://example.com/a", "", "a"), login("https://example.com/b", "", "b")},
				[]repository.Repository{login("https://example.com/shop", "", "s")}, moved),
			[]string{"https://two.example.com", "ssh://"},
		},
	} {
		if diff := cmp.Diff(test.want, repository.Changed(old, test.now)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for _, test := range []struct {
		changed, url string
		want         bool
	}{
		{"https://example.com/a", "https://EXAMPLE.com/a.git", true},
		{"https://example.com/a", "https://example.com/ab", false},
		{"https://example.com/shop", "https://example.com/shop/x/y", true},
		{"https://two.example.com", "https://two.example.com:8443/x", true},
		{"https://two.example.com", "https://two.example.com.evil/x", false},
		{"ssh://", "git@host:x/y", true},
		{"ssh://", "https://host/x", false},
		{repository.Everything, "/srv/git", true},
	} {
		if got := repository.Covers(test.changed, test.url); got != test.want {
			t.Errorf("Covers(%q, %q) = %v", test.changed, test.url, got)
		}
	}
}

func TestOwned(t *testing.T) {
	s := repository.NewSet(
		[]repository.Repository{{URL: "https://a"}, {URL: "https://b", Project: "shop"}, {URL: "https://c", Project: "crew"}},
		// An entry for many repositories says how to sign in there, not whose they are.
		[]repository.Repository{{URL: "https://d", Project: "shop"}}, repository.Trust{})
	if d := cmp.Diff([]string{"https://b"}, s.Owned("shop")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := s.Owned(""); len(got) > 0 {
		t.Errorf("those of no project are %q", got)
	}
}
