package sso

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/sso"
)

// house is a login provider of our own making: it lets everybody in as alice, and can be told to misbehave.
type house struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu sync.Mutex
	// codes are those that were given, and sessions the tokens that one goes on by.
	codes    map[string]url.Values
	sessions map[string]string
	// change is what tokens say otherwise, and sign how they are signed; nil is as it should be.
	change jwt.MapClaims
	sign   func(jwt.MapClaims) string
	asked  map[string]int
	down   bool
	now    func() time.Time
}

func newHouse(t *testing.T) *house {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{key: key, codes: map[string]url.Values{}, sessions: map[string]string{}, asked: map[string]int{}, now: time.Now}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", h.describe)
	mux.HandleFunc("GET /keys", h.keys)
	mux.HandleFunc("GET /authorize", h.authorize)
	mux.HandleFunc("POST /token", h.token)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked[r.URL.Path]++
		down := h.down
		h.mu.Unlock()
		if down {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (h *house) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize", "token_endpoint": h.URL + "/token", "jwks_uri": h.URL + "/keys",
		"response_types_supported": []string{"code"}, "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"scopes_supported": []string{"openid", "offline_access"},
	})
}

func (h *house) keys(w http.ResponseWriter, _ *http.Request) {
	n := base64.RawURLEncoding.EncodeToString(h.key.N.Bytes())
	e := base64.RawURLEncoding.EncodeToString(big.NewInt(int64(h.key.E)).Bytes())
	answer(w, http.StatusOK, map[string]any{"keys": []map[string]string{{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", "n": n, "e": e}}})
}

// authorize gives a code at once.
func (h *house) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "something is missing", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	h.mu.Lock()
	h.codes[code] = q
	h.mu.Unlock()
	back, _ := url.Parse(q.Get("redirect_uri"))
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// token takes a code once, from whoever asked for it.
func (h *house) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	id, password, basic := r.BasicAuth()
	if !basic {
		id, password = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	no := func(why string) { answer(w, http.StatusBadRequest, map[string]string{"error": why}) }
	if id == "web" && password != "hunter2" {
		no("invalid_client")
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	claims := h.claims(id)
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked, ok := h.codes[r.PostForm.Get("code")]
		delete(h.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || asked.Get("client_id") != id || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
			no("invalid_grant")
			return
		}
		claims["nonce"] = asked.Get("nonce")
	case "refresh_token":
		if h.sessions[r.PostForm.Get("refresh_token")] != id {
			no("invalid_grant")
			return
		}
		delete(h.sessions, r.PostForm.Get("refresh_token"))
	default:
		no("unsupported_grant_type")
		return
	}
	maps.Copy(claims, h.change)
	next := rand.Text()
	h.sessions[next] = id
	answer(w, http.StatusOK, map[string]any{
		"access_token": "x", "token_type": "Bearer", "expires_in": 60, "id_token": h.signed(claims), "refresh_token": next,
	})
}

// claims are what a token of alice says.
func (h *house) claims(audience string) jwt.MapClaims {
	now := h.now()
	return jwt.MapClaims{
		"iss": h.URL, "sub": "alice", "aud": audience, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(), "email": "alice@example.com",
		"email_verified": true, "groups": []string{"dev", "ops"}, "jti": rand.Text(),
	}
}

func (h *house) signed(claims jwt.MapClaims) string {
	if h.sign != nil {
		return h.sign(claims)
	}
	return sign(jwt.SigningMethodRS256, h.key, "one", claims)
}

func sign(method jwt.SigningMethod, key any, id string, claims jwt.MapClaims) string {
	t := jwt.NewWithClaims(method, claims)
	t.Header["kid"] = id
	text, err := t.SignedString(key)
	if err != nil {
		panic(fmt.Sprint("signing: ", err))
	}
	return text
}

func (h *house) count(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[path]
}

func (h *house) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// stage is a provider that knows a house, with a clock.
type stage struct {
	*Provider
	house *house
	mu    sync.Mutex
	moved time.Duration
	raw   map[string]string
	set   *sso.Config
}

func newStage(t *testing.T, more string) *stage {
	t.Helper()
	h := newHouse(t)
	s := &stage{house: h, raw: map[string]string{
		"url":         "https://cd.example.com",
		"oidc.config": "{issuer: '" + h.URL + "', clientID: web, clientSecret: $secret, cliClientID: cli" + more + "}",
	}}
	s.set = s.read()
	now := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return time.Now().Add(s.moved)
	}
	h.now = now
	s.Provider = New(Options{
		Config: func() *sso.Config { return s.set }, Scopes: func() []string { return []string{"groups"} }, Now: now,
		Key: func() secret.Text { return secret.New("sealing") }, Lasts: func() time.Duration { return 24 * time.Hour },
	})
	return s
}

func (s *stage) read() *sso.Config {
	return sso.Read(sso.Input{Data: s.raw, Lookup: func(string) (secret.Text, bool) { return secret.New("hunter2"), true }})
}

func (s *stage) move(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved += d
}

// away is somebody who went to the house and comes back with an answer.
func (s *stage) away(t *testing.T) (url.Values, string) {
	t.Helper()
	d, err := s.Begin(t.Context(), Wish{Host: "cd.example.com", Return: "/applications"})
	if err != nil {
		t.Fatal(err)
	}
	return visitHouse(t, d.URL).Query(), d.Sealed
}

// visitHouse goes where a browser would, and tells where it is sent then.
func visitHouse(t *testing.T, address string) *url.URL {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	to, err := got.Location()
	if err != nil {
		t.Fatalf("%s: %s, %v", address, got.Status, err)
	}
	return to
}
