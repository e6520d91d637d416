package forge

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const gitlabAPI = "https://gitlab.com/"

var gitlabPages = pages{size: 100, key: "per_page"}

// gitlabAccess is how a generator reaches GitLab.
type gitlabAccess struct {
	api      string
	token    *v1alpha1.SecretRef
	insecure bool
	ca       *v1alpha1.ConfigMapKeyRef
}

// gitlab makes a session with GitLab.
func (f *Forges) gitlab(ctx context.Context, a gitlabAccess, in Scope) (*session, error) {
	if err := f.allowed(a.api); err != nil {
		return nil, err
	}
	api := a.api
	if api == "" {
		api = gitlabAPI
	}
	base, err := parseBase(api)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(base.Path, "/api/v4/") {
		base.Path += "api/v4/"
	}
	s := &session{client: f.client, base: base, forge: "GitLab", accept: "application/json", wire: wire{insecure: a.insecure}}
	if s.wire.ca, err = f.authority(ctx, a.ca, in); err != nil {
		return nil, err
	}
	token, err := f.token(ctx, a.token, in, base)
	if err != nil {
		return nil, err
	}
	if !token.Empty() {
		s.login = login{header: "PRIVATE-TOKEN", value: token, secret: token}
	}
	return s, nil
}

// gitlabPulls is a project of GitLab.
type gitlabPulls struct {
	*session
	project string
	labels  []string
	state   string
}

// gitlabPull is what is read of a merge request.
type gitlabPull struct {
	IID          int64    `json:"iid"`
	Title        string   `json:"title"`
	State        string   `json:"state"`
	SourceBranch string   `json:"source_branch"`
	TargetBranch string   `json:"target_branch"`
	SHA          string   `json:"sha"`
	Labels       []string `json:"labels"`
	Author       struct {
		Username string `json:"username"`
	} `json:"author"`
}

func (g *gitlabPulls) name() string { return g.project + " on " + g.place() }

func (g *gitlabPulls) path() string { return "projects/" + segment(g.project) + "/merge_requests" }

func (g *gitlabPulls) pulls(ctx context.Context) ([]pull, error) {
	if err := required("pullRequest.gitlab.project", g.project); err != nil {
		return nil, err
	}
	query := url.Values{"order_by": {"created_at"}, "sort": {"asc"}}
	if g.state != "" {
		query.Set("state", g.state)
	}
	if len(g.labels) > 0 {
		query.Set("labels", strings.Join(g.labels, ","))
	}
	found, err := list(ctx, g.session, listing[gitlabPull]{
		path: g.path(), query: query, pages: gitlabPages,
		id: func(p gitlabPull) string {
			// One without commits has no commit at its head, and is a merge request all the same.
			if p.IID <= 0 || p.SourceBranch == "" || p.TargetBranch == "" {
				return ""
			}
			return "!" + strconv.FormatInt(p.IID, 10)
		},
	})
	if err != nil {
		return nil, err
	}
	var out []pull
	for _, p := range found {
		out = append(out, pull{
			number: p.IID, title: p.Title, branch: p.SourceBranch, target: p.TargetBranch, sha: p.SHA, author: p.Author.Username,
			labels: p.Labels,
		})
	}
	return out, nil
}

func (g *gitlabPulls) closed(ctx context.Context, number int64) (bool, error) {
	if err := required("pullRequest.gitlab.project", g.project); err != nil {
		return false, err
	}
	found, _, err := get[gitlabPull](ctx, g.session, g.path()+"/"+strconv.FormatInt(number, 10), nil)
	if err != nil {
		return false, err
	}
	return closedBy(found.State, found.IID, number)
}

// gitlabRepos is a group of GitLab.
type gitlabRepos struct {
	*session
	group, topic      string
	subgroups, shared bool
}

type gitlabRepo struct {
	ID        int64  `json:"id"`
	Path      string `json:"path"`
	Namespace struct {
		FullPath string `json:"full_path"`
	} `json:"namespace"`
	DefaultBranch string   `json:"default_branch"`
	SSHURL        string   `json:"ssh_url_to_repo"`
	HTTPURL       string   `json:"http_url_to_repo"`
	Topics        []string `json:"topics"`
	TagList       []string `json:"tag_list"`
	Archived      bool     `json:"archived"`
}

func (g *gitlabRepos) name() string { return g.group + " on " + g.place() }

func (g *gitlabRepos) repos(ctx context.Context) ([]repo, error) {
	if err := required("scmProvider.gitlab.group", g.group); err != nil {
		return nil, err
	}
	query := url.Values{
		"include_subgroups": {strconv.FormatBool(g.subgroups)}, "with_shared": {strconv.FormatBool(g.shared)},
		"order_by": {"created_at"}, "sort": {"asc"},
	}
	if g.topic != "" {
		query.Set("topic", g.topic)
	}
	found, err := list(ctx, g.session, listing[gitlabRepo]{
		path: "groups/" + segment(g.group) + "/projects", query: query, pages: gitlabPages,
		id: func(r gitlabRepo) string {
			if r.ID <= 0 || r.Path == "" || r.Namespace.FullPath == "" {
				return ""
			}
			return r.Namespace.FullPath + "/" + r.Path
		},
	})
	if err != nil {
		return nil, err
	}
	var out []repo
	for _, r := range found {
		labels := r.Topics
		if len(labels) == 0 {
			labels = r.TagList // the older name of the same
		}
		out = append(out, repo{
			id: r.ID, organization: r.Namespace.FullPath, name: r.Path, ssh: r.SSHURL, https: r.HTTPURL, defaulted: r.DefaultBranch,
			labels: labels, archived: r.Archived,
		})
	}
	return out, nil
}

func (g *gitlabRepos) at(r repo) string { return "projects/" + strconv.FormatInt(r.id, 10) }

func (g *gitlabRepos) here(ctx context.Context, r repo) error {
	found, _, err := get[gitlabRepo](ctx, g.session, g.at(r), nil)
	return sameRepo(found.ID, r, err)
}

func (g *gitlabRepos) branches(ctx context.Context, r repo, only string) ([]branch, error) {
	return branchesAt(ctx, g.session, listing[listedBranch]{path: g.at(r) + "/repository/branches", pages: gitlabPages}, only)
}

type gitlabEntry struct {
	Path string `json:"path"`
}

// has looks for a path in the folder that it would be in: there is no question of GitLab's for both files and folders.
func (g *gitlabRepos) has(ctx context.Context, r repo, branch, wanted string) (bool, error) {
	query := url.Values{"ref": {branch}}
	if folder := path.Dir(wanted); folder != "." {
		query.Set("path", folder)
	}
	found, err := list(ctx, g.session, listing[gitlabEntry]{
		path: g.at(r) + "/repository/tree", query: query, pages: gitlabPages,
		id: func(e gitlabEntry) string { return e.Path },
	})
	if isAbsent(err) {
		return false, nil // there is no such folder
	}
	return slices.Contains(found, gitlabEntry{Path: wanted}), err
}
