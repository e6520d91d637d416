package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Logins is the file of those who signed in.
type Logins interface {
	Read(path string) (login.Book, error)
	Write(path string, b login.Book) error
}

// Server is an API server, for who signs in and asks about themselves.
type Server interface {
	Login(ctx context.Context, name string, password secret.Text) (secret.Text, error)
	Logout(ctx context.Context) error
	User(ctx context.Context) (login.Identity, error)
	Version(ctx context.Context) (login.Release, error)
	CanI(ctx context.Context, action, resource, object string) (bool, error)
}

// ServerAccounts are the local users of an API server.
type ServerAccounts interface {
	Accounts(ctx context.Context) ([]login.Account, error)
	Account(ctx context.Context, name string) (login.Account, error)
	NewToken(ctx context.Context, account, id string, seconds int64) (secret.Text, error)
	DeleteToken(ctx context.Context, account, id string) error
	SetPassword(ctx context.Context, p login.Password) error
}

// Remote is an API server, and how it is asked.
type Remote struct {
	login.Target
	Headers http.Header
	// Config is the file that the login is from, where a renewed one goes.
	Config string
}

// serverFlags say which API server a command talks to, in place of the hub. They are Argo CD's; those of transports that
// there are not here are taken and have no effect, so that scripts go on.
type serverFlags struct {
	server, token, context, config, rootPath string
	insecure, plainText, core                bool
	headers                                  []string
	// Files with the authority of the server, and with a certificate to show it.
	serverCert, clientCert, clientKey string
	prompts                           string
}

func (s *serverFlags) register(f *pflag.FlagSet, env *Env) {
	opts := env.options()
	value := func(name, variable string) string {
		if v := env.variable(variable); variable != "" && v != "" {
			return v
		}
		return opts[name]
	}
	f.StringVar(&s.server, "server", value("server", "ARGOCD_SERVER"), "address of the API server: HOST or HOST:PORT (or $ARGOCD_SERVER)")
	// Not its default: help would show it.
	f.StringVar(&s.token, "auth-token", "", "token to sign in with (or $ARGOCD_AUTH_TOKEN)")
	f.StringVar(&s.context, "argocd-context", opts["argocd-context"], "context of those who signed in (default: the current one)")
	f.StringVar(&s.config, "config", opts["config"], "file of those who signed in (default: as argocd does)")
	f.BoolVar(&s.insecure, "insecure", opts["insecure"] == "true", "take any certificate of the API server")
	f.BoolVar(&s.plainText, "plaintext", opts["plaintext"] == "true", "speak to the API server without TLS")
	f.BoolVar(&s.core, "core", opts["core"] == "true", "talk to the cluster with your kubeconfig, and to no API server")
	f.StringVar(&s.rootPath, "grpc-web-root-path", opts["grpc-web-root-path"], "path below which the API server is")
	f.StringArrayVarP(&s.headers, "header", "H", nil, "further header of each request: \"NAME: VALUE\"")
	f.StringVar(&s.serverCert, "server-crt", opts["server-crt"], "PEM file with the authority of the API server")
	f.StringVar(&s.clientCert, "client-crt", opts["client-crt"], "PEM file with a certificate to show to the API server")
	f.StringVar(&s.clientKey, "client-crt-key", opts["client-crt-key"], "PEM file with the key of that certificate")
	f.StringVar(&s.prompts, "prompts-enabled", opts["prompts-enabled"],
		"ask before something is deleted (default: as \"configure\" says, or true)")
	f.Lookup("prompts-enabled").NoOptDefVal = "true"
	s.ignore(f)
}

// ignore takes flags that are about parts which are not here, so that scripts go on.
func (s *serverFlags) ignore(f *pflag.FlagSet) {
	const why = "has no effect: there is one way to speak, HTTP, and one program"
	var bare bool
	for _, name := range []string{"grpc-web", "port-forward"} {
		f.BoolVar(&bare, name, false, why)
	}
	var text string
	with := []string{
		"port-forward-namespace", "http-retry-max", "logformat", "loglevel", "controller-name", "redis-compress", "redis-haproxy-name",
		"redis-name", "repo-server-name", "server-name",
	}
	for _, name := range with {
		f.StringVar(&text, name, "", why)
	}
	for _, name := range append(with, "grpc-web", "port-forward") {
		_ = f.MarkHidden(name) // it was made a few lines above
	}
}

// asks is what the flag says about asking; nil is that it was not given.
func (s *serverFlags) asks() (*bool, error) {
	if s.prompts == "" {
		return nil, nil
	}
	on, err := strconv.ParseBool(s.prompts)
	if err != nil {
		return nil, usagef("--prompts-enabled is true or false, not %q", s.prompts)
	}
	return &on, nil
}

// unasked says that nobody wants to be asked: by the flag, or by what "configure" wrote down.
func (g *global) unasked(env *Env) (bool, error) {
	asks, err := g.servers.asks()
	if err != nil || asks != nil || env.Logins == nil {
		return asks != nil && !*asks, err
	}
	book, err := env.Logins.Read(g.servers.config)
	if err != nil || book.Prompts == nil {
		return false, nil // what is wrong with the file is told by whoever needs it
	}
	return !*book.Prompts, nil
}

// certificates puts the files of the flags where a login keeps what is in them.
func (s *serverFlags) certificates(env *Env, into *login.Server) error {
	if (s.clientCert == "") != (s.clientKey == "") {
		return usagef("--client-crt and --client-crt-key come together")
	}
	for _, file := range []struct {
		name string
		to   *string
	}{{s.serverCert, &into.CACert}, {s.clientCert, &into.ClientCert}, {s.clientKey, &into.ClientKey}} {
		if file.name == "" {
			continue
		}
		text, err := env.ReadFile(file.name)
		if err != nil {
			return fmt.Errorf("reading a certificate: %w", err)
		}
		*file.to = base64.StdEncoding.EncodeToString(text)
	}
	return nil
}

// options are what ARGOCD_OPTS says, by the names of flags.
func (e *Env) options() map[string]string {
	out := map[string]string{}
	words := strings.Fields(e.variable("ARGOCD_OPTS"))
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		if !strings.HasPrefix(words[i], "-") {
			continue
		}
		if !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value, given = words[i], true
		}
		if !given {
			value = "true"
		}
		out[name] = strings.Trim(value, `"'`)
	}
	return out
}

func (e *Env) variable(name string) string {
	if e.Getenv == nil || name == "" {
		return ""
	}
	return e.Getenv(name)
}

// remote is the API server that the flags, the environment and the file of logins come to; nil is none: the command talks
// to the cluster. Who names a cluster means the cluster.
func (g *global) remote(env *Env) (*Remote, error) {
	s := g.servers
	named := g.Context != "" || g.Kubeconfig != "" && !g.targets
	if s.core || s.server == "" && named || env.Logins == nil {
		return nil, nil
	}
	book, err := env.Logins.Read(s.config)
	if err != nil {
		return nil, err
	}
	found, known := book.Find(s.context)
	switch {
	case s.server != "" && s.server != found.Server.Server:
		if found, known = book.ByServer(s.server); !known {
			found, known = login.Target{Name: s.server, User: s.server, Server: login.Server{Server: s.server}}, true
		}
	case s.context != "" && !known:
		return nil, usagef("there is no context %q; %q shows those that there are", s.context, "towline context")
	}
	if !known || found.Server.Core {
		return nil, nil
	}
	out := &Remote{Target: found, Config: s.config}
	out.Server.Insecure = out.Server.Insecure || s.insecure
	out.Server.PlainText = out.Server.PlainText || s.plainText
	if s.rootPath != "" {
		out.Server.RootPath = s.rootPath
	}
	if err := s.certificates(env, &out.Server); err != nil {
		return nil, err
	}
	if token := cmp.Or(s.token, env.variable("ARGOCD_AUTH_TOKEN")); token != "" {
		out.Token = secret.New(token)
	}
	out.Headers, err = headers(s.headers)
	return out, err
}

func headers(lines []string) (http.Header, error) {
	out := http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, usagef("%q is no header; write \"NAME: VALUE\"", line)
		}
		out.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return out, nil
}

// signedIn is the API server of a command that needs one.
func (g *global) signedIn(ctx context.Context, env *Env) (*Remote, Server, error) {
	r, err := g.remote(env)
	if err != nil {
		return nil, nil, err
	}
	if r == nil {
		return nil, nil, usagef("this asks an API server, and you are signed in to none; %q does that", "towline login SERVER")
	}
	server, err := env.Server(ctx, *r)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to %s: %w", r.Server.Server, err)
	}
	return r, server, nil
}

// remoteAccounts are the accounts of an API server, as commands about an
// installation's see them.
type remoteAccounts struct{ ServerAccounts }

// Accounts are those that one may see.
func (r remoteAccounts) Accounts(ctx context.Context) ([]account.Account, error) {
	all, err := r.ServerAccounts.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]account.Account, len(all))
	for i, a := range all {
		out[i] = account.Account{Name: a.Name, Enabled: a.Enabled}
		for _, c := range a.Capabilities {
			out[i].Capabilities = append(out[i].Capabilities, account.Capability(c))
		}
		for _, t := range a.Tokens {
			out[i].Tokens = append(out[i].Tokens, account.Token{ID: t.ID, IssuedAt: int64(t.IssuedAt), ExpiresAt: int64(t.ExpiresAt)})
		}
	}
	return out, nil
}

// InitialPassword is for who has the cluster.
func (r remoteAccounts) InitialPassword(context.Context) (secret.Text, error) {
	return secret.Text{}, usagef("no server tells the initial password; --core reads it, with your kubeconfig")
}
