package forge

import (
	"context"
	"net/url"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

const githubAPI = "https://api.github.com/"

var githubPages = pages{size: 100, key: "per_page"}

// githubAccess is how a generator reaches GitHub.
type githubAccess struct {
	api   string
	token *v1alpha1.SecretRef
	app   string
}

// github makes a session with GitHub. An app counts before a token.
func (f *Forges) github(ctx context.Context, a githubAccess, in Scope) (*session, error) {
	if err := f.allowed(a.api); err != nil {
		return nil, err
	}
	s := &session{client: f.client, forge: "GitHub", accept: "application/vnd.github+json"}
	var err error
	if a.app != "" {
		return s, f.signInAsApp(ctx, s, a, in)
	}
	if s.base, err = githubBase(a.api); err != nil {
		return nil, err
	}
	token, err := f.token(ctx, a.token, in, s.base)
	if err != nil {
		return nil, err
	}
	s.login = bearer(token)
	return s, nil
}

func bearer(token repository.Secret) login {
	if token.Empty() {
		return login{}
	}
	return login{header: "Authorization", value: repository.NewSecret("Bearer " + token.Reveal()), secret: token}
}

// githubBase is where the API of a GitHub is. That of an Enterprise server is below its address.
func githubBase(api string) (*url.URL, error) {
	if api == "" {
		api = githubAPI
	}
	base, err := parseBase(api)
	if err != nil {
		return nil, err
	}
	host := strings.ToLower(base.Hostname())
	if !strings.HasSuffix(base.Path, "/api/v3/") && !strings.HasPrefix(host, "api.") && !strings.Contains(host, ".api.") {
		base.Path += "api/v3/"
	}
	return base, nil
}

// githubRepos is an organisation of GitHub.
type githubRepos struct {
	*session
	organization string
}

type githubRepo struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Owner struct {
		Login string `json:"login"`
	} `json:"owner"`
	DefaultBranch string   `json:"default_branch"`
	SSHURL        string   `json:"ssh_url"`
	CloneURL      string   `json:"clone_url"`
	Topics        []string `json:"topics"`
	Archived      bool     `json:"archived"`
}

func (g *githubRepos) name() string { return g.organization + " on " + g.place() }

func (g *githubRepos) repos(ctx context.Context) ([]repo, error) {
	if err := required("scmProvider.github.organization", g.organization); err != nil {
		return nil, err
	}
	found, err := list(ctx, g.session, listing[githubRepo]{
		path: "orgs/" + segment(g.organization) + "/repos", query: url.Values{"sort": {"created"}, "direction": {"asc"}},
		pages: githubPages,
		id: func(r githubRepo) string {
			if r.ID <= 0 || r.Owner.Login == "" {
				return ""
			}
			return r.Name
		},
	})
	if err != nil {
		return nil, err
	}
	var out []repo
	for _, r := range found {
		out = append(out, repo{
			id: r.ID, organization: r.Owner.Login, name: r.Name, ssh: r.SSHURL, https: r.CloneURL, defaulted: r.DefaultBranch,
			labels: r.Topics, archived: r.Archived,
		})
	}
	return out, nil
}

func (g *githubRepos) at(r repo) string {
	return "repos/" + segment(r.organization) + "/" + segment(r.name)
}

func (g *githubRepos) here(ctx context.Context, r repo) error {
	found, _, err := get[githubRepo](ctx, g.session, g.at(r), nil)
	return sameRepo(found.ID, r, err)
}

// sameRepo says whether what was found is the repository that was listed.
func sameRepo(found int64, r repo, err error) error {
	if isAbsent(err) {
		return fault.Transientf("AnswerIncomplete", "it was listed, and cannot be seen: %w", err) // the next list may lack it
	}
	if err != nil {
		return err
	}
	if found != r.id {
		return fault.Transientf("AnswerIncomplete", "it was listed, and another one has its name now")
	}
	return nil
}

func (g *githubRepos) branches(ctx context.Context, r repo, only string) ([]branch, error) {
	return branchesAt(ctx, g.session, listing[listedBranch]{path: g.at(r) + "/branches", pages: githubPages}, only)
}

func (g *githubRepos) has(ctx context.Context, r repo, branch, path string) (bool, error) {
	_, _, err := get[anything](ctx, g.session, g.at(r)+"/contents/"+segments(path), url.Values{"ref": {branch}})
	return there(err)
}

// there turns a 404 of the forge into a no.
func there(err error) (bool, error) {
	if isAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// anything is an answer of which nothing but its being there is of interest.
type anything struct{}

// UnmarshalJSON takes all that there is.
func (*anything) UnmarshalJSON([]byte) error { return nil }
