package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/sso"
	"github.com/towline-cd/towline/internal/server"
)

// provider lets everybody in who comes back with what they were given.
type provider struct {
	refreshed int
	left      []server.Leaving
	broken    bool
}

func (p *provider) Begin(_ context.Context, host, want string) (server.Departure, error) {
	if strings.HasPrefix(want, "https://evil") {
		return server.Departure{}, fault.Terminalf("Rejected", "no")
	}
	return server.Departure{URL: "https://login.example.com/?for=" + host, Sealed: "kept", Lasts: 10 * time.Minute}, nil
}

func (p *provider) Finish(_ context.Context, said url.Values, sealed string) (server.Arrival, error) {
	if sealed != "kept" || said.Get("state") != "s" {
		return server.Arrival{}, fault.Terminalf("Rejected", "it is not yours")
	}
	return server.Arrival{Token: "alice@there", Sealed: strings.Repeat("r", 5000), Return: "https://cd.example.com/apps"}, nil
}

func (p *provider) Due(c server.Caller) bool { return c.Subject == "due" }

func (p *provider) Refresh(_ context.Context, sealed string) (server.Arrival, error) {
	p.refreshed++
	if p.broken || sealed != "session" {
		return server.Arrival{}, errors.New("no")
	}
	return server.Arrival{Token: "due@there-next", Sealed: "session-next"}, nil
}

func (p *provider) Leave(_ context.Context, l server.Leaving) (string, error) {
	p.left = append(p.left, l)
	return "https://login.example.com/out", nil
}

// visitors knows NAME@there, and that those of "ended" have ended.
type visitors struct{ tokens }

func (v visitors) Verify(ctx context.Context, token string) (server.Caller, error) {
	name, next, ok := strings.Cut(token, "@there")
	switch {
	case !ok:
		return v.tokens.Verify(ctx, token)
	case name == "ended":
		return server.Caller{}, errors.Join(server.ErrExpired, errors.New("too late"))
	case name == "bad":
		return server.Caller{}, errors.New("revoked")
	}
	return server.Caller{Subject: name, Username: name + next, Issuer: "https://login.example.com"}, nil
}

func withProvider(t *testing.T) (*server.Server, *provider) {
	t.Helper()
	o, p := options(newWorld()), &provider{}
	o.SignOn, o.Verifier = p, visitors{}
	o.Settings = func() server.Settings {
		return server.Settings{URL: "https://cd.example.com", SSO: server.SSO{
			Name: "Okta", Issuer: "https://login.example.com", ClientID: "web", CLIClientID: "cli", Claims: map[string]sso.Claim{"groups": {Essential: true}},
		}}
	}
	return newServer(t, o), p
}

func cookiesOf(header http.Header) map[string]*http.Cookie {
	out := map[string]*http.Cookie{}
	for _, c := range (&http.Response{Header: header}).Cookies() {
		out[c.Name] = c
	}
	return out
}

func TestSigningOn(t *testing.T) {
	s, _ := withProvider(t)
	w := ask(t, s.Handler(), http.MethodGet, "https://cd.example.com/auth/login?return_url=/apps", "")
	kept := cookiesOf(w.Header())["argocd.oauthstate"]
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "https://login.example.com/?for=cd.example.com" {
		t.Errorf("%d to %s", w.Code, w.Header().Get("Location"))
	}
	if kept == nil || kept.Value != "kept" || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge != 600 {
		t.Errorf("while away the browser keeps %+v", kept)
	}
	if w := ask(t, s.Handler(), http.MethodGet, "/auth/login?return_url=https://evil.example.com", ""); w.Code != http.StatusBadRequest {
		t.Errorf("a stranger's page: %d", w.Code)
	}
	for _, path := range []string{"/auth/callback", "/pkce/verify"} {
		w = ask(t, s.Handler(), http.MethodGet, path+"?code=c&state=s", "", "Cookie", "argocd.oauthstate=kept")
		got := cookiesOf(w.Header())
		token := got["argocd.token"]
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "https://cd.example.com/apps" || token == nil ||
			token.Value != "alice@there" || !token.HttpOnly || !token.Secure || token.SameSite != http.SameSiteStrictMode {
			t.Errorf("%s: %d, %+v", path, w.Code, got)
		}
		if gone := got["argocd.oauthstate"]; gone == nil || gone.MaxAge >= 0 {
			t.Errorf("%s: what was kept while away stays: %+v", path, gone)
		}
		if first := got["towline.refresh"]; first == nil || !strings.HasPrefix(first.Value, "2:") || got["towline.refresh-1"] == nil {
			t.Errorf("%s: what is long is not cut: %v", path, first)
		}
	}
	for _, cookie := range []string{"", "argocd.oauthstate=another"} {
		w = ask(t, s.Handler(), http.MethodGet, "/auth/callback?code=c&state=s", "", "Cookie", cookie)
		if w.Code != http.StatusBadRequest || cookiesOf(w.Header())["argocd.token"] != nil {
			t.Errorf("with %q: %d", cookie, w.Code)
		}
	}
}

// A token that ends soon or has ended is replaced for a browser that has what its session goes on by, and for nobody else.
func TestSessionsGoOn(t *testing.T) {
	const path = "/api/v1/session/userinfo"
	for name, c := range map[string]struct {
		headers   []string
		refreshed int
		body      string
	}{
		"due":               {[]string{"Cookie", "argocd.token=due@there; towline.refresh=session"}, 1, `"due-next"`},
		"ended":             {[]string{"Cookie", "argocd.token=ended@there; towline.refresh=session"}, 1, `"due-next"`},
		"neither":           {[]string{"Cookie", "argocd.token=bob@there; towline.refresh=session"}, 0, `"bob"`},
		"revoked":           {[]string{"Cookie", "argocd.token=bad@there; towline.refresh=session"}, 0, `"loggedIn":false`},
		"nothing to go on":  {[]string{"Cookie", "argocd.token=ended@there"}, 0, `"loggedIn":false`},
		"another's session": {[]string{"Cookie", "argocd.token=ended@there; towline.refresh=x"}, 1, `"loggedIn":false`},
		"due, and broken":   {[]string{"Cookie", "argocd.token=due@there; towline.refresh=x"}, 1, `"due"`},
		"in a header":       {[]string{"Authorization", "Bearer due@there", "Cookie", "towline.refresh=session"}, 0, `"due"`},
		"ours":              {[]string{"Cookie", "argocd.token=admin-token; towline.refresh=session"}, 0, `"admin"`},
	} {
		s, p := withProvider(t)
		w := ask(t, s.Handler(), http.MethodGet, path, "", c.headers...)
		if p.refreshed != c.refreshed || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: asked %d times, %s", name, p.refreshed, w.Body)
		}
		got := cookiesOf(w.Header())
		if next := strings.Contains(c.body, "-next"); next != (got["argocd.token"] != nil) || next != (got["towline.refresh"] != nil) {
			t.Errorf("%s: the browser is given %v", name, got)
		}
	}
}

func TestSigningOff(t *testing.T) {
	s, p := withProvider(t)
	cookie := []string{"Cookie", "argocd.token=alice@there; towline.refresh=2:ses; towline.refresh-1=sion"}
	w := ask(t, s.Handler(), http.MethodGet, "/auth/logout", "", cookie...)
	got := cookiesOf(w.Header())
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "https://login.example.com/out" ||
		len(p.left) != 1 || p.left[0].Token != "alice@there" || p.left[0].Sealed != "session" {
		t.Errorf("%d, %+v", w.Code, p.left)
	}
	for _, name := range []string{"argocd.token", "towline.refresh", "towline.refresh-1"} {
		if c := got[name]; c == nil || c.MaxAge >= 0 {
			t.Errorf("the browser keeps %s", name)
		}
	}
	if p.refreshed != 0 {
		t.Error("whoever goes was let go on first")
	}
	w = ask(t, s.Handler(), http.MethodGet, "/auth/logout", "", append([]string{"Sec-Fetch-Site", "cross-site"}, cookie...)...)
	if len(cookiesOf(w.Header())) != 0 || p.left[1].Token != "" || p.left[1].Sealed != "" {
		t.Errorf("another site signs people out: %+v", p.left[1])
	}
}

// What everybody may know of the login provider, as Argo CD tells it.
func TestSettingsTellOfTheProvider(t *testing.T) {
	s, _ := withProvider(t)
	w := ask(t, s.Handler(), http.MethodGet, "/api/v1/settings?fields=oidcConfig,dexConfig", "")
	want := `{"oidcConfig":{"cliClientID":"cli","clientID":"web","idTokenClaims":{"groups":{"essential":true}},"issuer":"https://login.example.com","name":"Okta"}}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("got %s", got)
	}
	o := options(newWorld())
	o.Settings = func() server.Settings {
		return server.Settings{SSO: server.SSO{Issuer: "x", Connectors: []sso.Connector{{Name: "GitHub", Type: "github"}}}}
	}
	w = ask(t, newServer(t, o).Handler(), http.MethodGet, "/api/v1/settings?fields=oidcConfig,dexConfig", "")
	if got := strings.TrimSpace(w.Body.String()); got != `{"dexConfig":{"connectors":[{"name":"GitHub","type":"github"}]}}` {
		t.Errorf("got %s", got)
	}
}

// Without a login provider the routes say so.
func TestNoProvider(t *testing.T) {
	s := newServer(t, options(newWorld()))
	for _, path := range []string{"/auth/login", "/auth/callback", "/auth/logout", "/api/dex/auth"} {
		if w := ask(t, s.Handler(), http.MethodGet, path, ""); w.Code != http.StatusNotImplemented {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
