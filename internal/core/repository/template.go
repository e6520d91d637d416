package repository

import "cmp"

// Template is an entry for many repositories as it is shown: nothing of how one signs in there. Its JSON is that of Argo
// CD's API.
type Template struct {
	URL                string `json:"url,omitempty"`
	Type               string `json:"type,omitempty"`
	Project            string `json:"project,omitempty"`
	EnableOCI          bool   `json:"enableOCI,omitempty"`
	Proxy              string `json:"proxy,omitempty"`
	NoProxy            string `json:"noProxy,omitempty"`
	ForceHTTPBasicAuth bool   `json:"forceHttpBasicAuth,omitempty"`
	// Login says how one signs in, in words; empty is that nobody told.
	Login string `json:"-"`
}

// Templates are the entries for many repositories, as they are shown, in the order of their URLs.
func (s *Set) Templates() []Template {
	_, many := s.Entries()
	out := make([]Template, len(many))
	for i, r := range many {
		out[i] = Template{
			URL: withoutLogin(r.URL), Type: cmp.Or(string(r.Type), string(Git)), Project: r.Project, EnableOCI: r.EnableOCI,
			Proxy: withoutLogin(r.Proxy), NoProxy: r.NoProxy, ForceHTTPBasicAuth: r.ForceBasicAuth, Login: r.login(),
		}
	}
	return out
}

// login names the way in which one signs in.
func (r Repository) login() string {
	switch {
	case !r.SSHPrivateKey.Empty():
		return "SSH key"
	case !r.GitHubApp.PrivateKey.Empty():
		return "GitHub App"
	case !r.BearerToken.Empty():
		return "token"
	case r.Username != "" || !r.Password.Empty():
		return "password"
	case r.TLSClientCert != "":
		return "certificate"
	}
	return "none"
}

// Alike says that two entries say the same; what this version does not honour is not compared.
func Alike(a, b Repository) bool {
	a.NotHonoured, b.NotHonoured = nil, nil
	a.Type, b.Type = cmp.Or(a.Type, Git), cmp.Or(b.Type, Git)
	x, y := Write(nil, a, false), Write(nil, b, false)
	if len(x) != len(y) {
		return false
	}
	for key, value := range x {
		if string(y[key]) != string(value) {
			return false
		}
	}
	return true
}

// Wish says how an entry is to be put down.
type Wish struct {
	// Many is that it is for many repositories.
	Many bool
	// Upsert changes one that is there.
	Upsert bool
}
