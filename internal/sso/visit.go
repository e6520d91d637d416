package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Wish is somebody who wants to sign in.
type Wish struct {
	// Host is what their browser asked, and Return where it wants to be in the end.
	Host, Return string
}

// Departure is where they go, and what their browser keeps while they are away.
type Departure struct {
	URL    string
	Sealed string
}

// AwayTime is how long somebody may be away to sign in.
const AwayTime = 10 * time.Minute

// visit is what is remembered of somebody who is away.
type visit struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Return   string    `json:"r"`
	Base     string    `json:"b"`
	At       time.Time `json:"t"`
}

// Begin sends somebody to the provider.
func (p *Provider) Begin(ctx context.Context, w Wish) (Departure, error) {
	k, err := p.find(ctx)
	if err != nil {
		return Departure{}, err
	}
	base := k.config.Base(w.Host)
	back, ok := k.config.Return(w.Return, base)
	if !ok {
		return Departure{}, fault.Terminalf("Rejected", "Invalid redirect URL: return_url must be a page of this server, "+
			"within url or additionalUrls of argocd-cm")
	}
	v := visit{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: back, Base: base, At: p.o.Now().UTC(),
	}
	sealed, err := seal(p.o.Key(), forVisit, v)
	if err != nil {
		return Departure{}, fault.Transientf("SignOnNotReady", "beginning to sign in: %w", err)
	}
	options, err := k.parameters(v.Nonce, v.Verifier)
	if err != nil {
		return Departure{}, err
	}
	return Departure{URL: k.oauth(k.config.Callback(base), k.config.ClientID).AuthCodeURL(v.State, options...), Sealed: sealed}, nil
}

// oauth is us, as the provider knows us.
func (k *known) oauth(callback, client string) *oauth2.Config {
	c := &oauth2.Config{ClientID: client, Endpoint: k.provider.Endpoint(), RedirectURL: callback, Scopes: k.scopes()}
	c.Endpoint.AuthStyle = k.style
	if client == k.config.ClientID {
		c.ClientSecret = k.config.ClientSecret.Reveal()
	}
	return c
}

// scopes are what is asked for. A session that can go on is asked for where the provider has such, unless the
// installation says exactly what it wants.
func (k *known) scopes() []string {
	scopes := slices.Clone(k.config.Scopes)
	if k.offline && !k.config.Chosen && !slices.Contains(scopes, oidc.ScopeOfflineAccess) {
		scopes = append(scopes, oidc.ScopeOfflineAccess)
	}
	return scopes
}

// parameters are what the provider is told besides.
func (k *known) parameters(nonce, verifier string) ([]oauth2.AuthCodeOption, error) {
	out := []oauth2.AuthCodeOption{oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)}
	if len(k.config.Claims) > 0 {
		text, err := json.Marshal(map[string]any{"id_token": k.config.Claims})
		if err != nil {
			return nil, fmt.Errorf("writing the claims to ask for: %w", err)
		}
		out = append(out, oauth2.SetAuthURLParam("claims", string(text)))
	}
	if k.config.DomainHint != "" {
		out = append(out, oauth2.SetAuthURLParam("domain_hint", k.config.DomainHint))
	}
	if d := k.config.Dex; d != nil && d.ConnectorID != "" {
		out = append(out, oauth2.SetAuthURLParam("connector_id", d.ConnectorID))
	}
	return out, nil
}

// Arrival is somebody who has signed in.
type Arrival struct {
	// Token is what they show from now on, and Who it stands for.
	Token string
	Who   sso.Token
	// Sealed is what their session goes on by; empty is that it ends with the token.
	Sealed string
	// Return is where they wanted to be.
	Return string
}

// refusedf is that somebody is not let in by what they brought along, in words for people.
func refusedf(format string, args ...any) error {
	return fault.Terminalf("Rejected", "signing in failed: "+format+"; begin anew at /auth/login", args...)
}

// Finish takes somebody back: query is what the provider has their browser say, and sealed what it kept.
func (p *Provider) Finish(ctx context.Context, query url.Values, sealed string) (Arrival, error) {
	k, err := p.find(ctx)
	if err != nil {
		return Arrival{}, err
	}
	var v visit
	if err := unseal(p.o.Key(), forVisit, sealed, &v); err != nil {
		return Arrival{}, refusedf("this browser did not begin to sign in here, or did so too long ago")
	}
	now := p.o.Now()
	if now.Sub(v.At) > AwayTime || v.At.After(now.Add(time.Minute)) {
		return Arrival{}, refusedf("it took too long")
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(v.State)) != 1 {
		return Arrival{}, refusedf("the answer is to another question than this browser asked")
	}
	if !p.spent.once(v.State, now) {
		return Arrival{}, refusedf("this answer was used before")
	}
	if said := query.Get("error"); said != "" {
		return Arrival{}, refusedf("the login provider says %q", clip(said+" "+query.Get("error_description")))
	}
	got, err := k.exchange(ctx, v, query.Get("code"))
	if err != nil {
		return Arrival{}, err
	}
	a, err := p.arrive(ctx, k, got, v.Nonce)
	a.Return = v.Return
	if err == nil && got.RefreshToken != "" {
		a.Sealed, err = p.keep(session{ID: rand.Text(), Token: got.RefreshToken, Subject: a.Who.Subject, Began: now.UTC()})
	}
	return a, err
}

func clip(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// exchange gets tokens for a code.
func (k *known) exchange(ctx context.Context, v visit, code string) (*oauth2.Token, error) {
	if code == "" {
		return nil, refusedf("the login provider gave no code")
	}
	got, err := k.oauth(k.config.Callback(v.Base), k.config.ClientID).Exchange(oidc.ClientContext(ctx, k.client), code,
		oauth2.VerifierOption(v.Verifier))
	if err != nil {
		return nil, providerError(err)
	}
	return got, nil
}

// providerError is what the provider says, and nothing of what it was told.
func providerError(err error) error {
	if said, is := errors.AsType[*oauth2.RetrieveError](err); is {
		if said.ErrorCode != "" {
			return refusedf("the login provider says %q", clip(said.ErrorCode+" "+said.ErrorDescription))
		}
		return refusedf("the login provider answers %d", said.Response.StatusCode)
	}
	return fault.Transientf("SignOnUnreachable", "asking the login provider: %w", err)
}

// arrive checks the ID token that was got for our client.
func (p *Provider) arrive(ctx context.Context, k *known, got *oauth2.Token, nonce string) (Arrival, error) {
	raw, is := got.Extra("id_token").(string)
	if !is || raw == "" {
		return Arrival{}, refusedf("the login provider gave no ID token")
	}
	who, err := k.verify(ctx, raw, sso.Facts{Scopes: p.o.Scopes(), Audiences: []string{k.config.ClientID}, Now: p.o.Now()})
	if no, refused := errors.AsType[*sso.RefusalError](err); refused {
		return Arrival{}, refusedf("the ID token is not taken: %s", no.Cause)
	}
	if err != nil {
		return Arrival{}, err
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(who.Nonce), []byte(nonce)) != 1 {
		return Arrival{}, refusedf("the ID token is for another visit")
	}
	return Arrival{Token: raw, Who: who}, nil
}

// session is what a session goes on by.
type session struct {
	// ID is the same for as long as it lasts.
	ID      string    `json:"i"`
	Token   string    `json:"r"`
	Subject string    `json:"s"`
	Began   time.Time `json:"b"`
	Until   time.Time `json:"u"`
}

// keep seals a session until it was not used for long.
func (p *Provider) keep(s session) (string, error) {
	s.Until = p.o.Now().UTC().Add(p.o.Lasts())
	return seal(p.o.Key(), forSession, s)
}

// Session is a session that can go on: whose it is, and which of theirs.
type Session struct {
	Subject, ID string
	Began       time.Time
}

// Session is the one that is sealed.
func (p *Provider) Session(sealed string) (Session, bool) {
	var s session
	if unseal(p.o.Key(), forSession, sealed, &s) != nil {
		return Session{}, false
	}
	return Session{Subject: s.Subject, ID: s.ID, Began: s.Began}, true
}

// Longest is until when a session that is used now could go on unused.
func (p *Provider) Longest() time.Time { return p.o.Now().Add(p.o.Lasts()) }

// Due says that a token ends so soon that the next one is asked for: not in the first half of its life, however short
// that is.
func (p *Provider) Due(issued, expires time.Time) bool {
	return p.o.Now().Add(min(p.o.Config().Early, expires.Sub(issued)/2)).After(expires)
}

// Refresh has the provider go on with a session. Those who ask at the same time, or shortly after each other by the same
// cookie, get the same answer: many providers take the token of a session once.
func (p *Provider) Refresh(ctx context.Context, sealed string) (Arrival, error) {
	var s session
	if err := unseal(p.o.Key(), forSession, sealed, &s); err != nil {
		return Arrival{}, refusedf("this session was not begun here")
	}
	if p.o.Now().After(s.Until) {
		return Arrival{}, refusedf("nobody has used this session for long")
	}
	key := sso.Digest(s.Token)
	if a, have := p.next.get(key, p.o.Now()); have {
		return a, nil
	}
	answer := p.asking.DoChan("refresh "+key, func() (any, error) {
		a, err := p.refresh(context.WithoutCancel(ctx), s)
		if err == nil {
			p.next.put(key, a, p.o.Now())
		}
		return a, err
	})
	select {
	case r := <-answer:
		a, is := r.Val.(Arrival)
		if r.Err != nil || !is {
			return Arrival{}, r.Err
		}
		return a, nil
	case <-ctx.Done():
		return Arrival{}, context.Cause(ctx)
	}
}

func (p *Provider) refresh(ctx context.Context, s session) (Arrival, error) {
	k, err := p.find(ctx)
	if err != nil {
		return Arrival{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, k.client), askTime)
	defer cancel()
	got, err := k.oauth("", k.config.ClientID).TokenSource(ctx, &oauth2.Token{RefreshToken: s.Token}).Token()
	if err != nil {
		return Arrival{}, providerError(err)
	}
	// A token that goes on with a session need not repeat the nonce of its beginning.
	a, err := p.arrive(ctx, k, got, "")
	if err != nil {
		return Arrival{}, err
	}
	if a.Who.Subject != s.Subject {
		return Arrival{}, refusedf("the login provider goes on with somebody else")
	}
	if got.RefreshToken != "" {
		s.Token = got.RefreshToken
	}
	a.Sealed, err = p.keep(s)
	return a, err
}

// Leave is where somebody goes who signs out, and who wants to be at back then.
func (p *Provider) Leave(token, host string) string {
	c := p.o.Config()
	if c == nil || c.URL == "" {
		return "/"
	}
	return c.Away(token, c.Base(host)+"/")
}

// maxKept bounds what is remembered for a while.
const maxKept = 10_000

// spent are the answers that were used. A provider takes a code once; here too.
type spent struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// once says that something comes for the first time.
func (s *spent) once(state string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	if _, was := s.until[state]; was {
		return false
	}
	if len(s.until) >= maxKept {
		for k, until := range s.until {
			if now.After(until) {
				delete(s.until, k)
			}
		}
	}
	if len(s.until) >= maxKept {
		// Whoever comes now has to try again; nobody who was here is forgotten for them.
		return false
	}
	s.until[state] = now.Add(AwayTime + time.Minute)
	return true
}

// successors are the sessions that have just gone on.
type successors struct {
	mu   sync.Mutex
	kept map[string]successor
}

type successor struct {
	arrival Arrival
	until   time.Time
}

// succeeded is how long an old cookie gets the answer that the first one got.
const succeeded = 30 * time.Second

func (s *successors) get(key string, now time.Time) (Arrival, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, have := s.kept[key]
	return k.arrival, have && now.Before(k.until)
}

func (s *successors) put(key string, a Arrival, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]successor{}
	}
	for k, v := range s.kept {
		if now.After(v.until) {
			delete(s.kept, k)
		}
	}
	if len(s.kept) < maxKept {
		s.kept[key] = successor{arrival: a, until: now.Add(succeeded)}
	}
}
