package server

import (
	"cmp"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Repository is a repository, or an entry for many, as it is told: nothing of how one signs in there.
type Repository struct {
	Repo                  string           `json:"repo,omitempty"`
	Type                  string           `json:"type,omitempty"`
	Name                  string           `json:"name,omitempty"`
	Project               string           `json:"project,omitempty"`
	Insecure              bool             `json:"insecure,omitempty"`
	InsecureIgnoreHostKey bool             `json:"insecureIgnoreHostKey,omitempty"`
	EnableLFS             bool             `json:"enableLfs,omitempty"`
	EnableOCI             bool             `json:"enableOCI,omitempty"`
	InsecureOCIForceHTTP  bool             `json:"insecureOCIForceHttp,omitempty"`
	ForceHTTPBasicAuth    bool             `json:"forceHttpBasicAuth,omitempty"`
	InheritedCreds        bool             `json:"inheritedCreds,omitempty"`
	Proxy                 string           `json:"proxy,omitempty"`
	NoProxy               string           `json:"noProxy,omitempty"`
	Depth                 int              `json:"depth,omitempty"`
	ConnectionState       *ConnectionState `json:"connectionState,omitempty"`
}

// RepoCreds is an entry for many repositories.
type RepoCreds struct {
	URL                string `json:"url,omitempty"`
	Type               string `json:"type,omitempty"`
	EnableOCI          bool   `json:"enableOCI,omitempty"`
	Proxy              string `json:"proxy,omitempty"`
	NoProxy            string `json:"noProxy,omitempty"`
	ForceHTTPBasicAuth bool   `json:"forceHttpBasicAuth,omitempty"`
}

func repositoryOf(r repository.Repository) Repository {
	return Repository{
		Repo: r.URL, Type: cmp.Or(string(r.Type), v1alpha1.RepoTypeGit), Name: r.Name, Project: r.Project, Insecure: r.Insecure,
		InsecureIgnoreHostKey: r.InsecureIgnoreHostKey, EnableLFS: r.EnableLFS, EnableOCI: r.EnableOCI,
		InsecureOCIForceHTTP: r.InsecureOCIForceHTTP, ForceHTTPBasicAuth: r.ForceBasicAuth, Proxy: r.Proxy, NoProxy: r.NoProxy,
		Depth: r.Depth,
		// Whether it can be reached is found out by those who look at it.
		ConnectionState: &ConnectionState{Status: "Unknown", Message: "it is asked when an application looks at it"},
	}
}

// repositoryObject is what rules call a repository.
func repositoryObject(r repository.Repository) string {
	if r.Project != "" {
		return r.Project + "/" + r.URL
	}
	return r.URL
}

// registered is the entry of a URL: that of the project if there is one, or else the one for all.
func (s *Server) registered(address, project string) (repository.Repository, bool) {
	one, _ := s.Places.Repositories().Entries()
	var found repository.Repository
	ok := false
	for _, r := range one {
		if !sameRepository(r.URL, address) || r.Project != "" && project != "" && r.Project != project {
			continue
		}
		if !ok || r.Project == project {
			found, ok = r, true
		}
	}
	return found, ok
}

func sameRepository(a, b string) bool {
	plain := func(s string) string {
		return strings.ToLower(strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(s), "/"), ".git"))
	}
	return plain(a) == plain(b)
}

// findRepository finds a repository that is registered.
func (s *Server) findRepository(req *Request) (Target, error) {
	if s.Places == nil {
		return Target{}, absent("the list of repositories")
	}
	address, project := req.Param("repo"), req.Text("appProject")
	r, ok := s.registered(address, project)
	if !ok {
		return Target{Object: address, Named: true, Missing: "repo not found"}, nil
	}
	req.found = r
	return Target{Object: repositoryObject(r), Found: true}, nil
}

// findContent finds a repository that may be looked into for the caller: one that is registered, or that an application
// uses which the caller may see. We do not fetch whatever URL somebody sends.
func (s *Server) findContent(req *Request) (Target, error) {
	t, err := s.findRepository(req)
	if err != nil || t.Found {
		return t, err
	}
	address, may := req.Param("repo"), req.Allowing("applications", "get")
	for _, app := range s.Hub.Known() {
		uses := slices.ContainsFunc(app.Sources(),
			func(src v1alpha1.ApplicationSource) bool { return sameRepository(src.RepoURL, address) })
		if uses && may(s.objectOf(app)) {
			req.found = repository.Repository{URL: address, Project: app.ProjectName()}
			return Target{Object: address, Found: true}, nil
		}
	}
	t.Named = false
	return t, nil
}

func (r *Request) repository() repository.Repository {
	repo, _ := r.found.(repository.Repository)
	return repo
}

func (s *Server) listRepositories(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of repositories")
	}
	out := List[Repository]{Items: []Repository{}}
	one, _ := s.Places.Repositories().Entries()
	for _, r := range one {
		if want := req.Text("repo"); want != "" && !sameRepository(want, r.URL) {
			continue
		}
		if req.May("repositories", "get", repositoryObject(r)) {
			shown := repositoryOf(r)
			shown.InheritedCreds = s.inherits(r)
			out.Items = append(out.Items, shown)
		}
	}
	return out, nil
}

// inherits says that a repository signs in by an entry for many.
func (s *Server) inherits(r repository.Repository) bool {
	full := s.Places.Repositories().For(r.URL, r.Project)
	return full.Password != r.Password || full.SSHPrivateKey != r.SSHPrivateKey || full.BearerToken != r.BearerToken
}

func (s *Server) getRepository(req *Request) (any, error) { return repositoryOf(req.repository()), nil }

func (s *Server) listRepoCreds(req *Request) (any, error) {
	if s.Places == nil {
		return nil, absent("the list of credentials")
	}
	out := List[RepoCreds]{Items: []RepoCreds{}}
	_, many := s.Places.Repositories().Entries()
	for _, r := range many {
		if req.May("repositories", "get", r.URL) {
			out.Items = append(out.Items, RepoCreds{
				URL: r.URL, Type: cmp.Or(string(r.Type), v1alpha1.RepoTypeGit), EnableOCI: r.EnableOCI, Proxy: r.Proxy, NoProxy: r.NoProxy,
				ForceHTTPBasicAuth: r.ForceBasicAuth,
			})
		}
	}
	return out, nil
}
