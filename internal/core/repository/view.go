package repository

import (
	"cmp"
	"net/url"
	"strings"
	"time"
)

// View is an entry as it is shown: nothing of how one signs in there. Its JSON is that of Argo CD's API.
type View struct {
	Repo                  string      `json:"repo,omitempty"`
	Type                  string      `json:"type,omitempty"`
	Name                  string      `json:"name,omitempty"`
	Project               string      `json:"project,omitempty"`
	Insecure              bool        `json:"insecure,omitempty"`
	InsecureIgnoreHostKey bool        `json:"insecureIgnoreHostKey,omitempty"`
	EnableLFS             bool        `json:"enableLfs,omitempty"`
	EnableOCI             bool        `json:"enableOCI,omitempty"`
	InsecureOCIForceHTTP  bool        `json:"insecureOCIForceHttp,omitempty"`
	ForceHTTPBasicAuth    bool        `json:"forceHttpBasicAuth,omitempty"`
	InheritedCreds        bool        `json:"inheritedCreds,omitempty"`
	Proxy                 string      `json:"proxy,omitempty"`
	NoProxy               string      `json:"noProxy,omitempty"`
	Depth                 int         `json:"depth,omitempty"`
	ConnectionState       *Connection `json:"connectionState,omitempty"`
	// OwnCreds says whether the entry has a login of its own; nil is that nobody told.
	OwnCreds *bool `json:"-"`
}

// Connection is whether a repository can be reached.
type Connection struct {
	Status      string     `json:"status"`
	Message     string     `json:"message"`
	AttemptedAt *time.Time `json:"attemptedAt"`
}

// Views are the entries for one repository each, as they are shown, in the order of their URLs.
func (s *Set) Views() []View {
	one, _ := s.Entries()
	out := make([]View, len(one))
	for i, r := range one {
		own, full := r.signsIn(), s.For(r.URL, r.Project)
		out[i] = View{
			Repo: withoutLogin(r.URL), Type: cmp.Or(string(r.Type), string(Git)), Name: r.Name, Project: r.Project, Insecure: r.Insecure,
			InsecureIgnoreHostKey: r.InsecureIgnoreHostKey, EnableLFS: r.EnableLFS, EnableOCI: r.EnableOCI,
			InsecureOCIForceHTTP: r.InsecureOCIForceHTTP, ForceHTTPBasicAuth: r.ForceBasicAuth, Proxy: withoutLogin(r.Proxy),
			NoProxy: r.NoProxy, Depth: r.Depth, InheritedCreds: !own && full.signsIn(), OwnCreds: &own,
		}
	}
	return out
}

// withoutLogin is a URL without the login that may stand in it.
func withoutLogin(address string) string {
	if !strings.Contains(address, "://") {
		return address // git@host:path names a user, which is no secret
	}
	u, err := url.Parse(address)
	if err != nil {
		return NewSecret(address).String()
	}
	if u.Scheme != "ssh" {
		u.User = nil
	} else if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String()
}
