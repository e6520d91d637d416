// Package sso signs people in at the login provider of the installation, for the server and for the command line: it
// finds out what the provider can do, sends people there, takes them back with a code, checks the tokens that it gives,
// and has them replaced before they end. It must not decide what somebody may do, nor keep a token anywhere.
//
// What has to be remembered of somebody who is away to sign in, and the token by which their session goes on, are in
// cookies of their browser, sealed by a key that comes from server.secretkey. They could be kept here: then there would
// have to be a store that all replicas share and that outlives them, whereas a cookie comes with the request to whichever
// replica is asked, costs nothing for those who do not come back, and is worth nothing to whoever finds it without the key.
package sso

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Options are what a Provider is made of.
type Options struct {
	// Config is how people sign in now; another configuration is another value.
	Config func() *sso.Config
	// Scopes are the claims that hold groups.
	Scopes func() []string
	// Key is what cookies are sealed by.
	Key func() secret.Text
	// Lasts is how long a session goes on that nobody uses.
	Lasts func() time.Duration
	Now   func() time.Time
}

// Provider is the login provider of the installation, whichever that is now.
type Provider struct {
	o Options
	// asking has one question at a time for many who want to know the same.
	asking singleflight.Group

	mu sync.Mutex
	// known is what the provider said of itself, and failed when it last did not.
	known  *known
	failed time.Time
	why    error
	spent  spent
	next   successors
	dex    dexWay
}

// known is a provider that was found.
type known struct {
	config   *sso.Config
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	client   *http.Client
	// offline says that it gives tokens to go on with to those who ask for them.
	offline bool
	style   oauth2.AuthStyle
}

// retry is how long a provider that does not answer is left alone.
const retry = 3 * time.Second

// algorithms are those that a token may be signed with: such that have a public key, so that nobody but the provider can.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// New makes a provider; it asks nothing yet.
func New(o Options) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{o: o}
}

// errOff is that nobody can sign in elsewhere.
var errOff = fault.Terminalf("NoSignOn", "single sign-on is not set up: neither oidc.config nor dex.config of argocd-cm, "+
	"with url, says how")

// find is the provider. It is asked what it can do when somebody first needs it, and again while it does not answer.
func (p *Provider) find(ctx context.Context) (*known, error) {
	config := p.o.Config()
	if !config.On() {
		return nil, errOff
	}
	p.mu.Lock()
	k, failed, why := p.known, p.failed, p.why
	p.mu.Unlock()
	if k != nil && k.config == config {
		return k, nil
	}
	if why != nil && p.o.Now().Sub(failed) < retry && k == nil {
		return nil, why
	}
	// Whoever waits may give up; the question goes on for the others.
	answer := p.asking.DoChan(fmt.Sprintf("find %p", config), func() (any, error) {
		return p.ask(context.WithoutCancel(ctx), config)
	})
	select {
	case r := <-answer:
		if r.Err != nil {
			return nil, r.Err
		}
		found, ok := r.Val.(*known)
		if !ok {
			return nil, errOff
		}
		return found, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ask finds out what the provider can do.
func (p *Provider) ask(ctx context.Context, config *sso.Config) (*known, error) {
	k, err := discover(ctx, config)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed, p.why = p.o.Now(), fault.Transientf("SignOnUnreachable", "asking the login provider %s: %w", config.Issuer, err)
		if p.known != nil && p.known.config != config {
			p.known = nil
		}
		return nil, p.why
	}
	p.known, p.why = k, nil
	return k, nil
}

func discover(ctx context.Context, config *sso.Config) (*known, error) {
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), askTime)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, config.Issuer)
	if err != nil {
		return nil, err
	}
	said, err := capabilities(provider)
	if err != nil {
		return nil, err
	}
	if w, is := client.Transport.(*way); is {
		w.keysAt(said.Keys)
	}
	return &known{
		config: config, provider: provider, client: client, style: said.style(config),
		offline: slices.Contains(said.Scopes, oidc.ScopeOfflineAccess),
		// Who may be meant is judged with everything else that a token says.
		verifier: provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), client), &oidc.Config{
			SkipClientIDCheck: true, SkipExpiryCheck: true, SupportedSigningAlgs: algorithms,
		}),
	}, nil
}

// capability is what a provider says that it can do.
type capability struct {
	Scopes  []string `json:"scopes_supported"`
	Methods []string `json:"token_endpoint_auth_methods_supported"`
	Types   []string `json:"response_types_supported"`
	Keys    string   `json:"jwks_uri"`
}

func capabilities(provider *oidc.Provider) (capability, error) {
	var said capability
	if err := provider.Claims(&said); err != nil {
		return said, fmt.Errorf("reading what the provider can do: %w", err)
	}
	if len(said.Types) > 0 && !slices.Contains(said.Types, "code") {
		return said, errors.New("the provider does not give codes to sign in with (response type \"code\")")
	}
	return said, nil
}

// style is how we say who we are: as the provider wants it.
func (c capability) style(config *sso.Config) oauth2.AuthStyle {
	if config.ClientSecret.Empty() || len(c.Methods) > 0 && !slices.Contains(c.Methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// Issues says that tokens of an issuer are for the provider to vouch for.
func (p *Provider) Issues(issuer string) bool { return p.o.Config().Issues(issuer) }

// Verify says whom a token stands for. A *sso.RefusalError is that it is no good; anything else that nobody knows now.
func (p *Provider) Verify(ctx context.Context, token string) (sso.Token, error) {
	k, err := p.find(ctx)
	if err != nil {
		return sso.Token{}, err
	}
	return k.verify(ctx, token, sso.Facts{Scopes: p.o.Scopes(), Now: p.o.Now()})
}

func (k *known) verify(ctx context.Context, token string, f sso.Facts) (sso.Token, error) {
	checked, err := k.verifier.Verify(ctx, token)
	if err != nil {
		return sso.Token{}, refused(ctx, err)
	}
	var claims map[string]any
	if err := checked.Claims(&claims); err != nil {
		return sso.Token{}, &sso.RefusalError{Cause: "what it says cannot be read"}
	}
	return k.config.Judge(token, claims, f)
}

// refused is a token that the library refuses, in words that have nothing of it.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// The library wraps the cause as a text.
	if strings.Contains(err.Error(), "fetching keys") {
		return fault.Transientf("SignOnUnreachable", "asking the login provider for its keys: %w", err)
	}
	return &sso.RefusalError{Cause: "its signature is wrong, made by an algorithm that is not taken, or by nobody whom we know"}
}
