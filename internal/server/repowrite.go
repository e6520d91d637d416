package server

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/secret"
)

// GivenRepository is a repository, or an entry for many, that somebody sends. What is secret in it is so from the moment
// that it is read.
type GivenRepository struct {
	Repo                       string      `json:"repo,omitempty"`
	URL                        string      `json:"url,omitempty"`
	Type                       string      `json:"type,omitempty"`
	Name                       string      `json:"name,omitempty"`
	Project                    string      `json:"project,omitempty"`
	Username                   string      `json:"username,omitempty"`
	Password                   secret.Text `json:"password,omitzero"`
	BearerToken                secret.Text `json:"bearerToken,omitzero"`
	SSHPrivateKey              secret.Text `json:"sshPrivateKey,omitzero"`
	TLSClientCertData          string      `json:"tlsClientCertData,omitempty"`
	TLSClientCertKey           secret.Text `json:"tlsClientCertKey,omitzero"`
	GitHubAppPrivateKey        secret.Text `json:"githubAppPrivateKey,omitzero"`
	GitHubAppID                Long        `json:"githubAppID,omitempty"`
	GitHubAppInstallationID    Long        `json:"githubAppInstallationID,omitempty"`
	GitHubAppEnterpriseBaseURL string      `json:"githubAppEnterpriseBaseUrl,omitempty"`
	GCPServiceAccountKey       secret.Text `json:"gcpServiceAccountKey,omitzero"`
	UseAzureWorkloadIdentity   bool        `json:"useAzureWorkloadIdentity,omitempty"`
	Insecure                   bool        `json:"insecure,omitempty"`
	InsecureIgnoreHostKey      bool        `json:"insecureIgnoreHostKey,omitempty"`
	EnableLFS                  bool        `json:"enableLfs,omitempty"`
	EnableOCI                  bool        `json:"enableOCI,omitempty"`
	InsecureOCIForceHTTP       bool        `json:"insecureOCIForceHttp,omitempty"`
	ForceHTTPBasicAuth         bool        `json:"forceHttpBasicAuth,omitempty"`
	Proxy                      string      `json:"proxy,omitempty"`
	NoProxy                    string      `json:"noProxy,omitempty"`
	Depth                      Long        `json:"depth,omitempty"`
}

func (g GivenRepository) entry() repository.Repository {
	return repository.Repository{
		URL: strings.TrimSpace(cmp.Or(g.Repo, g.URL)), Type: repository.Type(g.Type), Name: g.Name, Project: g.Project,
		Username: g.Username, Password: g.Password, BearerToken: g.BearerToken, SSHPrivateKey: g.SSHPrivateKey,
		TLSClientCert: g.TLSClientCertData, TLSClientKey: g.TLSClientCertKey,
		GitHubApp: repository.GitHubApp{
			ID: int64(g.GitHubAppID), InstallationID: int64(g.GitHubAppInstallationID), PrivateKey: g.GitHubAppPrivateKey,
			BaseURL: g.GitHubAppEnterpriseBaseURL,
		},
		Insecure: g.Insecure, InsecureIgnoreHostKey: g.InsecureIgnoreHostKey, EnableLFS: g.EnableLFS, EnableOCI: g.EnableOCI,
		InsecureOCIForceHTTP: g.InsecureOCIForceHTTP, ForceBasicAuth: g.ForceHTTPBasicAuth, Proxy: g.Proxy, NoProxy: g.NoProxy,
		Depth: int(g.Depth),
	}
}

// check says what is wrong with an entry.
func (g GivenRepository) check() error {
	address := strings.TrimSpace(cmp.Or(g.Repo, g.URL))
	switch {
	case address == "":
		return badRequest("repo is missing")
	case strings.ContainsAny(address, " \t\r\n"):
		return badRequest("repo has a space in it")
	case strings.HasPrefix(address, "/"), strings.HasPrefix(address, "."), strings.HasPrefix(strings.ToLower(address), "file:"):
		return badRequest("repo is a folder of the server's own machine")
	case strings.HasPrefix(address, "-"):
		return badRequest("repo is no address")
	case masked(address):
		return maskedFields([]string{"repo"})
	case !slices.Contains([]string{"", v1alpha1.RepoTypeGit, string(repository.Helm), string(repository.OCI)}, g.Type):
		return badRequest("type is git, helm or oci")
	case g.Type == string(repository.Helm) && g.Repo != "" && g.Name == "":
		return badRequest("a Helm repository needs a name")
	case !g.GCPServiceAccountKey.Empty():
		return badRequest("gcpServiceAccountKey is not honoured by this version; use a token or a password")
	case g.UseAzureWorkloadIdentity:
		return badRequest("useAzureWorkloadIdentity is not honoured by this version; use a token or a password")
	case g.Depth < 0 || g.GitHubAppID < 0 || g.GitHubAppInstallationID < 0:
		return badRequest("a number is below zero")
	}
	if g.Project != "" {
		return wellNamed("project", g.Project)
	}
	return nil
}

func (r *Request) givenRepository() (GivenRepository, error) {
	var g GivenRepository
	if err := r.Body(&g); err != nil {
		return g, err
	}
	r.hide(g.entry().Hidden()...)
	if u, err := url.Parse(g.Proxy); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			r.hide(password)
		}
	}
	return g, g.check()
}

// findGivenRepository is for an entry that the caller brings.
func (s *Server) findGivenRepository(req *Request) (Target, error) {
	g, err := req.givenRepository()
	if err != nil {
		return Target{}, err
	}
	return Target{Object: repositoryObject(g.entry()), Found: true}, nil
}

// exact is the entry of a URL in a project: no other counts.
func (s *Server) exact(r repository.Repository, many bool) (repository.Repository, bool) {
	one, all := s.Places.Repositories().Entries()
	if many {
		one = all
	}
	i := slices.IndexFunc(one, func(e repository.Repository) bool { return repository.Same(e.URL, r.URL) && e.Project == r.Project })
	if i < 0 {
		return repository.Repository{}, false
	}
	return one[i], true
}

// putEntry stores an entry that was looked at.
func (s *Server) putEntry(req *Request, r repository.Repository, many bool) error {
	if err := s.Writing.Repositories.Put(req, r, many); err != nil {
		return err
	}
	s.settle(req, TopicRepositories, func() bool {
		seen, ok := s.exact(r, many)
		return ok && seen.Password == r.Password && seen.Username == r.Username && seen.Name == r.Name && seen.Proxy == r.Proxy
	})
	return nil
}

// createRepository writes an entry down, after signing in with it.
func (s *Server) createRepository(req *Request) (any, error) { return s.create(req, false) }

// createRepoCreds writes an entry for many down.
func (s *Server) createRepoCreds(req *Request) (any, error) { return s.create(req, true) }

func (s *Server) create(req *Request, many bool) (any, error) {
	if s.Writing.Repositories == nil || s.Places == nil {
		return nil, absent("writing repositories")
	}
	g, err := req.givenRepository()
	if err != nil {
		return nil, err
	}
	r := g.entry()
	if now, there := s.exact(r, many); there {
		switch {
		case !req.May("repositories", "update", repositoryObject(now)):
			return nil, errDenied
		case !req.Flag("upsert") && repository.Alike(now, r):
			return s.shownEntry(now, many, "Unknown", ""), nil
		case !req.Flag("upsert"):
			return nil, badRequest("the repository is there already with another login or other settings; upsert=true changes it")
		}
	}
	state := "Unknown"
	if !many {
		if err := s.try(req, r); err != nil {
			return nil, err
		}
		state = "Successful"
	}
	if err := s.putEntry(req, r, many); err != nil {
		return nil, err
	}
	return s.shownEntry(r, many, state, ""), nil
}

// weaker says that a login would go where it did not go before: through another proxy, or to somebody who need not show who
// they are. Nobody learns a login that way who does not have it.
func weaker(now, next repository.Repository) bool {
	return next.Proxy != "" && next.Proxy != now.Proxy || next.Insecure && !now.Insecure ||
		next.InsecureIgnoreHostKey && !now.InsecureIgnoreHostKey || next.InsecureOCIForceHTTP && !now.InsecureOCIForceHTTP
}

// try signs in to a repository before it is written down.
func (s *Server) try(req *Request, r repository.Repository) error {
	full := r
	if !r.SignsIn() {
		// An entry for many may know how.
		if known := s.Places.Repositories().For(r.URL, r.Project); known.SignsIn() {
			if weaker(repository.Repository{Proxy: known.Proxy}, r) && !req.May("repositories", "update", r.URL) {
				return badRequest("an entry that signs in with the login of another one cannot choose a proxy, or trust anybody; " +
					"send a login of its own")
			}
			full = r.WithLogin(known)
			req.hide(full.Hidden()...)
		}
	}
	if err := s.Writing.Repositories.Try(req, full); err != nil {
		return badRequest(req.hush("the repository cannot be read: " + err.Error()))
	}
	return nil
}

func (s *Server) shownEntry(r repository.Repository, many bool, state, message string) any {
	if many {
		return RepoCreds{
			URL: r.URL, Type: cmp.Or(string(r.Type), v1alpha1.RepoTypeGit), EnableOCI: r.EnableOCI, Proxy: r.Proxy, NoProxy: r.NoProxy,
			ForceHTTPBasicAuth: r.ForceBasicAuth,
		}
	}
	out := repositoryOf(r)
	out.ConnectionState = &ConnectionState{Status: state, Message: message}
	return out
}

// findPutRepository finds the entry that a body is about; it is the one of the path.
func (s *Server) findPutRepository(req *Request) (Target, error) {
	g, err := req.givenRepository()
	if err != nil {
		return Target{}, err
	}
	if !sameRepository(g.Repo, req.Param("repo")) {
		return Target{}, badRequest("repo is another one than that of the path")
	}
	return s.findEntry(req, repository.Repository{URL: req.Param("repo"), Project: cmp.Or(req.Text("appProject"), g.Project)}, false)
}

// findDropRepository finds an entry that is to go.
func (s *Server) findDropRepository(req *Request) (Target, error) {
	return s.findEntry(req, repository.Repository{URL: req.Param("repo"), Project: req.Text("appProject")}, false)
}

func (s *Server) findEntry(req *Request, r repository.Repository, many bool) (Target, error) {
	if s.Places == nil {
		return Target{}, absent("the list of repositories")
	}
	now, there := s.exact(r, many)
	if !there {
		return Target{Object: repositoryObject(r), Named: true, Missing: "repo not found"}, nil
	}
	req.found = now
	return Target{Object: repositoryObject(now), Found: true}, nil
}

// findPutCreds and findDropCreds are the same for entries for many.
func (s *Server) findPutCreds(req *Request) (Target, error) {
	g, err := req.givenRepository()
	if err != nil {
		return Target{}, err
	}
	if !sameRepository(cmp.Or(g.URL, g.Repo), req.Param("url")) {
		return Target{}, badRequest("url is another one than that of the path")
	}
	return s.findDropCreds(req)
}

func (s *Server) findDropCreds(req *Request) (Target, error) {
	return s.findEntry(req, repository.Repository{URL: req.Param("url")}, true)
}

func (s *Server) updateRepository(req *Request) (any, error) { return s.update(req, false) }
func (s *Server) updateRepoCreds(req *Request) (any, error)  { return s.update(req, true) }

// update makes an entry say what the body says. Logins are never told, so that who sends none back means the one that there
// is.
func (s *Server) update(req *Request, many bool) (any, error) {
	if s.Writing.Repositories == nil {
		return nil, absent("writing repositories")
	}
	g, err := req.givenRepository()
	if err != nil {
		return nil, err
	}
	now, r := req.repository(), g.entry()
	if r.Project != now.Project && r.Project != "" {
		return nil, badRequest("the project of an entry does not change; create another one and delete this")
	}
	r.Project, r.URL = now.Project, now.URL
	if !r.SignsIn() && r.Username == "" {
		if now.SignsIn() && weaker(now, r) {
			return nil, badRequest("who is to be trusted, or the proxy, changes: send the login along, which would go there")
		}
		r = r.WithLogin(now)
		req.hide(r.Hidden()...)
	}
	state := "Unknown"
	if !many {
		if err := s.try(req, r); err != nil {
			return nil, err
		}
		state = "Successful"
	}
	if err := s.putEntry(req, r, many); err != nil {
		return nil, err
	}
	return s.shownEntry(r, many, state, ""), nil
}

func (s *Server) deleteRepository(req *Request) (any, error) { return s.drop(req, false) }
func (s *Server) deleteRepoCreds(req *Request) (any, error)  { return s.drop(req, true) }

func (s *Server) drop(req *Request, many bool) (any, error) {
	if s.Writing.Repositories == nil {
		return nil, absent("deleting repositories")
	}
	r := req.repository()
	if _, err := s.Writing.Repositories.Drop(req, r, many); err != nil {
		return nil, err
	}
	s.settle(req, TopicRepositories, func() bool { _, there := s.exact(r, many); return !there })
	return nothing{}, nil
}

// validateRepository signs in to a repository without writing anything down. The body is its address as a text, as the
// gateway of gRPC has it, or an entry.
func (s *Server) validateRepository(req *Request) (any, error) {
	if s.Writing.Repositories == nil || s.Places == nil {
		return nil, absent("trying repositories")
	}
	r, err := req.tried()
	if err != nil {
		return nil, err
	}
	return nothing{}, s.try(req, r)
}

// tried is the entry that is to be tried.
func (r *Request) tried() (repository.Repository, error) {
	for _, name := range []string{"password", "sshPrivateKey", "bearerToken", "tlsClientCertKey", "githubAppPrivateKey"} {
		if r.Text(name) != "" {
			return repository.Repository{}, badRequest(name + " is not taken from the address, which others write down; " +
				"send it in the body")
		}
	}
	var raw json.RawMessage
	if err := r.Body(&raw); err != nil {
		return repository.Repository{}, err
	}
	var address string
	g := GivenRepository{Type: r.Text("type"), Name: cmp.Or(r.Text("name"), "x"), Project: r.Text("project")}
	if len(raw) > 0 && json.Unmarshal(raw, &address) != nil {
		var err error
		if g, err = r.givenOrPath(); err != nil {
			return repository.Repository{}, err
		}
	}
	if g.Repo == "" {
		g.Repo = r.Param("repo")
	}
	if address != "" && !sameRepository(address, r.Param("repo")) || !sameRepository(g.Repo, r.Param("repo")) {
		return repository.Repository{}, badRequest("repo is another one than that of the path")
	}
	return g.entry(), g.check()
}

// givenOrPath is an entry that need not repeat the address of the path.
func (r *Request) givenOrPath() (GivenRepository, error) {
	var g GivenRepository
	if err := r.Body(&g); err != nil {
		return g, err
	}
	r.hide(g.entry().Hidden()...)
	g.Repo = cmp.Or(g.Repo, g.URL, r.Param("repo"))
	g.Name = cmp.Or(g.Name, "x")
	return g, nil
}

// findTried is what the rules are asked about for one that is to be tried: whoever may write it down may try it.
func (s *Server) findTried(req *Request) (Target, error) {
	r, err := req.tried()
	if err != nil {
		return Target{}, err
	}
	return Target{Object: repositoryObject(r), Found: true}, nil
}
