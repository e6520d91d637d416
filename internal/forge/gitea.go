package forge

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// giteaPages are as large as a Gitea gives them, unless it is configured otherwise.
var giteaPages = pages{size: 50, key: "limit"}

// giteaAccess is how a generator reaches a Gitea, or a Forgejo.
type giteaAccess struct {
	api      string
	token    *v1alpha1.SecretRef
	insecure bool
}

// gitea makes a session with a Gitea.
func (f *Forges) gitea(ctx context.Context, a giteaAccess, in Scope) (*session, error) {
	if err := required("gitea.api", a.api); err != nil {
		return nil, err
	}
	if err := f.allowed(a.api); err != nil {
		return nil, err
	}
	base, err := parseBase(a.api)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(base.Path, "/api/v1/") {
		base.Path += "api/v1/"
	}
	s := &session{client: f.client, base: base, forge: "Gitea", accept: "application/json", wire: wire{insecure: a.insecure}}
	token, err := f.token(ctx, a.token, in, base)
	if err != nil {
		return nil, err
	}
	if !token.Empty() {
		s.login = login{header: "Authorization", value: repository.NewSecret("token " + token.Reveal()), secret: token}
	}
	return s, nil
}

// giteaRepos is an organisation of a Gitea.
type giteaRepos struct {
	*session
	owner string
}

type giteaRepo struct {
	ID            int64  `json:"id"`
	Name          string `json:"name"`
	DefaultBranch string `json:"default_branch"`
	SSHURL        string `json:"ssh_url"`
	HTMLURL       string `json:"html_url"`
	Archived      bool   `json:"archived"`
	Empty         bool   `json:"empty"`
}

func (g *giteaRepos) name() string { return g.owner + " on " + g.place() }

func (g *giteaRepos) repos(ctx context.Context) ([]repo, error) {
	if err := required("scmProvider.gitea.owner", g.owner); err != nil {
		return nil, err
	}
	found, err := list(ctx, g.session, listing[giteaRepo]{
		path: "orgs/" + segment(g.owner) + "/repos", pages: giteaPages, hides: true,
		id: func(r giteaRepo) string {
			if r.ID <= 0 {
				return ""
			}
			return r.Name
		},
	})
	if err != nil {
		return nil, err
	}
	out := make([]repo, len(found))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range found {
		out[i] = repo{
			id: r.ID, organization: g.owner, name: r.Name, ssh: r.SSHURL, https: r.HTMLURL, defaulted: r.DefaultBranch,
			archived: r.Archived, empty: r.Empty,
		}
		group.Go(func() error {
			// They are the labels that its issues can have: there is nothing else of that name.
			labels, err := g.labels(ctx, out[i])
			out[i].labels = labels
			return err
		})
	}
	return out, group.Wait()
}

func (g *giteaRepos) labels(ctx context.Context, r repo) ([]string, error) {
	type label struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	found, err := list(ctx, g.session, listing[label]{
		path: g.at(r) + "/labels", pages: giteaPages,
		id: func(l label) string {
			if l.ID <= 0 {
				return ""
			}
			return "label " + strconv.FormatInt(l.ID, 10)
		},
	})
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(found))
	for _, l := range found {
		out = append(out, l.Name)
	}
	return out, nil
}

func (g *giteaRepos) at(r repo) string {
	return "repos/" + segment(r.organization) + "/" + segment(r.name)
}

func (g *giteaRepos) here(ctx context.Context, r repo) error {
	found, _, err := get[giteaRepo](ctx, g.session, g.at(r), nil)
	return sameRepo(found.ID, r, err)
}

func (g *giteaRepos) branches(ctx context.Context, r repo, only string) ([]branch, error) {
	// Those that its books have and its repository has not are taken off the total of their own page alone.
	return branchesAt(ctx, g.session, listing[listedBranch]{path: g.at(r) + "/branches", pages: giteaPages, hides: true}, only)
}

func (g *giteaRepos) has(ctx context.Context, r repo, branch, path string) (bool, error) {
	_, _, err := get[anything](ctx, g.session, g.at(r)+"/contents/"+segments(path), url.Values{"ref": {branch}})
	return there(err)
}
