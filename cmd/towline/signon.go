package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
	core "github.com/towline-cd/towline/internal/core/sso"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/sso"
)

// openProvider makes the one that knows the login provider.
func (p *parts) openProvider() {
	p.settings.Environment(os.Getenv)
	p.provider = sso.New(sso.Options{
		Config: p.settings.SSO,
		Scopes: func() []string { return p.settings.Policy().Scopes() },
		Key:    func() secret.Text { return p.settings.Secret().Values[v1alpha1.KeyServerSecretKey] },
		Lasts:  func() time.Duration { return p.settings.Accounts().Session },
	})
}

// signOn signs people in elsewhere, as the server asks for it.
type signOn struct {
	provider *sso.Provider
	keeper   *identity.Keeper
}

// Begin sends somebody to the login provider.
func (s signOn) Begin(ctx context.Context, host, want string) (server.Departure, error) {
	d, err := s.provider.Begin(ctx, sso.Wish{Host: host, Return: want})
	return server.Departure{URL: d.URL, Sealed: d.Sealed, Lasts: sso.AwayTime}, err
}

// Finish takes them back. Whoever would be refused later is not let in now.
func (s signOn) Finish(ctx context.Context, said url.Values, sealed string) (server.Arrival, error) {
	a, err := s.provider.Finish(ctx, said, sealed)
	if err != nil {
		return server.Arrival{}, err
	}
	if _, err := s.keeper.Verify(ctx, a.Token); err != nil {
		return server.Arrival{}, server.NewFault(server.Unauthenticated, "signing in failed: this server does not take the token",
			errors.New(identity.CauseOf(err)))
	}
	slog.InfoContext(ctx, "somebody signed in", "subject", a.Who.Subject, "username", a.Who.Username, "groups", a.Who.Groups)
	return server.Arrival{Token: a.Token, Sealed: a.Sealed, Return: a.Return}, nil
}

// Due says that the next token is to be asked for.
func (s signOn) Due(c server.Caller) bool { return s.provider.Due(c.IssuedAt, c.Expires) }

// Refresh has a session go on that was not ended.
func (s signOn) Refresh(ctx context.Context, sealed string) (server.Arrival, error) {
	of, ok := s.provider.Session(sealed)
	if !ok || s.keeper.EndedForeign(of.Subject, of.ID, of.Began) {
		return server.Arrival{}, errors.New("the session was ended, or not begun here")
	}
	a, err := s.provider.Refresh(ctx, sealed)
	return server.Arrival{Token: a.Token, Sealed: a.Sealed}, err
}

// Leave ends a token and the session that goes on.
func (s signOn) Leave(ctx context.Context, l server.Leaving) (string, error) {
	to := s.provider.Leave("", l.Host)
	if l.Token != "" {
		if c, err := s.keeper.Verify(ctx, l.Token); err == nil {
			if err := s.keeper.Logout(ctx, c); err != nil {
				return "", asked(err)
			}
			to = "/"
			if c.Issuer != v1alpha1.TokenIssuer {
				to = s.provider.Leave(l.Token, l.Host)
			}
		}
	}
	if of, ok := s.provider.Session(l.Sealed); ok {
		// It could go on for as long as it is not used.
		if err := s.keeper.EndForeign(ctx, of.Subject, of.ID, s.provider.Longest()); err != nil {
			return "", asked(err)
		}
	}
	return to, nil
}

// signingOn gives the server the way to sign in elsewhere.
func (p *parts) signingOn(o *server.Options) {
	o.SignOn, o.Dex = signOn{p.provider, p.keeper}, http.HandlerFunc(p.provider.ServeDex)
}

// ssoOf is what everybody may know of the login provider.
func ssoOf(c *core.Config) server.SSO {
	if !c.On() {
		return server.SSO{}
	}
	out := server.SSO{Name: c.Name, Issuer: c.Issuer, ClientID: c.ClientID, CLIClientID: c.CLIClientID, PKCE: c.PKCE, Claims: c.Claims}
	if c.Chosen {
		out.Scopes = c.Scopes
	}
	if c.Dex != nil {
		out.Connectors = c.Dex.Connectors
	}
	return out
}

// withSignOn lets the commands sign in elsewhere.
func withSignOn(e *cli.Env) {
	e.Browse = browse
	e.SignOn = func(ctx context.Context, r cli.Remote, p cli.SignOnPrompt) (login.Tokens, error) {
		r.Token, r.Refresh = secret.Text{}, secret.Text{}
		t, err := terminal(ctx, r)
		if err != nil {
			return login.Tokens{}, err
		}
		return t.SignIn(ctx, sso.Prompt{Port: p.Port, Show: p.Show, Paste: p.Paste})
	}
	e.Dex = func(ctx context.Context, f cli.Flags) ([]byte, []string, error) {
		config, err := restConfig(f.Kubeconfig, f.Context)
		if err != nil {
			return nil, nil, err
		}
		return settings.ReadDex(ctx, config, f.Namespace, os.Getenv)
	}
}

// terminal is the login provider of a server, for a command.
func terminal(ctx context.Context, r cli.Remote) (sso.Terminal, error) {
	c, err := client.New(client.Options{Target: r.Target, Headers: r.Headers, UserAgent: "towline-cli/" + version})
	if err != nil {
		return sso.Terminal{}, err
	}
	said, err := c.Settings(ctx)
	if err != nil {
		return sso.Terminal{}, err
	}
	provider, ok := said.Provider()
	if !ok {
		return sso.Terminal{}, fmt.Errorf("%s does not let people sign in elsewhere; use --username, or --auth-token", r.Server.Server)
	}
	trust, err := c.Trust()
	return sso.Terminal{Provider: provider, Trust: trust, Host: c.Host()}, err
}

// early is how long before its end a token is replaced.
const early = time.Minute

// fresh is the token of a login, replaced where it ends soon and can go on. What goes wrong with that is no reason for a
// command to fail: the server says what it thinks of the old one.
func fresh(ctx context.Context, r cli.Remote) secret.Text {
	issuer, ends := login.Claims(r.Token)
	if r.Refresh.Empty() || issuer == v1alpha1.TokenIssuer || ends.IsZero() || time.Until(ends) > early {
		return r.Token
	}
	bare := r
	bare.Token, bare.Refresh = secret.Text{}, secret.Text{}
	t, err := terminal(ctx, bare)
	if err != nil {
		return r.Token
	}
	got, err := t.Refresh(ctx, r.Refresh)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the login could not go on: %v; \"towline relogin\" signs in again\n", err)
		return r.Token
	}
	replace(r, got.Token, got.Refresh)
	return got.Token
}

// browse has a browser of this machine show a page.
func browse(ctx context.Context, address string) error {
	var words []string
	switch runtime.GOOS {
	case "darwin":
		words = []string{"open", address}
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no screen")
		}
		words = []string{"xdg-open", address}
	}
	// It is the person's own, and lives on when the command has ended.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting a browser: %w", err)
	}
	return cmd.Process.Release()
}
