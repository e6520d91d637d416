package forge_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/forge"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

const (
	token = "s3cr3t-t0ken"
	sha1  = "1111111111aaaaaaaaaabbbbbbbbbbcccccccccc"
	sha2  = "2222222222aaaaaaaaaabbbbbbbbbbcccccccccc"
)

// store is what is in the cluster.
type store struct {
	secrets map[string]forge.Secret
	maps    map[string]map[string]string
	err     error
}

func (s store) Secret(_ context.Context, namespace, name string) (forge.Secret, bool, error) {
	found, ok := s.secrets[namespace+"/"+name]
	return found, ok, s.err
}

func (s store) ConfigMap(_ context.Context, namespace, name string) (map[string]string, bool, error) {
	found, ok := s.maps[namespace+"/"+name]
	return found, ok, s.err
}

func secretOf(pairs ...string) forge.Secret {
	out := forge.Secret{Labels: map[string]string{}, Data: map[string]repository.Secret{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		out.Data[pairs[i]] = repository.NewSecret(pairs[i+1])
	}
	return out
}

func newStore() store {
	return store{
		secrets: map[string]forge.Secret{"team/login": secretOf("token", token+"\n"), "team/another": secretOf("token", "another")}, maps: map[string]map[string]string{},
	}
}

var scope = forge.Scope{Namespace: "team", SetName: "previews", Project: "shop"}

// start starts a forge that wants a login, and ends it with the test.
func start(t *testing.T, kind forgetest.Kind) *forgetest.Forge {
	t.Helper()
	f := forgetest.New(kind)
	f.Token = token
	t.Cleanup(f.Close)
	return f
}

func newForges(t *testing.T, change ...func(*forge.Options)) *forge.Forges {
	t.Helper()
	o := forge.Options{Store: newStore(), Namespace: "argocd"}
	for _, c := range change {
		c(&o)
	}
	f := forge.New(o)
	t.Cleanup(f.Close)
	return f
}

var login = &v1alpha1.SecretRef{SecretName: "login", Key: "token"}

// pullsOf is a generator for the repository shop.
func pullsOf(f *forgetest.Forge) v1alpha1.PullRequestGenerator {
	switch f.Kind {
	case forgetest.GitLab:
		return v1alpha1.PullRequestGenerator{Gitlab: &v1alpha1.PullRequestGeneratorGitlab{Project: "acme/shop", API: f.URL, TokenRef: login}}
	case forgetest.Gitea:
		return v1alpha1.PullRequestGenerator{Gitea: &v1alpha1.PullRequestGeneratorGitea{Owner: "acme", Repo: "shop", API: f.URL, TokenRef: login}}
	case forgetest.GitHub:
	}
	return v1alpha1.PullRequestGenerator{Github: &v1alpha1.PullRequestGeneratorGithub{Owner: "acme", Repo: "shop", API: f.URL, TokenRef: login}}
}

// reposOf is a generator for all repositories.
func reposOf(f *forgetest.Forge) v1alpha1.SCMProviderGenerator {
	switch f.Kind {
	case forgetest.GitLab:
		return v1alpha1.SCMProviderGenerator{Gitlab: &v1alpha1.SCMProviderGeneratorGitlab{Group: "acme", API: f.URL, TokenRef: login}}
	case forgetest.Gitea:
		return v1alpha1.SCMProviderGenerator{Gitea: &v1alpha1.SCMProviderGeneratorGitea{Owner: "acme", API: f.URL, TokenRef: login}}
	case forgetest.GitHub:
	}
	return v1alpha1.SCMProviderGenerator{Github: &v1alpha1.SCMProviderGeneratorGithub{Organization: "acme", API: f.URL, TokenRef: login}}
}

// eachForge runs a test with each of the forges.
func eachForge(t *testing.T, test func(t *testing.T, f *forgetest.Forge)) {
	for _, kind := range []forgetest.Kind{forgetest.GitHub, forgetest.GitLab, forgetest.Gitea} {
		t.Run(string(kind), func(t *testing.T) { test(t, start(t, kind)) })
	}
}

func open(n int) []forgetest.Pull {
	var out []forgetest.Pull
	for i := 1; i <= n; i++ {
		out = append(out, forgetest.Pull{
			Number: int64(i), Title: fmt.Sprintf("Change %d", i), Branch: fmt.Sprintf("change-%d", i), Target: "main", SHA: sha1, Author: "ann",
		})
	}
	return out
}

// values are one parameter of all sets.
func values(sets []map[string]any, key string) []string {
	var out []string
	for _, set := range sets {
		out = append(out, fmt.Sprint(set[key]))
	}
	return out
}

func TestPullRequests(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: []forgetest.Pull{
			{Number: 7, Title: "Add a cart", Branch: "feature/Add_cart", Target: "release/1.0", SHA: sha1, Author: "ann", Labels: []string{"preview", "ui"}},
			{Number: 8, Title: "Gone", Branch: "x", Target: "main", SHA: sha2, Author: "bob", State: "closed"},
		}}}
		gen := pullsOf(f)
		if f.Kind == forgetest.GitLab {
			gen.Gitlab.PullRequestState = "opened"
		}
		got, err := newForges(t).PullRequests(t.Context(), gen, scope)
		if err != nil {
			t.Fatal(err)
		}
		want := []map[string]any{{
			"number": "7", "title": "Add a cart", "branch": "feature/Add_cart", "branch_slug": "feature-add-cart", "target_branch": "release/1.0",
			"target_branch_slug": "release-1-0", "head_sha": sha1, "head_short_sha": "11111111", "head_short_sha_7": "1111111",
			"labels": []any{"preview", "ui"}, "author": "ann",
		}}
		if diff := cmp.Diff(want, got.Sets); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
	})
}

func TestPullRequestsByLabelAndFilter(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		pull := func(n int64, branch, target, title string, labels ...string) forgetest.Pull {
			return forgetest.Pull{Number: n, Branch: branch, Target: target, Title: title, SHA: sha1, Author: "ann", Labels: labels}
		}
		f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: []forgetest.Pull{
			pull(1, "feature/a", "main", "one", "preview"), pull(2, "feature/b", "next", "two", "preview", "big"),
			pull(3, "fix/c", "main", "[x] three", "preview"), pull(4, "feature/d", "main", "four"),
		}}}
		type filters = []v1alpha1.PullRequestGeneratorFilter
		tests := []struct {
			labels  []string
			filters filters
			want    []string
		}{
			{nil, nil, []string{"1", "2", "3", "4"}},
			{[]string{"preview"}, nil, []string{"1", "2", "3"}},
			{[]string{"preview", "big"}, nil, []string{"2"}},
			{nil, filters{{BranchMatch: new("^feature/")}}, []string{"1", "2", "4"}},
			{nil, filters{{BranchMatch: new("^feature/"), TargetBranchMatch: new("^main$")}}, []string{"1", "4"}},
			{nil, filters{{TargetBranchMatch: new("next")}, {TitleMatch: new(`^\[x\]`)}}, []string{"2", "3"}},
			{[]string{"preview"}, filters{{TitleMatch: new("nobody")}}, nil},
			{nil, filters{{}}, []string{"1", "2", "3", "4"}},
		}
		for i, tc := range tests {
			gen := pullsOf(f)
			gen.Filters = tc.filters
			switch f.Kind {
			case forgetest.GitHub:
				gen.Github.Labels = tc.labels
			case forgetest.GitLab:
				gen.Gitlab.Labels = tc.labels
			case forgetest.Gitea:
				gen.Gitea.Labels = tc.labels
			}
			got, err := newForges(t).PullRequests(t.Context(), gen, scope)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, values(got.Sets, "number")); diff != "" {
				t.Errorf("case %d (-want +got):\n%s", i, diff)
			}
			if got.Sets == nil {
				t.Errorf("case %d: no sets is not said", i)
			}
		}
	})
}

func TestMergeRequestStates(t *testing.T) {
	f := start(t, forgetest.GitLab)
	f.Repos = []forgetest.Repo{{ID: 12, Name: "shop", Pulls: []forgetest.Pull{
		{Number: 1, Branch: "a", Target: "main"}, {Number: 2, Branch: "b", Target: "main", State: "merged", SHA: sha1},
	}}}
	for state, want := range map[string][]string{"": {"1", "2"}, "opened": {"1"}, "merged": {"2"}} {
		gen := pullsOf(f)
		gen.Gitlab.Project, gen.Gitlab.PullRequestState = "12", state
		got, err := newForges(t).PullRequests(t.Context(), gen, scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, values(got.Sets, "number")); diff != "" {
			t.Errorf("state %q (-want +got):\n%s", state, diff)
		}
	}
}

func TestClosed(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: []forgetest.Pull{
			{Number: 1, Branch: "a", Target: "main", SHA: sha1}, {Number: 2, Branch: "b", Target: "main", SHA: sha1, State: "closed"},
		}}}
		forges := newForges(t)
		for number, want := range map[int64]bool{1: false, 2: true} {
			got, err := forges.Closed(t.Context(), pullsOf(f), scope, number)
			if err != nil || got != want {
				t.Errorf("Closed(%d) = %v, %v", number, got, err)
			}
		}
		// Not to be seen is not closed.
		if got, err := forges.Closed(t.Context(), pullsOf(f), scope, 3); got || fault.ReasonOf(err) != "NotFound" {
			t.Errorf("Closed(3) = %v, %v", got, err)
		}
		// Nor is one of which something else is told.
		f.Do(func() {
			f.After = func(_ *http.Request, a *forgetest.Answer) {
				a.Body = bytes.ReplaceAll(a.Body, []byte(":2,"), []byte(":1,"))
			}
		})
		if got, err := forges.Closed(t.Context(), pullsOf(f), scope, 2); got || fault.ReasonOf(err) != "AnswerNotUnderstood" {
			t.Errorf("another one was answered for: %v, %v", got, err)
		}
		f.Do(func() { f.After, f.Token = nil, "another" })
		if got, err := forges.Closed(t.Context(), pullsOf(f), scope, 2); got || fault.ReasonOf(err) != "ForgeDenied" {
			t.Errorf("Closed without rights = %v, %v", got, err)
		}
	})
	gitlab := start(t, forgetest.GitLab)
	gitlab.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: []forgetest.Pull{
		{Number: 1, State: "merged"}, {Number: 2, State: "locked"}, {Number: 3, State: "vanished"},
	}}}
	for number, want := range map[int64]bool{1: true, 2: false} {
		if got, err := newForges(t).Closed(t.Context(), pullsOf(gitlab), scope, number); err != nil || got != want {
			t.Errorf("Closed(%d) = %v, %v", number, got, err)
		}
	}
	if got, err := newForges(t).Closed(t.Context(), pullsOf(gitlab), scope, 3); got || err == nil {
		t.Errorf("a state that nobody knows: %v, %v", got, err)
	}
}

func TestRepositories(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = []forgetest.Repo{
			{ID: 1, Name: "shop", Default: "release/V1", Labels: []string{"go", "web"}, Commits: map[string]string{"release/V1": sha1, "next": sha2}},
			{ID: 2, Name: "empty", Default: "main"},
		}
		gen := reposOf(f)
		gen.CloneProtocol = "https"
		got, err := newForges(t).Repositories(t.Context(), gen, scope)
		if err != nil {
			t.Fatal(err)
		}
		address := "https://forge.example.com/acme/shop.git"
		if f.Kind == forgetest.Gitea {
			address = "https://forge.example.com/acme/shop"
		}
		want := []map[string]any{{
			"organization": "acme", "repository": "shop", "repository_id": int64(1), "url": address, "branch": "release/V1",
			"branchNormalized": "release-v1", "sha": sha1, "short_sha": "11111111", "short_sha_7": "1111111", "labels": "go,web",
		}}
		if diff := cmp.Diff(want, got.Sets); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
		gen.CloneProtocol = ""
		got, err = newForges(t).Repositories(t.Context(), gen, scope)
		if err != nil || got.Sets[0]["url"] != "git@forge.example.com:acme/shop.git" {
			t.Errorf("%v, %v", got.Sets, err)
		}
		gen.CloneProtocol = "gopher"
		if _, err = newForges(t).Repositories(t.Context(), gen, scope); fault.ReasonOf(err) != "CloneProtocolInvalid" {
			t.Error(err)
		}
	})
}

func manyRepos() []forgetest.Repo {
	main := map[string]string{"main": sha1}
	return []forgetest.Repo{
		{
			ID: 1, Name: "shop-web", Default: "main", Labels: []string{"deploy"}, Commits: map[string]string{"main": sha1, "dev": sha2},
			Paths: map[string][]string{"main": {"deploy/app.yaml", "README.md"}, "dev": {"README.md"}},
		},
		{ID: 2, Name: "shop-api", Default: "main", Commits: main, Paths: map[string][]string{"main": {"helm/Chart.yaml", ".disabled"}}},
		{ID: 3, Name: "docs", Default: "main", Labels: []string{"deploy", "text"}, Commits: main, Paths: map[string][]string{"main": {"README.md"}}},
		{ID: 4, Name: "old", Default: "main", Commits: main, Archived: true, Paths: map[string][]string{"main": {"deploy/app.yaml"}}},
	}
}

func TestRepositoryFilters(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = manyRepos()
		type filters = []v1alpha1.SCMProviderGeneratorFilter
		tests := []struct {
			filters filters
			all     bool
			want    []string
		}{
			{nil, false, []string{"shop-web/main", "shop-api/main", "docs/main", "old/main"}},
			{filters{{RepositoryMatch: new("^shop-")}}, false, []string{"shop-web/main", "shop-api/main"}},
			{filters{{RepositoryMatch: new("^shop-")}}, true, []string{"shop-web/dev", "shop-web/main", "shop-api/main"}},
			{filters{{LabelMatch: new("^dep")}}, false, []string{"shop-web/main", "docs/main"}},
			{filters{{PathsExist: []string{"deploy/app.yaml"}}}, true, []string{"shop-web/main", "old/main"}},
			{filters{{PathsExist: []string{"deploy/"}}}, false, []string{"shop-web/main", "old/main"}},
			{filters{{PathsExist: []string{"deploy/none/app.yaml"}}}, false, nil},
			{filters{{RepositoryMatch: new("^shop-"), PathsDoNotExist: []string{".disabled"}}}, false, []string{"shop-web/main"}},
			{filters{{BranchMatch: new("^dev$")}}, true, []string{"shop-web/dev"}},
			{filters{{BranchMatch: new("^dev$")}}, false, nil},
			// Each filter stands for itself: what one wants of the repository is not wanted by the other.
			{filters{{RepositoryMatch: new("docs"), LabelMatch: new("text")}, {PathsExist: []string{"helm"}}}, false, []string{"shop-api/main", "docs/main"}},
			{filters{{RepositoryMatch: new("docs"), PathsExist: []string{"helm"}}, {RepositoryMatch: new("shop-api"), PathsExist: []string{"README.md"}}}, false, nil},
			{filters{{}, {RepositoryMatch: new("docs")}}, false, []string{"docs/main"}},
		}
		forges := newForges(t)
		for i, tc := range tests {
			gen := reposOf(f)
			gen.Filters = tc.filters
			switch f.Kind {
			case forgetest.GitHub:
				gen.Github.AllBranches = tc.all
			case forgetest.GitLab:
				gen.Gitlab.AllBranches, gen.Gitlab.IncludeArchivedRepos = tc.all, new(true)
			case forgetest.Gitea:
				gen.Gitea.AllBranches = tc.all
			}
			got, err := forges.Repositories(t.Context(), gen, scope)
			if err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			var found []string
			for _, set := range got.Sets {
				found = append(found, fmt.Sprint(set["repository"], "/", set["branch"]))
			}
			if diff := cmp.Diff(tc.want, found); diff != "" {
				t.Errorf("case %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestArchivedRepositories(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = manyRepos()
		gen := reposOf(f)
		switch f.Kind {
		case forgetest.GitHub:
			gen.Github.ExcludeArchivedRepos = true
		case forgetest.Gitea:
			gen.Gitea.ExcludeArchivedRepos = true
		case forgetest.GitLab: // leaves them out unless it is told otherwise
		}
		got, err := newForges(t).Repositories(t.Context(), gen, scope)
		if err != nil {
			t.Fatal(err)
		}
		if names := values(got.Sets, "repository"); slices.Contains(names, "old") || len(names) != 3 {
			t.Errorf("found %q", names)
		}
	})
}

func TestGroupsOfGitLab(t *testing.T) {
	f := start(t, forgetest.GitLab)
	main := map[string]string{"main": sha1}
	f.Repos = []forgetest.Repo{
		{ID: 1, Name: "a", Default: "main", Commits: main, Labels: []string{"web"}},
		{ID: 2, Name: "b", Default: "main", Commits: main, Group: "acme/sub"},
		{ID: 3, Name: "c", Default: "main", Commits: main, Group: "others", Shared: true},
	}
	tests := []struct {
		change func(*v1alpha1.SCMProviderGeneratorGitlab)
		want   []string
	}{
		{func(*v1alpha1.SCMProviderGeneratorGitlab) {}, []string{"acme/a", "others/c"}},
		{func(g *v1alpha1.SCMProviderGeneratorGitlab) { g.IncludeSharedProjects = new(false) }, []string{"acme/a"}},
		{func(g *v1alpha1.SCMProviderGeneratorGitlab) { g.Group, g.IncludeSubgroups = "7", true }, []string{"acme/a", "acme/sub/b", "others/c"}},
		{func(g *v1alpha1.SCMProviderGeneratorGitlab) { g.Topic = "web" }, []string{"acme/a"}},
	}
	for i, tc := range tests {
		gen := reposOf(f)
		tc.change(gen.Gitlab)
		got, err := newForges(t).Repositories(t.Context(), gen, scope)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, set := range got.Sets {
			found = append(found, fmt.Sprint(set["organization"], "/", set["repository"]))
		}
		if diff := cmp.Diff(tc.want, found); diff != "" {
			t.Errorf("case %d (-want +got):\n%s", i, diff)
		}
	}
}

// A repository whose branch cannot be seen is left out only if the forge still shows the repository.
func TestLostRepository(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Default: "gone", Commits: map[string]string{"main": sha1}}}
		got, err := newForges(t).Repositories(t.Context(), reposOf(f), scope)
		if err != nil || len(got.Sets) != 0 {
			t.Fatalf("a branch that is not there: %v, %v", got, err)
		}
		f.Do(func() {
			f.After = func(_ *http.Request, a *forgetest.Answer) {
				if strings.Contains(string(a.Body), "ranch") && a.Status == 404 {
					f.Repos[0].Name, f.Repos[0].ID = "elsewhere", 99 // between two questions it went away
				}
			}
		})
		if got, err := newForges(t).Repositories(t.Context(), reposOf(f), scope); err == nil {
			t.Errorf("a repository that went away: %v", got)
		}
	})
}

func TestRefusedByName(t *testing.T) {
	forges := newForges(t)
	for name, gen := range map[string]v1alpha1.PullRequestGenerator{
		"bitbucketServer": {BitbucketServer: &v1alpha1.PullRequestGeneratorBitbucketServer{}},
		"bitbucket":       {Bitbucket: &v1alpha1.PullRequestGeneratorBitbucket{}},
		"azuredevops":     {AzureDevOps: &v1alpha1.PullRequestGeneratorAzureDevOps{}},
		"names no forge":  {},
	} {
		_, err := forges.PullRequests(t.Context(), gen, scope)
		if fault.ClassOf(err) != fault.Terminal || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, gen := range map[string]v1alpha1.SCMProviderGenerator{
		"bitbucketServer": {BitbucketServer: &v1alpha1.SCMProviderGeneratorBitbucketServer{}},
		"bitbucket":       {Bitbucket: &v1alpha1.SCMProviderGeneratorBitbucket{}},
		"azureDevOps":     {AzureDevOps: &v1alpha1.SCMProviderGeneratorAzureDevOps{}},
		"awsCodeCommit":   {AWSCodeCommit: &v1alpha1.SCMProviderGeneratorAWSCodeCommit{}},
		"names no forge":  {},
	} {
		_, err := forges.Repositories(t.Context(), gen, scope)
		if fault.ClassOf(err) != fault.Terminal || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
