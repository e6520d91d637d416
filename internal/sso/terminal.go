package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Terminal signs in somebody who sits at a command line, at the provider of a server. The provider knows no secret of such
// a client: a code is bound to it by PKCE.
type Terminal struct {
	// Provider is what the server says of it.
	Provider login.Provider
	// Trust is how the server is trusted; it counts for a provider at the same host.
	Trust *tls.Config
	// Host is that of the server.
	Host string
}

// Prompt is how somebody is asked to sign in.
type Prompt struct {
	// Port is where a browser on this machine comes back to.
	Port int
	// Show has somebody go to an address.
	Show func(address string)
	// Paste is what somebody types who has no browser here: the address at which it ended, or the code in it. nil is
	// that nobody can be asked.
	Paste func() (string, error)
}

// patience is how long somebody may take to sign in.
const patience = 5 * time.Minute

// find asks the provider what it can do.
func (t Terminal) find(ctx context.Context) (*known, error) {
	var trust *tls.Config
	if at, err := url.Parse(t.Provider.Issuer); err == nil && at.Host == t.Host {
		trust = t.Trust
	}
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	way := client(transport(trust))
	ctx = oidc.ClientContext(ctx, way)
	asked, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	provider, err := oidc.NewProvider(asked, t.Provider.Issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the login provider %s: %w", t.Provider.Issuer, err)
	}
	said, err := capabilities(provider)
	if err != nil {
		return nil, err
	}
	config := &sso.Config{
		Issuer: t.Provider.Issuer, ClientID: t.Provider.ClientID, Scopes: t.Provider.Scopes, Chosen: t.Provider.Chosen,
		Claims: t.Provider.Claims,
	}
	return &known{
		config: config, provider: provider, client: way, style: oauth2.AuthStyleInParams,
		offline: slices.Contains(said.Scopes, oidc.ScopeOfflineAccess),
		verifier: provider.VerifierContext(ctx, &oidc.Config{
			ClientID: t.Provider.ClientID, SupportedSigningAlgs: algorithms,
		}),
	}, nil
}

// SignIn sends somebody to the provider and waits until they come back: by a browser on this machine, or by what they
// type, whichever is first.
func (t Terminal) SignIn(ctx context.Context, p Prompt) (login.Tokens, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	k, err := t.find(ctx)
	if err != nil {
		return login.Tokens{}, err
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	oauth := k.oauth("http://localhost:"+strconv.Itoa(p.Port)+"/auth/callback", t.Provider.ClientID)
	options, err := k.parameters(nonce, verifier)
	if err != nil {
		return login.Tokens{}, err
	}
	codes := make(chan came, 2)
	if err := listen(ctx, p.Port, state, codes); err != nil && p.Paste == nil {
		return login.Tokens{}, err
	}
	p.Show(oauth.AuthCodeURL(state, options...))
	if p.Paste != nil {
		go paste(ctx, p.Paste, state, codes)
	}
	var c came
	select {
	case c = <-codes:
	case <-ctx.Done():
		return login.Tokens{}, fmt.Errorf("nobody came back from signing in: %w", context.Cause(ctx))
	}
	if c.err != nil {
		return login.Tokens{}, c.err
	}
	got, err := oauth.Exchange(oidc.ClientContext(ctx, k.client), c.code, oauth2.VerifierOption(verifier))
	if err != nil {
		return login.Tokens{}, terminalError(err)
	}
	return k.tokens(ctx, got, nonce)
}

// tokens are what was got, if it is what was asked for.
func (k *known) tokens(ctx context.Context, got *oauth2.Token, nonce string) (login.Tokens, error) {
	raw, is := got.Extra("id_token").(string)
	if !is {
		return login.Tokens{}, errors.New("the login provider gave no ID token")
	}
	checked, err := k.verifier.Verify(ctx, raw)
	if err != nil {
		return login.Tokens{}, fmt.Errorf("the ID token that the login provider gave: %w", err)
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(nonce)) != 1 {
		return login.Tokens{}, errors.New("the ID token that the login provider gave is for another visit")
	}
	var claims map[string]any
	if err := checked.Claims(&claims); err != nil {
		return login.Tokens{}, fmt.Errorf("reading the ID token: %w", err)
	}
	who, _ := claims["email"].(string)
	if who == "" {
		who = checked.Subject
	}
	return login.Tokens{Token: secret.New(raw), Refresh: secret.New(got.RefreshToken), Who: who}, nil
}

// Refresh has the provider go on with a session.
func (t Terminal) Refresh(ctx context.Context, token secret.Text) (login.Tokens, error) {
	k, err := t.find(ctx)
	if err != nil {
		return login.Tokens{}, err
	}
	got, err := k.oauth("", t.Provider.ClientID).TokenSource(oidc.ClientContext(ctx, k.client),
		&oauth2.Token{RefreshToken: token.Reveal()}).Token()
	if err != nil {
		return login.Tokens{}, terminalError(err)
	}
	out, err := k.tokens(ctx, got, "")
	if out.Refresh.Empty() {
		out.Refresh = token
	}
	return out, err
}

func terminalError(err error) error {
	if said, is := errors.AsType[*oauth2.RetrieveError](err); is && said.ErrorCode != "" {
		return fmt.Errorf("the login provider says %q", clip(said.ErrorCode+" "+said.ErrorDescription))
	}
	return fmt.Errorf("asking the login provider: %w", err)
}

// came is how somebody came back.
type came struct {
	code string
	err  error
}

// read is what the provider has a browser say. Answers to other questions are not for us.
func read(said url.Values, state string) (came, bool) {
	if subtle.ConstantTimeCompare([]byte(said.Get("state")), []byte(state)) != 1 {
		return came{}, false
	}
	if why := said.Get("error"); why != "" {
		return came{err: fmt.Errorf("the login provider says %q", clip(why+" "+said.Get("error_description")))}, true
	}
	return came{code: said.Get("code")}, said.Get("code") != ""
}

// listen waits for a browser on this machine.
func listen(ctx context.Context, port int, state string, codes chan<- came) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("waiting for the browser: %w; choose another --sso-port, which the login provider knows", err)
	}
	server := &http.Server{ReadHeaderTimeout: askTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		c, ok := read(r.URL.Query(), state)
		if r.URL.Path != "/auth/callback" || !ok {
			http.Error(w, "this is not the answer that the command line waits for", http.StatusBadRequest)
			return
		}
		select {
		case codes <- c:
		default:
		}
		if c.err != nil {
			fmt.Fprintln(w, "Signing in failed; the command line says why.")
			return
		}
		fmt.Fprintln(w, "You are signed in. Go back to the command line; this window can be closed.")
	})}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(last)
	})
	return nil
}

// paste takes what somebody types, until it makes sense.
func paste(ctx context.Context, ask func() (string, error), state string, codes chan<- came) {
	for ctx.Err() == nil {
		text, err := ask()
		if err != nil {
			return // nobody is there to ask; a browser may still come
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		c, ok := came{code: text}, true
		if at, err := url.Parse(text); err == nil && at.RawQuery != "" {
			c, ok = read(at.Query(), state)
		}
		if ok {
			codes <- c
			return
		}
	}
}
