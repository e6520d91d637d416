package api_test

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// served is a route as the document of the API has it.
type served struct {
	method, pattern string
	open            bool
}

// routes are those that the server says that it has.
func (s *stage) routes() []served {
	s.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security *[]any `json:"security"`
		}
	}
	s.must(json.Unmarshal(s.get("/swagger.json"), &doc))
	var out []served
	for pattern, methods := range doc.Paths {
		for method, op := range methods {
			out = append(out, served{method: strings.ToUpper(method), pattern: pattern, open: op.Security != nil && len(*op.Security) == 0})
		}
	}
	slices.SortFunc(out, func(a, b served) int { return strings.Compare(a.pattern+a.method, b.pattern+b.method) })
	if len(out) < 60 {
		s.Fatalf("the document has only %d routes", len(out))
	}
	return out
}

// at fills the parameters of a pattern.
func (h hosted) at(pattern, app string) string {
	project := strings.Contains(pattern, "/projects/")
	set := strings.Contains(pattern, "/applicationsets/")
	return regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(pattern, func(m string) string {
		switch m {
		case "{name}":
			switch {
			case project:
				return h["project"]
			case set:
				return h["set"]
			case strings.Contains(pattern, "/account/"):
				return h["account"]
			}
			return app
		case "{repo}", "{revision}":
			return h[strings.Trim(m, "{}")]
		case "{keyID}":
			return h["key"]
		case "{id}":
			return "https%3A%2F%2F127.0.0.1%3A1"
		}
		return "x"
	})
}

func (h hosted) query() string {
	return "?kind=Secret&version=v1&namespace=" + h["dest"] + "&resourceName=login&tailLines=5"
}

// forger makes tokens of all kinds that must not be let in.
type forger struct {
	*stage
	key []byte
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (f forger) token(header, claims map[string]any, sign func(text string) []byte) string {
	text := encoded(header) + "." + encoded(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(text))
}

func (f forger) hs256(key []byte) func(string) []byte {
	return func(text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
}

func claims(change map[string]any) map[string]any {
	now := time.Now().Unix()
	out := map[string]any{"iss": "argocd", "sub": "admin:login", "iat": now, "nbf": now, "exp": now + 3600, "jti": "forged", "aud": "argocd"}
	for k, v := range change {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

// forged are tokens that must not be let in, by what is wrong with them.
func (f forger) forged() map[string]string {
	f.Helper()
	now := time.Now().Unix()
	header := map[string]any{"alg": "HS256", "typ": "JWT"}
	good := f.hs256(f.key)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	f.must(err)
	public, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	f.must(err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return map[string]string{
		"nonsense":                              "nonsense",
		"three empty parts":                     "..",
		"no algorithm":                          f.token(map[string]any{"alg": "none", "typ": "JWT"}, claims(nil), func(string) []byte { return nil }),
		"another algorithm":                     f.token(map[string]any{"alg": "HS512", "typ": "JWT"}, claims(nil), good),
		"another key":                           f.token(header, claims(nil), f.hs256([]byte("another"))),
		"an empty key":                          f.token(header, claims(nil), f.hs256(nil)),
		"signed by RSA":                         f.token(map[string]any{"alg": "RS256", "typ": "JWT"}, claims(nil), signRSA(f, rsaKey)),
		"public key as secret":                  f.token(header, claims(nil), f.hs256(publicPEM)),
		"another issuer":                        f.token(header, claims(map[string]any{"iss": "somebody"}), good),
		"another audience":                      f.token(header, claims(map[string]any{"aud": "somebody-else"}), good),
		"expired":                               f.token(header, claims(map[string]any{"iat": now - 7200, "nbf": now - 7200, "exp": now - 3600}), good),
		"not yet":                               f.token(header, claims(map[string]any{"nbf": now + 3600, "iat": now + 3600, "exp": now + 7200}), good),
		"nobody":                                f.token(header, claims(map[string]any{"sub": "nobody:login"}), good),
		"an account's token that is on no list": f.token(header, claims(map[string]any{"sub": "dev:apiKey"}), good),
		"a role that does not exist":            f.token(header, claims(map[string]any{"sub": "proj:web:nobody", "jti": "x"}), good),
	}
}

func signRSA(f forger, key *rsa.PrivateKey) func(string) []byte {
	return func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		out, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		f.must(err)
		return out
	}
}

// TestNobodyComesInWithABadToken walks every route with every kind of token that is no good.
func TestNobodyComesInWithABadToken(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.start()
	key := s.kubectl("", "-n", s.control, "get", "secret", "argocd-secret", "-o", `go-template={{index .data "server.secretkey" | base64decode}}`)
	f := forger{s, []byte(key)}
	// That the forger knows how is shown by a token that is good.
	bad := f.forged()
	bad["none"] = ""
	ended := s.login("admin", s.initialPassword())
	if code, body := s.ask(http.MethodDelete, "/api/v1/session", ended, ""); code != http.StatusOK {
		t.Fatalf("signing out: %d %s", code, body)
	}
	bad["ended"] = ended
	const told = `{"error":"no session information","code":16,"message":"no session information"}` + "\n"
	for _, r := range s.routes() {
		if r.open {
			continue
		}
		for what, token := range bad {
			at := names.at(r.pattern, "shop")
			if code, body := s.ask(r.method, at, token, "{}"); code != http.StatusUnauthorized || string(body) != told {
				t.Errorf("%s %s with a token that is %s: %d %s", r.method, at, what, code, body)
			}
			if code, body := s.ask(r.method, "/"+at, token, "{}"); code == http.StatusOK {
				t.Errorf("%s /%s with a token that is %s: %d %s", r.method, at, what, code, body)
			}
		}
	}
}

// TestAbsentAndForbiddenAreTheSame asks for what the caller may not see, and for what is not there.
func TestAbsentAndForbiddenAreTheSame(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.start()
	password := "a-password-of-dev"
	code, body := s.ask(http.MethodPut, "/api/v1/account/password", s.token, fmt.Sprintf(`{"name":"dev","currentPassword":%q,"newPassword":%q}`, s.initialPassword(), password))
	if code != http.StatusOK {
		t.Fatalf("giving dev a password: %d %s", code, body)
	}
	dev := s.login("dev", password)
	for _, r := range s.routes() {
		if r.method != http.MethodGet || !strings.Contains(r.pattern, "/applications/{name}") {
			continue
		}
		for _, query := range []string{names.query(), names.query() + "&project=default"} {
			hidden, hiddenBody := s.ask(r.method, names.at(r.pattern, "vault")+query, dev, "")
			gone, goneBody := s.ask(r.method, names.at(r.pattern, "nobody")+query, dev, "")
			if hidden != http.StatusForbidden || hidden != gone || !bytes.Equal(hiddenBody, goneBody) {
				t.Errorf("%s%s: %d %s, and %d %s", r.pattern, query, hidden, hiddenBody, gone, goneBody)
			}
		}
	}
	if code, body := s.ask(http.MethodGet, "/api/v1/applications/shop", dev, ""); code != http.StatusOK {
		t.Errorf("what dev may see: %d %s", code, body)
	}
	if _, body := s.ask(http.MethodGet, "/api/v1/applications", dev, ""); bytes.Contains(body, []byte("vault")) {
		t.Error("the list of dev has what dev may not see")
	}
}

// TestNoSecretComesOut plants secrets wherever they may stand, asks everything, and looks everywhere.
func TestNoSecretComesOut(t *testing.T) {
	s := newStage(t)
	names := s.furnish()
	s.start()
	s.await("shop")
	answered := 0
	leaks := func(where string, text []byte) {
		t.Helper()
		for _, word := range leaked(text) {
			t.Errorf("%s has %s", where, word)
		}
	}
	for _, r := range s.routes() {
		for _, app := range []string{"shop", "leaky"} {
			at := names.at(r.pattern, app) + names.query()
			if strings.HasPrefix(r.pattern, "/download/") || r.method == http.MethodDelete || strings.HasPrefix(r.pattern, "/api/v1/stream/") {
				continue
			}
			code, body := s.ask(r.method, at, s.token, `{"source":{"path":"web"}}`)
			leaks(r.method+" "+at, body)
			if code == http.StatusOK {
				answered++
			}
		}
	}
	if answered < 60 {
		t.Errorf("only %d questions were answered", answered)
	}
	// Errors repeat what they were given, if nobody takes care.
	for _, path := range []string{
		"/api/v1/repositories/" + canary + "path", "/api/v1/applications/x?selector=" + canary + "%3D%3D%3D",
	} {
		_, body := s.ask(http.MethodGet, path, "", "")
		leaks(path, body)
	}
	leaks("the log", []byte(s.log.String()))
	leaks("the events", []byte(s.kubectl("", "-n", s.control, "get", "events", "-o", "json")))
	leaks("the events of the destination", []byte(s.kubectl("", "-n", s.dest, "get", "events", "-o", "json")))
	metrics := s.log.await(t, regexp.MustCompile(`msg="serving metrics" address=(\S+)`))[1]
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+metrics+"/metrics", nil)
	s.must(err)
	response, err := s.client.Do(r)
	s.must(err)
	defer func() { _ = response.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(response.Body)
	s.must(err)
	leaks("the metrics", b.Bytes())
}

var (
	plainWord   = regexp.MustCompile(canary + `[a-z]+`)
	encodedWord = regexp.MustCompile(`[A-Za-z0-9+/]{12,}={0,2}`)
)

// leaked finds the canaries of a text, encoded ones too.
func leaked(text []byte) []string {
	var out []string
	for _, m := range plainWord.FindAll(text, -1) {
		out = append(out, string(m))
	}
	for _, m := range encodedWord.FindAll(text, -1) {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(m), "="))
		if err == nil && bytes.Contains(plain, []byte(canary)) {
			out = append(out, fmt.Sprintf("%s, encoded", plain))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestTheStockClientIsAnswered: it speaks gRPC, and must be told at once what to do.
func TestTheStockClientIsAnswered(t *testing.T) {
	s := newStage(t)
	s.start()
	for _, kind := range []string{"application/grpc", "application/grpc-web+proto"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/version.VersionService/Version", bytes.NewReader(make([]byte, 5)))
		s.must(err)
		r.Header.Set("Content-Type", kind)
		response, err := s.client.Do(r)
		s.must(err)
		_ = response.Body.Close()
		if response.ProtoMajor != 2 || response.Header.Get("Grpc-Status") != "12" || !strings.Contains(response.Header.Get("Grpc-Message"), "towline") {
			t.Errorf("%s: %s %v", kind, response.Proto, response.Header)
		}
	}
	code, program := s.ask(http.MethodGet, "/download/argocd-linux-amd64", "", "")
	if code != http.StatusOK || !bytes.HasPrefix(program, []byte("\x7fELF")) {
		t.Errorf("the download: %d, %d bytes", code, len(program))
	}
}
