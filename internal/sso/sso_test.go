package sso

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

func TestSignIn(t *testing.T) {
	s := newStage(t, "")
	query, sealed := s.away(t)
	a, err := s.Finish(t.Context(), query, sealed)
	if err != nil {
		t.Fatal(err)
	}
	if a.Return != "https://cd.example.com/applications" || a.Sealed == "" {
		t.Errorf("they arrive at %q, with a session that goes on: %t", a.Return, a.Sealed != "")
	}
	who, err := s.Verify(t.Context(), a.Token)
	if err != nil || who.Subject != "alice" || who.Username != "alice@example.com" {
		t.Errorf("%+v, %v", who, err)
	}
	if d := cmp.Diff([]string{"dev", "ops"}, who.Groups); d != "" {
		t.Error(d)
	}
	if strings.Contains(a.Sealed, "alice") {
		t.Error("the cookie tells whose it is")
	}
	// Everybody is asked for by one question.
	if got := s.house.count("/.well-known/openid-configuration"); got != 1 {
		t.Errorf("the provider was asked %d times what it can do", got)
	}
}

// What is not in order is refused, in words that have nothing of it, and nothing of it is in the log.
func TestBadTokens(t *testing.T) {
	s := newStage(t, "")
	h := s.house
	log := &bytes.Buffer{}
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(previous) })
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&h.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	changed := func(change jwt.MapClaims) string {
		c := h.claims("web")
		for k, v := range change {
			if v == nil {
				delete(c, k)
				continue
			}
			c[k] = v
		}
		return sign(jwt.SigningMethodRS256, h.key, "one", c)
	}
	good := changed(nil)
	if _, err := s.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	parts, now := strings.Split(good, "."), time.Now()
	head := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, token := range map[string]string{
		"no token":                   "let me in",
		"no algorithm":               sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "one", h.claims("web")),
		"no algorithm, in capitals":  head(`{"alg":"NONE","kid":"one"}`) + "." + parts[1] + ".",
		"no signature":               parts[0] + "." + parts[1] + ".",
		"HS256 with the public key":  sign(jwt.SigningMethodHS256, text, "one", h.claims("web")),
		"HS256 with its DER":         sign(jwt.SigningMethodHS256, public, "one", h.claims("web")),
		"HS256 with our secret":      sign(jwt.SigningMethodHS256, []byte("hunter2"), "one", h.claims("web")),
		"another key":                sign(jwt.SigningMethodRS256, other, "one", h.claims("web")),
		"a key that nobody has":      sign(jwt.SigningMethodRS256, other, "two", h.claims("web")),
		"a body of another":          parts[0] + "." + strings.Split(changed(jwt.MapClaims{"sub": "bob"}), ".")[1] + "." + parts[2],
		"another issuer":             changed(jwt.MapClaims{"iss": "https://elsewhere.example.com"}),
		"an issuer with a slash":     changed(jwt.MapClaims{"iss": h.URL + "/"}),
		"our own issuer":             changed(jwt.MapClaims{"iss": "argocd"}),
		"another audience":           changed(jwt.MapClaims{"aud": "somebody"}),
		"no audience":                changed(jwt.MapClaims{"aud": nil}),
		"expired":                    changed(jwt.MapClaims{"exp": now.Add(-time.Second).Unix()}),
		"no end":                     changed(jwt.MapClaims{"exp": nil}),
		"not valid yet":              changed(jwt.MapClaims{"nbf": now.Add(3 * time.Minute).Unix()}),
		"issued in the future":       changed(jwt.MapClaims{"iat": now.Add(time.Hour).Unix()}),
		"a role as subject":          changed(jwt.MapClaims{"sub": "role:admin"}),
		"an embedded key of its own": embedded(t, other, h.claims("web")),
	} {
		_, err := s.Verify(t.Context(), token)
		no, refused := errors.AsType[*sso.RefusalError](err)
		if !refused || no.Expired != (name == "expired") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for part := range strings.SplitSeq(token, ".") {
			if len(part) > 8 && strings.Contains(no.Error()+log.String(), part) {
				t.Errorf("%s: the token is told", name)
			}
		}
	}
}

// embedded is a token that brings its own key along.
func embedded(t *testing.T, key *rsa.PrivateKey, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["jwk"] = map[string]string{
		"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": "AQAB",
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAudiences(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		good []any
		bad  []any
	}{
		"by default":   {"", []any{"web", "cli", []string{"x", "web"}}, []any{"x", nil}},
		"named":        {", allowedAudiences: [x]", []any{"x"}, []any{"web", "cli", nil}},
		"none will do": {", skipAudienceCheckWhenTokenHasNoAudience: true", []any{"web", nil}, []any{"x"}},
	} {
		s := newStage(t, c.more)
		for _, list := range [][]any{c.good, c.bad} {
			for _, audience := range list {
				claims := s.house.claims("")
				if claims["aud"] = audience; audience == nil {
					delete(claims, "aud")
				}
				_, err := s.Verify(t.Context(), sign(jwt.SigningMethodRS256, s.house.key, "one", claims))
				if want := slices.ContainsFunc(c.good, func(g any) bool { return fmt.Sprint(g) == fmt.Sprint(audience) }); (err == nil) != want {
					t.Errorf("%s: for %v: %v", name, audience, err)
				}
			}
		}
	}
}

// Nothing that was used, changed, or meant for somebody else takes anybody in.
func TestReplays(t *testing.T) {
	s := newStage(t, "")
	query, sealed := s.away(t)
	otherQuery, otherSealed := s.away(t)
	refuses := func(name string, query url.Values, sealed string) {
		t.Helper()
		if a, err := s.Finish(t.Context(), query, sealed); err == nil || a.Token != "" {
			t.Errorf("%s: somebody came in (%v)", name, err)
		}
	}
	refuses("the cookie of another browser", query, otherSealed)
	refuses("the answer to another", otherQuery, sealed)
	refuses("no cookie", query, "")
	refuses("a changed cookie", query, sealed[:len(sealed)-2]+"AA")
	refuses("no state", url.Values{"code": query["code"]}, sealed)
	forged, err := seal(secret.New("another key"), forVisit, visit{State: query.Get("state"), At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	refuses("a cookie by another key", query, forged)
	asSession, err := seal(secret.New("sealing"), forSession, visit{State: query.Get("state"), At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	refuses("a cookie for something else", query, asSession)
	a, err := s.Finish(t.Context(), query, sealed)
	if err != nil {
		t.Fatal(err)
	}
	refuses("the same answer again", query, sealed)
	// The code of one visit in another: PKCE binds it to the browser that asked.
	stolen, mine := s.away(t)
	theirs, _ := s.away(t)
	stolen.Set("code", theirs.Get("code"))
	refuses("a stolen code", stolen, mine)
	// A provider that answers with a token of an older visit.
	nonce := ""
	s.house.set(func() { s.house.change = jwt.MapClaims{"nonce": "older"} })
	query, sealed = s.away(t)
	refuses("the token of another visit"+nonce, query, sealed)
	s.house.set(func() { s.house.change = nil })
	query, sealed = s.away(t)
	s.move(AwayTime + time.Second)
	refuses("after a long time", query, sealed)
	if _, err := s.Finish(t.Context(), url.Values{"error": {"access_denied"}, "state": query["state"]}, sealed); err == nil {
		t.Error("an error of the provider took somebody in")
	}
	_ = a
}

// A token for the command line is let in, but ends no visit of a browser.
func TestCodeForAnotherClient(t *testing.T) {
	s := newStage(t, "")
	s.house.set(func() { s.house.change = jwt.MapClaims{"aud": "cli"} })
	query, sealed := s.away(t)
	if _, err := s.Finish(t.Context(), query, sealed); err == nil {
		t.Error("a token of another client took a browser in")
	}
}

func TestReturnElsewhere(t *testing.T) {
	s := newStage(t, "")
	for _, bad := range []string{"https://evil.example.com", "//evil.example.com", "javascript:alert(1)", `/\evil.example.com`} {
		if d, err := s.Begin(t.Context(), Wish{Host: "cd.example.com", Return: bad}); err == nil {
			t.Errorf("%s: goes to %s", bad, d.URL)
		}
	}
}

func TestRefresh(t *testing.T) {
	s := newStage(t, "")
	query, sealed := s.away(t)
	a, err := s.Finish(t.Context(), query, sealed)
	if err != nil {
		t.Fatal(err)
	}
	if s.Due(a.Who.IssuedAt, a.Who.Expires) {
		t.Error("a new token is due already")
	}
	s.move(6 * time.Minute)
	if !s.Due(a.Who.IssuedAt, a.Who.Expires) {
		t.Error("a token that ends soon is not due")
	}
	// Many ask at once by a token that the provider takes once.
	var wg sync.WaitGroup
	tokens := make([]Arrival, 20)
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], err = s.Refresh(t.Context(), a.Sealed); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, next := range tokens {
		if next.Token != tokens[0].Token || next.Token == a.Token {
			t.Error("those who asked at once have other tokens")
		}
	}
	first, _ := s.Session(a.Sealed)
	second, ok := s.Session(tokens[0].Sealed)
	if !ok || first != second || first.Subject != "alice" || first.ID == "" {
		t.Errorf("the session was %+v and is %+v", first, second)
	}
	s.move(time.Minute)
	if _, err := s.Refresh(t.Context(), a.Sealed); err == nil {
		t.Error("an old cookie goes on long after")
	}
	again, err := s.Refresh(t.Context(), tokens[0].Sealed)
	if err != nil {
		t.Fatal(err)
	}
	s.house.set(func() { s.house.change = jwt.MapClaims{"sub": "bob"} })
	if _, err := s.Refresh(t.Context(), again.Sealed); err == nil {
		t.Error("a session goes on as somebody else")
	}
	s.house.set(func() { s.house.change = nil })
	for name, bad := range map[string]string{"nothing": "", "a visit": sealed, "changed": again.Sealed[1:]} {
		if _, err := s.Refresh(t.Context(), bad); err == nil {
			t.Errorf("%s goes on", name)
		}
	}
	s.move(25 * time.Hour)
	if _, err := s.Refresh(t.Context(), again.Sealed); err == nil {
		t.Error("a session goes on that nobody used for a day")
	}
}

// A provider that is away is asked again, not at every request, and known keys go on being good meanwhile.
func TestAway(t *testing.T) {
	s := newStage(t, "")
	token := sign(jwt.SigningMethodRS256, s.house.key, "one", s.house.claims("web"))
	s.house.set(func() { s.house.down = true })
	for range 5 {
		_, err := s.Verify(t.Context(), token)
		if _, refused := errors.AsType[*sso.RefusalError](err); err == nil || refused {
			t.Fatalf("while nobody can tell: %v", err)
		}
	}
	if got := s.house.count("/.well-known/openid-configuration"); got != 1 {
		t.Errorf("it was asked %d times in a moment", got)
	}
	s.house.set(func() { s.house.down = false })
	s.move(retry)
	if _, err := s.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	s.house.set(func() { s.house.down = true })
	if _, err := s.Verify(t.Context(), token); err != nil {
		t.Errorf("with known keys: %v", err)
	}
	s.house.set(func() { s.house.down = false })
	// Tokens with names of keys that nobody has do not have the keys asked for again and again.
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	before := s.house.count("/keys")
	for i := range 50 {
		if _, err := s.Verify(t.Context(), sign(jwt.SigningMethodRS256, other, fmt.Sprint("key", i), s.house.claims("web"))); err == nil {
			t.Fatal("anybody can sign")
		}
	}
	if got := s.house.count("/keys") - before; got > 1 {
		t.Errorf("fifty bad tokens had the keys asked for %d times", got)
	}
}

// Another configuration is another provider.
func TestConfigChanges(t *testing.T) {
	s := newStage(t, "")
	token := sign(jwt.SigningMethodRS256, s.house.key, "one", s.house.claims("web"))
	if _, err := s.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	s.raw["oidc.config"] = strings.Replace(s.raw["oidc.config"], "clientID: web", "clientID: another", 1)
	s.set = s.read()
	if _, err := s.Verify(t.Context(), token); err == nil {
		t.Error("a token for the client of before is good")
	}
	s.raw["oidc.config"] = ""
	s.set = s.read()
	if s.Issues(s.house.URL) {
		t.Error("a provider that was taken away issues tokens")
	}
	if _, err := s.Begin(t.Context(), Wish{}); err == nil {
		t.Error("somebody was sent nowhere")
	}
}

// The command line signs in by a browser on the same machine, by what somebody types, and goes on.
func TestTerminal(t *testing.T) {
	h := newHouse(t)
	terminal := Terminal{Provider: login.Provider{Issuer: h.URL, ClientID: "cli", Scopes: sso.DefaultScopes()}}
	never := func() (string, error) { <-t.Context().Done(); return "", t.Context().Err() }
	shown := make(chan string, 1)
	for name, p := range map[string]Prompt{
		"a browser here": {
			Port: freePort(t), Paste: never,
			Show: func(address string) {
				back := visitHouse(t, address)
				forged := *back
				forged.RawQuery = "code=x&state=y"
				if got := fetch(t, forged.String()); got != http.StatusBadRequest {
					t.Errorf("an answer to another question: %d", got)
				}
				if got := fetch(t, back.String()); got != http.StatusOK {
					t.Errorf("the browser came back: %d", got)
				}
			},
		},
		"a browser elsewhere": {
			Port: freePort(t), Show: func(address string) { shown <- visitHouse(t, address).String() },
			Paste: func() (string, error) { return <-shown, nil },
		},
		"a code": {
			Port: freePort(t), Show: func(address string) { shown <- visitHouse(t, address).Query().Get("code") },
			Paste: func() (string, error) { return <-shown, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := terminal.SignIn(t.Context(), p)
			if err != nil || got.Who != "alice@example.com" || got.Refresh.Empty() {
				t.Fatalf("%+v, %v", got, err)
			}
			next, err := terminal.Refresh(t.Context(), got.Refresh)
			if err != nil || next.Token.Reveal() == got.Token.Reveal() || next.Refresh.Empty() {
				t.Errorf("going on: %v", err)
			}
			if _, err := terminal.Refresh(t.Context(), got.Refresh); err == nil {
				t.Error("a token goes on twice")
			}
		})
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscan(at.Port(), &port); err != nil {
		t.Fatal(err)
	}
	return port
}

func fetch(t *testing.T, address string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	return got.StatusCode
}

// Dex is asked at its own address, and does not see the sessions of those who ask.
func TestDex(t *testing.T) {
	var seen http.Header
	var path string
	dex := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, path = r.Header.Clone(), r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(dex.Close)
	config := sso.Read(sso.Input{
		Data:   map[string]string{"url": "https://cd.example.com", "dex.config": "connectors: [{type: mockCallback, id: mock, name: Mock}]"},
		Params: map[string]string{"server.dex.server": dex.URL},
	})
	p := New(Options{Config: func() *sso.Config { return config }})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://cd.example.com/api/dex/auth?x=y", nil)
	r.Header.Set("Cookie", "argocd.token=2:a; argocd.token-1=b; towline.refresh=c; argocd.oauthstate=d; dex=e")
	w := httptest.NewRecorder()
	w.Header().Set("Content-Security-Policy", "form-action 'self'")
	p.ServeDex(w, r)
	if w.Code != http.StatusTeapot || path != "/api/dex/auth" || seen.Get("Cookie") != "dex=e" {
		t.Errorf("%d at %s with %q", w.Code, path, seen.Get("Cookie"))
	}
	if csp := w.Header()["Content-Security-Policy"]; len(csp) != 1 || strings.Contains(csp[0], "form-action") {
		t.Errorf("its pages are held to %q", csp)
	}
	config = &sso.Config{}
	w = httptest.NewRecorder()
	p.ServeDex(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("without a Dex: %d", w.Code)
	}
}
