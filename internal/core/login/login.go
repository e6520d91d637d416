// Package login is the file in which the command line keeps where it has signed in: the contexts, servers and users of
// Argo CD's own. It reads, changes and writes such a text, and must not touch a disk or a network.
package login

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/secret"
)

// Book is what such a file says. What it does not know is lost when it is written again, as it is with Argo CD's own.
type Book struct {
	Current  string    `json:"current-context"`
	Contexts []Context `json:"contexts"`
	Servers  []Server  `json:"servers"`
	Users    []User    `json:"users"`
	// Prompts is whether commands ask before they delete something; nil is that nobody said, and they do.
	Prompts *bool `json:"prompts-enabled,omitempty"`
}

// Context is a server and the user that one is there.
type Context struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	User   string `json:"user"`
}

// Server is an API server and how it is reached.
type Server struct {
	Server    string `json:"server"`
	Insecure  bool   `json:"insecure,omitempty"`
	PlainText bool   `json:"plain-text,omitempty"`
	// RootPath is below which the API is; the other names are of transports that we do not have, kept for Argo CD's sake.
	RootPath    string `json:"grpc-web-root-path"`
	GRPCWeb     bool   `json:"grpc-web,omitempty"`
	CACert      string `json:"certificate-authority-data,omitempty"`
	ClientCert  string `json:"client-certificate-data,omitempty"`
	ClientKey   string `json:"client-certificate-key-data,omitempty"`
	Core        bool   `json:"core,omitempty"`
	PortForward bool   `json:"port-forward,omitempty"`
}

// User is a login.
type User struct {
	Name         string `json:"name"`
	AuthToken    string `json:"auth-token,omitempty"`
	RefreshToken string `json:"refresh-token,omitempty"`
}

// Target is what a context comes to.
type Target struct {
	Name   string
	Server Server
	User   string
	Token  secret.Text
	// Refresh is what the login goes on by; empty is that it does not.
	Refresh secret.Text
}

// Parse reads a file; an empty one is an empty book.
func Parse(text []byte) (Book, error) {
	var b Book
	if err := yaml.Unmarshal(text, &b); err != nil {
		return Book{}, fmt.Errorf("reading the contexts: %w", err)
	}
	return b, nil
}

// Text is the file.
func (b Book) Text() ([]byte, error) {
	text, err := yaml.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("writing the contexts: %w", err)
	}
	return text, nil
}

// Find is a context by its name, or the current one where the name is empty. It is false where there is none.
func (b Book) Find(name string) (Target, bool) {
	if name == "" {
		name = b.Current
	}
	i := slices.IndexFunc(b.Contexts, func(c Context) bool { return c.Name == name })
	if name == "" || i < 0 {
		return Target{}, false
	}
	c := b.Contexts[i]
	out := Target{Name: c.Name, Server: Server{Server: c.Server}, User: c.User}
	if i := slices.IndexFunc(b.Servers, func(s Server) bool { return s.Server == c.Server }); i >= 0 {
		out.Server = b.Servers[i]
	}
	if i := slices.IndexFunc(b.Users, func(u User) bool { return u.Name == c.User }); i >= 0 {
		out.Token, out.Refresh = secret.New(b.Users[i].AuthToken), secret.New(b.Users[i].RefreshToken)
	}
	return out, true
}

// ByServer is the context of a server by its address: the current one if it fits.
func (b Book) ByServer(address string) (Target, bool) {
	if t, ok := b.Find(""); ok && t.Server.Server == address {
		return t, true
	}
	for _, c := range b.Contexts {
		if c.Server == address {
			return b.Find(c.Name)
		}
	}
	return Target{}, false
}

// With is a book with a login, which becomes the current one.
func (b Book) With(t Target) Book {
	b.Contexts = put(b.Contexts, Context{Name: t.Name, Server: t.Server.Server, User: t.User}, func(c Context) string { return c.Name })
	b.Servers = put(b.Servers, t.Server, func(s Server) string { return s.Server })
	user := User{Name: t.User, AuthToken: t.Token.Reveal(), RefreshToken: t.Refresh.Reveal()}
	b.Users = put(b.Users, user, func(u User) string { return u.Name })
	b.Current = t.Name
	return b
}

// Without is a book without a context, its server and its user, as far as no other has them. It is false where there is
// no such context.
func (b Book) Without(name string) (Book, bool) {
	i := slices.IndexFunc(b.Contexts, func(c Context) bool { return c.Name == name })
	if i < 0 {
		return b, false
	}
	gone := b.Contexts[i]
	b.Contexts = slices.Delete(slices.Clone(b.Contexts), i, i+1)
	if !slices.ContainsFunc(b.Contexts, func(c Context) bool { return c.Server == gone.Server }) {
		b.Servers = slices.DeleteFunc(slices.Clone(b.Servers), func(s Server) bool { return s.Server == gone.Server })
	}
	if !slices.ContainsFunc(b.Contexts, func(c Context) bool { return c.User == gone.User }) {
		b.Users = slices.DeleteFunc(slices.Clone(b.Users), func(u User) bool { return u.Name == gone.User })
	}
	if b.Current == name {
		b.Current = ""
	}
	return b, true
}

// SignedOut is a book in which a context stays and its token is gone. It is false where there was none.
func (b Book) SignedOut(name string) (Book, bool) {
	t, ok := b.Find(name)
	if !ok {
		return b, false
	}
	b.Users = slices.Clone(b.Users)
	for i := range b.Users {
		if b.Users[i].Name == t.User && b.Users[i].AuthToken != "" {
			b.Users[i].AuthToken, b.Users[i].RefreshToken = "", ""
			return b, true
		}
	}
	return b, false
}

func put[T any](all []T, one T, key func(T) string) []T {
	all = slices.Clone(all)
	for i := range all {
		if key(all[i]) == key(one) {
			all[i] = one
			return all
		}
	}
	return append(all, one)
}

// Identity is who a server takes somebody for.
type Identity struct {
	LoggedIn bool     `json:"loggedIn"`
	Username string   `json:"username,omitempty"`
	Issuer   string   `json:"iss,omitempty"`
	Groups   []string `json:"groups,omitempty"`
}

// Release is what a server says of itself.
type Release struct {
	Version          string `json:"Version"`
	GitCommit        string `json:"GitCommit,omitempty"`
	GoVersion        string `json:"GoVersion,omitempty"`
	Platform         string `json:"Platform,omitempty"`
	KustomizeVersion string `json:"KustomizeVersion,omitempty"`
	HelmVersion      string `json:"HelmVersion,omitempty"`
	KubectlVersion   string `json:"KubectlVersion,omitempty"`
	JsonnetVersion   string `json:"JsonnetVersion,omitempty"`
}

// Account is a local user of a server.
type Account struct {
	Name         string   `json:"name"`
	Enabled      bool     `json:"enabled"`
	Capabilities []string `json:"capabilities"`
	Tokens       []Token  `json:"tokens,omitempty"`
}

// Token is one that an account has; the times are in seconds, and zero never ends.
type Token struct {
	ID        string `json:"id"`
	IssuedAt  Number `json:"issuedAt"`
	ExpiresAt Number `json:"expiresAt,omitempty"`
}

// Number is an integer that some write as a text, as JSON of protocol buffers does.
type Number int64

// UnmarshalJSON takes both.
func (n *Number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("reading the number %s: %w", text, err)
	}
	*n = Number(value)
	return nil
}

// MarshalJSON writes it as a text, so that no reader rounds it.
func (n Number) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%q", strconv.FormatInt(int64(n), 10)), nil
}

// Password is a change of one.
type Password struct {
	Name            string
	Current, Wanted secret.Text
}
