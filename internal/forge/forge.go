// Package forge asks GitHub, GitLab and Gitea for pull requests and repositories, and services of users for parameters:
// what the generators pullRequest, scmProvider and plugin of an ApplicationSet want to know. It must not decide what
// becomes of an answer, and it never answers in part: an answer is complete, or it is an error. A page that is missing,
// short, repeated or changed while it was read would otherwise look like pull requests that were closed.
//
// It speaks to each forge by plain HTTP and a few small types of its own. The libraries that the forges have are large
// (that of GitHub alone is ten times this package in API calls that nobody here makes), each of them brings its own way
// of following pages, redirects and limits, and what has to be the same for all of them is exactly that.
package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Secret is a Secret of the cluster that we run in.
type Secret struct {
	Labels map[string]string
	Data   map[string]repository.Secret
}

// Store has the secrets and config maps of the cluster that we run in; found is false where there is none of a name. An
// error keeps its class.
type Store interface {
	Secret(ctx context.Context, namespace, name string) (secret Secret, found bool, err error)
	ConfigMap(ctx context.Context, namespace, name string) (data map[string]string, found bool, err error)
}

// Options are what Forges are made of. Store and Namespace are required.
type Options struct {
	Store Store
	// Namespace is that of the installation: the config maps of plugins and the secrets of GitHub Apps are in it.
	Namespace string
	// SCMDisabled refuses pullRequest and scmProvider (applicationsetcontroller.enable.scm.providers is false).
	SCMDisabled bool
	// AllowedSCM are the only values that a generator may have for api; none allows all. The public addresses of GitHub
	// and GitLab, which are meant where api is empty, are always allowed.
	AllowedSCM []string
	// Tenants says that sets outside of Namespace are of people who are not trusted with it. Without AllowedSCM they ask
	// nobody: they could have a token sent anywhere.
	Tenants bool
	// StrictTokenRefs lets a generator name only secrets that are labelled as credentials of a forge.
	StrictTokenRefs bool
	// Trust tells whom to believe to be who they say, beside the authorities of the machine; nil is nobody else.
	Trust func() repository.Trust
	// RootCA are more authorities for all forges, as PEM (applicationsetcontroller.scm.root.ca.path); nil is none. It is
	// asked each time: what is in a file may be replaced.
	RootCA func() (string, error)
	// Proxy is the way out; nil is none.
	Proxy func(*url.URL) (*url.URL, error)
	// Timeout bounds one request with its answer, 30 seconds by default.
	Timeout time.Duration
	// Patience bounds all the requests of one answer, 10 minutes by default.
	Patience time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Transport replaces the way to every server, with the checks that belong to it. It is for tests.
	Transport http.RoundTripper
}

// Forges asks forges and services. It is safe for use by many goroutines.
type Forges struct {
	options Options
	client  *client
	apps    apps
}

// Scope is on whose behalf a question is asked.
type Scope struct {
	// Namespace and SetName are those of the ApplicationSet.
	Namespace, SetName string
	// Project is that of its applications; empty where the template leaves it open.
	Project string
}

// New makes Forges.
func New(o Options) *Forges {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Forges{options: o, client: newClient(o)}
	f.apps = apps{client: f.client, kept: map[[32]byte]appToken{}}
	return f
}

// Close lets the connections go that nobody uses.
func (f *Forges) Close() { f.client.close() }

// PullRequests are the parameters of the pull requests that a generator is about.
func (f *Forges) PullRequests(ctx context.Context, gen v1alpha1.PullRequestGenerator, in Scope) (appset.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Patience)
	defer cancel()
	filters, err := pullFilters(gen.Filters)
	if err != nil {
		return appset.Answer{}, err
	}
	from, err := f.pulls(ctx, gen, in)
	if err != nil {
		return appset.Answer{}, err
	}
	found, err := from.pulls(ctx)
	if err != nil {
		if gen.ContinueOnRepoNotFoundError && isAbsent(err) {
			return appset.Answer{Sets: []map[string]any{}}, nil
		}
		return appset.Answer{}, fmt.Errorf("listing the pull requests of %s: %w", from.name(), err)
	}
	sets := make([]map[string]any, 0, len(found))
	for _, p := range found {
		if filters.match(p) {
			sets = append(sets, p.parameters())
		}
	}
	return appset.Answer{Sets: sets}, nil
}

// Closed is the word of the forge that one pull request was closed or merged. A pull request that the forge does not know
// is an error and no such word: a login that lost its rights sees none either.
func (f *Forges) Closed(ctx context.Context, gen v1alpha1.PullRequestGenerator, in Scope, number int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Patience)
	defer cancel()
	from, err := f.pulls(ctx, gen, in)
	if err != nil {
		return false, err
	}
	closed, err := from.closed(ctx, number)
	if err != nil {
		return false, fmt.Errorf("reading pull request %d of %s: %w", number, from.name(), err)
	}
	return closed, nil
}

// Repositories are the parameters of the repositories, or their branches, that a generator is about.
func (f *Forges) Repositories(ctx context.Context, gen v1alpha1.SCMProviderGenerator, in Scope) (appset.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Patience)
	defer cancel()
	filters, err := repoFilters(gen.Filters)
	if err != nil {
		return appset.Answer{}, err
	}
	from, wanted, err := f.repos(ctx, gen, in)
	if err != nil {
		return appset.Answer{}, err
	}
	wanted.filters = filters
	sets, err := wanted.sets(ctx, from)
	if err != nil {
		return appset.Answer{}, fmt.Errorf("listing the repositories of %s: %w", from.name(), err)
	}
	return appset.Answer{Sets: sets}, nil
}

// pulls finds out which forge a generator is about.
func (f *Forges) pulls(ctx context.Context, gen v1alpha1.PullRequestGenerator, in Scope) (pulls, error) {
	if err := f.enabled("pullRequest", in); err != nil {
		return nil, err
	}
	switch {
	case gen.Github != nil:
		g := gen.Github
		at, err := f.github(ctx, githubAccess{api: g.API, token: g.TokenRef, app: g.AppSecretName}, in)
		// The oldest first: what is new then comes last, and moves nothing.
		order := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
		return &hubPulls{session: at, owner: g.Owner, repo: g.Repo, labels: g.Labels, order: order, pages: githubPages}, err
	case gen.Gitlab != nil:
		g := gen.Gitlab
		at, err := f.gitlab(ctx, gitlabAccess{api: g.API, token: g.TokenRef, insecure: g.Insecure, ca: g.CARef}, in)
		return &gitlabPulls{session: at, project: g.Project, labels: g.Labels, state: g.PullRequestState}, err
	case gen.Gitea != nil:
		g := gen.Gitea
		at, err := f.gitea(ctx, giteaAccess{api: g.API, token: g.TokenRef, insecure: g.Insecure}, in)
		order := url.Values{"state": {"open"}, "sort": {"oldest"}}
		return &hubPulls{session: at, owner: g.Owner, repo: g.Repo, labels: g.Labels, order: order, pages: giteaPages}, err
	case gen.BitbucketServer != nil:
		return nil, notSpoken("pullRequest", "bitbucketServer")
	case gen.Bitbucket != nil:
		return nil, notSpoken("pullRequest", "bitbucket")
	case gen.AzureDevOps != nil:
		return nil, notSpoken("pullRequest", "azuredevops")
	}
	return nil, nobody("pullRequest")
}

// repos finds out which forge a generator is about, and what of each repository is wanted.
func (f *Forges) repos(ctx context.Context, gen v1alpha1.SCMProviderGenerator, in Scope) (repos, *walk, error) {
	if err := f.enabled("scmProvider", in); err != nil {
		return nil, nil, err
	}
	ssh, err := overSSH(gen.CloneProtocol)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case gen.Github != nil:
		g := gen.Github
		at, err := f.github(ctx, githubAccess{api: g.API, token: g.TokenRef, app: g.AppSecretName}, in)
		return &githubRepos{session: at, organization: g.Organization},
			&walk{ssh: ssh, allBranches: g.AllBranches, skipArchived: g.ExcludeArchivedRepos}, err
	case gen.Gitlab != nil:
		g := gen.Gitlab
		at, err := f.gitlab(ctx, gitlabAccess{api: g.API, token: g.TokenRef, insecure: g.Insecure, ca: g.CARef}, in)
		archived := g.IncludeArchivedRepos != nil && *g.IncludeArchivedRepos
		shared := g.IncludeSharedProjects == nil || *g.IncludeSharedProjects
		return &gitlabRepos{session: at, group: g.Group, topic: g.Topic, subgroups: g.IncludeSubgroups, shared: shared},
			&walk{ssh: ssh, allBranches: g.AllBranches, skipArchived: !archived}, err
	case gen.Gitea != nil:
		g := gen.Gitea
		at, err := f.gitea(ctx, giteaAccess{api: g.API, token: g.TokenRef, insecure: g.Insecure}, in)
		return &giteaRepos{session: at, owner: g.Owner},
			&walk{ssh: ssh, allBranches: g.AllBranches, skipArchived: g.ExcludeArchivedRepos}, err
	case gen.Bitbucket != nil:
		return nil, nil, notSpoken("scmProvider", "bitbucket")
	case gen.BitbucketServer != nil:
		return nil, nil, notSpoken("scmProvider", "bitbucketServer")
	case gen.AzureDevOps != nil:
		return nil, nil, notSpoken("scmProvider", "azureDevOps")
	case gen.AWSCodeCommit != nil:
		return nil, nil, notSpoken("scmProvider", "awsCodeCommit")
	}
	return nil, nil, nobody("scmProvider")
}

func (f *Forges) enabled(generator string, in Scope) error {
	if f.options.Tenants && in.Namespace != f.options.Namespace && len(f.options.AllowedSCM) == 0 && !f.options.SCMDisabled {
		return fault.Terminalf("SCMProviderNotAllowed", "the generator %s asks a forge, which a set outside of namespace %q may do only "+
			"where %s in argocd-cmd-params-cm names the forges that may be asked; set it", generator, f.options.Namespace,
			v1alpha1.KeyParamAppSetAllowedSCMProviders)
	}
	if !f.options.SCMDisabled {
		return nil
	}
	return fault.Terminalf("SCMProvidersDisabled", "the generator %s asks a forge, and %s is false in argocd-cmd-params-cm; "+
		"set it to true, with the forges that may be asked in %s, or use another generator", generator,
		v1alpha1.KeyParamAppSetEnableSCMProviders, v1alpha1.KeyParamAppSetAllowedSCMProviders)
}

func notSpoken(generator, provider string) error {
	return fault.Terminalf("ProviderNotSupported", "%s: %s is not spoken yet (github, gitlab and gitea are); a plugin generator "+
		"whose service asks it gives the same parameters", generator, provider)
}

func nobody(generator string) error {
	return fault.Terminalf("ProviderMissing", "%s names no forge; set github, gitlab or gitea", generator)
}

// allowed says whether a generator may choose an address. One that differs in how it is written is the same.
func (f *Forges) allowed(api string) error {
	if api == "" || len(f.options.AllowedSCM) == 0 {
		return nil
	}
	asked, err := parseBase(api)
	if err != nil {
		return err
	}
	for _, one := range f.options.AllowedSCM {
		known, err := parseBase(strings.TrimSpace(one))
		if err == nil && repository.Origin(known) == repository.Origin(asked) && known.Path == asked.Path {
			return nil
		}
	}
	return fault.Terminalf("SCMProviderNotAllowed", "api: %s is not among the forges that may be asked; add it to %s in "+
		"argocd-cmd-params-cm", shown(asked), v1alpha1.KeyParamAppSetAllowedSCMProviders)
}
