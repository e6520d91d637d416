package source

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	core "github.com/towline-cd/towline/internal/core/repository"
)

const canary = "hunter2-canary"

// book is a Book that a test may change.
type book struct {
	mu  sync.Mutex
	set *core.Set
}

func (b *book) current() *core.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

func (b *book) For(url, project string) core.Repository { return b.current().For(url, project) }
func (b *book) Trust() core.Trust                       { return b.current().Trust() }

func (b *book) write(trust core.Trust, entries ...core.Repository) *book {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = core.NewSet(entries, nil, trust)
	return b
}

// spy is a program that writes down what it is told and then is git. It is there before any test starts a process: a file
// that is being written cannot be run, and a process that is being started holds on to it.
var spy string

// spyRecord names the variable with the file that the spy writes to.
const spyRecord = "SPY_RECORD"

// writeSpy makes the spy in a folder.
func writeSpy(dir string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	spy = filepath.Join(dir, "git")
	script := fmt.Sprintf("#!/bin/sh\n{ echo \"$@\"; env; } >>\"$%s\"\nexec %s \"$@\"\n", spyRecord, git)
	return os.WriteFile(spy, []byte(script), 0o700)
}

// spied is a git that writes down its arguments and its environment before it does its work, and the store that has it.
func spied(t *testing.T, b core.Book) (*Store, func() string) {
	t.Helper()
	record := filepath.Join(t.TempDir(), "record")
	store := newStore(t, func(o *Options) { o.Git, o.Book, o.Env = spy, b, []string{spyRecord + "=" + record} })
	return store, func() string {
		data, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// wantNothingLeft checks that no secret is anywhere that outlives a call.
func wantNothingLeft(t *testing.T, store *Store, record string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(record, secret) || strings.Contains(record, base64.StdEncoding.EncodeToString([]byte(secret))) {
			t.Errorf("git's arguments or environment have %q", secret)
		}
	}
	if left, err := os.ReadDir(store.vault.dir); store.vault.dir != "" && (err != nil || len(left) != 0) {
		t.Errorf("the private folder holds %v, %v", left, err)
	}
	err := filepath.WalkDir(store.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			if strings.Contains(string(data), secret) || strings.Contains(path, secret) {
				t.Errorf("%s has %q", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestLoginsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry  core.Repository
		header string
	}{
		"user and password":  {core.Repository{Username: "bot", Password: core.NewSecret(canary)}, basic("bot", canary)},
		"a token alone":      {core.Repository{Password: core.NewSecret(canary)}, basic("x-access-token", canary)},
		"odd characters":     {core.Repository{Username: "b'o t", Password: core.NewSecret(`p"\'$@:` + canary)}, basic("b'o t", `p"\'$@:`+canary)},
		"unasked":            {core.Repository{Username: "bot", Password: core.NewSecret(canary), ForceBasicAuth: true}, basic("bot", canary)},
		"a bearer token":     {core.Repository{BearerToken: core.NewSecret(canary)}, "Bearer " + canary},
		"an odd bearer":      {core.Repository{BearerToken: core.NewSecret(`a"b\c;#` + canary)}, `Bearer a"b\c;#` + canary},
		"bearer before user": {core.Repository{Username: "bot", BearerToken: core.NewSecret(canary)}, "Bearer " + canary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newGitServer(t)
			repo := server.repo(t, "shop.git")
			commit := repo.commit("main", map[string]string{"a": "1"})
			server.set(func(s *gitServer) { s.login = test.header })
			entry := test.entry
			entry.URL, entry.Project = repo.url, "blue"
			b := (&book{}).write(core.Trust{}, entry)
			store, record := spied(t, b)

			blue := manifest.Origin{RepoURL: repo.url, Revision: "main", Project: "blue"}
			if got, _, err := store.Resolve(t.Context(), blue, 0); err != nil || got != commit {
				t.Fatalf("Resolve = %s, %v", got, err)
			}
			content, err := store.Tree(t.Context(), blue, commit)
			if err != nil {
				t.Fatal(err)
			}
			defer content.(*snapshot).Close()
			if data, err := fs.ReadFile(content, "a"); err != nil || string(data) != "1" {
				t.Errorf("ReadFile = %q, %v", data, err)
			}
			wantNothingLeft(t, store, record(), canary, test.header)

			// Another project has no login, and does not find what this one fetched.
			red := manifest.Origin{RepoURL: repo.url, Revision: "main", Project: "red"}
			_, _, err = store.Resolve(t.Context(), red, time.Hour)
			wantFault(t, err, fault.Terminal, "AuthenticationFailed")
			_, err = store.Tree(t.Context(), red, commit)
			wantFault(t, err, fault.Terminal, "AuthenticationFailed")

			// A changed secret counts at once, and its mistake is told without it.
			entry.Password, entry.BearerToken = core.NewSecret("wrong-"+canary), core.Secret{}
			b.write(core.Trust{}, entry)
			_, _, err = store.Resolve(t.Context(), blue, time.Hour)
			wantFault(t, err, fault.Terminal, "AuthenticationFailed")
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("the message %q has the password", err)
			}
			if asks, _ := store.Stats(); asks != 3 {
				t.Errorf("%d questions, want 3", asks)
			}
		})
	}
}

// Whatever a server answers, a login is not taken to another one.
func TestRedirectsDoNotTakeLoginsAlong(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]core.Repository{
		"asked for":   {Username: "bot", Password: core.NewSecret(canary)},
		"unasked":     {Username: "bot", Password: core.NewSecret(canary), ForceBasicAuth: true},
		"bearer":      {BearerToken: core.NewSecret(canary)},
		"in the URL":  {},
		"when signed": {Username: "bot", Password: core.NewSecret(canary), Name: "redirect only who signed in"},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := newGitServer(t)
			stolen := elsewhere.repo(t, "shop.git")
			stolen.commit("main", map[string]string{"a": "evil"})
			elsewhere.set(func(s *gitServer) {
				s.instead = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Header.Get("Authorization") == "" {
						w.Header().Set("WWW-Authenticate", `Basic realm="give it to me"`)
						w.WriteHeader(http.StatusUnauthorized)
						return true
					}
					return false
				}
			})
			server := newGitServer(t)
			server.set(func(s *gitServer) {
				s.instead = func(w http.ResponseWriter, r *http.Request) bool {
					if entry.Name != "" && r.Header.Get("Authorization") == "" {
						w.Header().Set("WWW-Authenticate", "Basic")
						w.WriteHeader(http.StatusUnauthorized)
						return true
					}
					http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
					return true
				}
			})
			at := server.URL + "/shop.git"
			if name == "in the URL" {
				at = strings.Replace(at, "://", "://bot:"+canary+"@", 1)
			}
			one := entry
			one.URL = at
			store := newStore(t, func(o *Options) { o.Book = (&book{}).write(core.Trust{}, one) })
			_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: at, Revision: "main"}, 0)
			if err == nil || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("Resolve = %v", err)
			}
			elsewhere.mu.Lock()
			defer elsewhere.mu.Unlock()
			for _, header := range elsewhere.seen {
				if header != "" {
					t.Errorf("the other host was sent %q", header)
				}
			}
		})
	}
}

// A server that asks for nothing is not told anything either, also not with the second request.
func TestRedirectsToAnOpenServer(t *testing.T) {
	for name, entry := range map[string]core.Repository{
		"asked for": {Username: "bot", Password: core.NewSecret(canary)},
		"unasked":   {Username: "bot", Password: core.NewSecret(canary), ForceBasicAuth: true},
		"bearer":    {BearerToken: core.NewSecret(canary)},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere, server := newGitServer(t), newGitServer(t)
			elsewhere.repo(t, "shop.git").commit("main", map[string]string{"a": "evil"})
			server.set(func(s *gitServer) {
				s.instead = func(w http.ResponseWriter, r *http.Request) bool {
					http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
					return true
				}
			})
			one := entry
			one.URL = server.URL + "/shop.git"
			store := newStore(t, func(o *Options) { o.Book = (&book{}).write(core.Trust{}, one) })
			_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: one.URL, Revision: "main"}, 0)
			if name != "asked for" {
				wantFault(t, err, fault.Terminal, "RepositoryMoved")
			}
			elsewhere.mu.Lock()
			defer elsewhere.mu.Unlock()
			for _, header := range elsewhere.seen {
				if header != "" {
					t.Errorf("the other host was sent %q", header)
				}
			}
		})
	}
}

// Some servers lead everybody to the spelling with .git, on the same host.
func TestRedirectToTheOtherSpelling(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]core.Repository{
		"asked for": {Username: "bot", Password: core.NewSecret(canary)},
		"bearer":    {BearerToken: core.NewSecret(canary)},
	} {
		t.Run(name, func(t *testing.T) {
			server := newGitServer(t)
			repo := server.repo(t, "shop.git")
			commit := repo.commit("main", map[string]string{"a": "1"})
			server.set(func(s *gitServer) {
				s.login = basic("bot", canary)
				if name == "bearer" {
					s.login = "Bearer " + canary
				}
				s.instead = func(w http.ResponseWriter, r *http.Request) bool {
					if strings.Contains(r.URL.Path, ".git/") {
						return false
					}
					http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "/shop/", "/shop.git/", 1), http.StatusMovedPermanently)
					return true
				}
			})
			one := entry
			one.URL = server.URL + "/shop"
			store := newStore(t, func(o *Options) { o.Book = (&book{}).write(core.Trust{}, one) })
			if got := resolve(t, store, one.URL, "main"); got != commit {
				t.Errorf("Resolve = %s", got)
			}
			tree(t, store, one.URL, commit)
		})
	}
}

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (a authority) issue(t *testing.T, hosts ...string) (certPEM, keyPEM string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: hosts,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t), newAuthority(t)
	certificate, key := ours.issue(t, "localhost")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	start := func(demand bool) (bareRepo, string) {
		server := unstartedGitServer(t)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		if demand {
			server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			server.TLS.ClientCAs.AddCert(ours.cert)
		}
		server.StartTLS()
		server.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
		repo := server.repo(t, "shop.git")
		return repo, repo.commit("main", map[string]string{"a": "1"})
	}
	plain, commit := start(false)
	strict, strictCommit := start(true)
	trust := func(pem string) core.Trust { return core.Trust{Certificates: map[string]string{"localhost": pem}} }
	clientCert, clientKey := ours.issue(t, "client")
	strangeCert, strangeKey := other.issue(t, "client")
	client := func(cert, key string) core.Repository {
		return core.Repository{TLSClientCert: cert, TLSClientKey: core.NewSecret(key)}
	}
	for name, test := range map[string]struct {
		repo   bareRepo
		trust  core.Trust
		entry  core.Repository
		want   string // a commit
		reason string
	}{
		"our authority":              {plain, trust(ours.pem), core.Repository{}, commit, ""},
		"another authority":          {plain, trust(other.pem), core.Repository{}, "", "CertificateInvalid"},
		"none":                       {plain, core.Trust{}, core.Repository{}, "", "CertificateInvalid"},
		"none, and it does not mind": {plain, core.Trust{}, core.Repository{Insecure: true}, commit, ""},
		"a client":                   {strict, trust(ours.pem), client(clientCert, clientKey), strictCommit, ""},
		"no client":                  {strict, trust(ours.pem), core.Repository{}, "", "GitFailed"},
		"a strange client":           {strict, trust(ours.pem), client(strangeCert, strangeKey), "", "GitFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			entry := test.entry
			entry.URL = test.repo.url
			store, record := spied(t, (&book{}).write(test.trust, entry))
			got, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: test.repo.url, Revision: "main"}, 0)
			if got != test.want || fault.ReasonOf(err) != test.reason {
				t.Errorf("Resolve = %q, %v; want %q, %s", got, err, test.want, test.reason)
			}
			if test.want != "" {
				tree(t, store, test.repo.url, test.want)
			}
			wantNothingLeft(t, store, record(), "PRIVATE KEY")
		})
	}
}

func TestProxy(t *testing.T) {
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	var mu sync.Mutex
	passed := 0
	behind, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != basic("bot", canary) {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		mu.Lock()
		passed++
		mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	count := func() int { mu.Lock(); defer mu.Unlock(); return passed }
	at := "http://git.example.invalid/shop.git"
	through := strings.Replace(proxy.URL, "://", "://bot:"+canary+"@", 1)

	store, record := spied(t, (&book{}).write(core.Trust{}, core.Repository{URL: at, Proxy: through}))
	if got := resolve(t, store, at, "main"); got != commit || count() == 0 {
		t.Errorf("Resolve = %s, by the proxy %d times", got, count())
	}
	wantNothingLeft(t, store, record(), canary)

	before := count()
	direct := newStore(t, func(o *Options) {
		o.Book = (&book{}).write(core.Trust{}, core.Repository{URL: repo.url, Proxy: through, NoProxy: "127.0.0.1"})
	})
	if got := resolve(t, direct, repo.url, "main"); got != commit || count() != before {
		t.Errorf("Resolve = %s, by the proxy %d times more", got, count()-before)
	}
	for _, bad := range []string{"socks5://h;id", "ext::sh", "http://", "file:///etc/passwd", "http://a b/", "http://h\n"} {
		store := newStore(t, func(o *Options) { o.Book = (&book{}).write(core.Trust{}, core.Repository{URL: repo.url, Proxy: bad}) })
		_, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
		wantFault(t, err, fault.Terminal, "ProxyRefused")
	}
}

// rsaKey is a key as GitHub gives them to apps.
func rsaKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024) // quick to make
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

func TestGitHubApp(t *testing.T) {
	t.Parallel()
	key, private := rsaKey(t)
	_, other := rsaKey(t)
	now := time.Now()
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v3/app/installations/22/access_tokens" || r.Method != http.MethodPost {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		if len(parts) != 3 {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		var said struct {
			Iss      string
			Iat, Exp int64
		}
		if json.Unmarshal(claims, &said) != nil || said.Iss != "11" || said.Exp-said.Iat > 600 ||
			rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
			http.Error(w, "wrong proof", http.StatusUnauthorized)
			return
		}
		asked++
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": canary, "expires_at": now.Add(time.Hour)})
	}))
	t.Cleanup(api.Close)
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	server.set(func(s *gitServer) { s.login = basic("x-access-token", canary) })

	entry := core.Repository{URL: repo.url, GitHubApp: core.GitHubApp{
		ID: 11, InstallationID: 22, PrivateKey: core.NewSecret(private), BaseURL: api.URL + "/api/v3/",
	}}
	clock := now
	store := newStore(t, func(o *Options) {
		o.Book, o.Now = (&book{}).write(core.Trust{}, entry), func() time.Time { return clock }
	})
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {54 * time.Minute, 1}, {56 * time.Minute, 2}} {
		clock = now.Add(step.after)
		if got := resolve(t, store, repo.url, "main"); got != commit || asked != step.asked {
			t.Errorf("after %v Resolve = %s and a token was asked for %d times, want %d", step.after, got, asked, step.asked)
		}
	}
	tree(t, store, repo.url, commit)

	for name, app := range map[string]core.GitHubApp{
		"another key":     {ID: 11, InstallationID: 22, PrivateKey: core.NewSecret(other), BaseURL: api.URL + "/api/v3"},
		"no installation": {ID: 11, PrivateKey: core.NewSecret(private), BaseURL: api.URL},
		"no such app":     {ID: 11, InstallationID: 33, PrivateKey: core.NewSecret(private), BaseURL: api.URL + "/api/v3"},
		"not a key":       {ID: 11, InstallationID: 22, PrivateKey: core.NewSecret(canary), BaseURL: api.URL},
		"not a URL":       {ID: 11, InstallationID: 22, PrivateKey: core.NewSecret(private), BaseURL: "file:///etc"},
	} {
		bad := newStore(t, func(o *Options) {
			o.Book = (&book{}).write(core.Trust{}, core.Repository{URL: repo.url, GitHubApp: app})
		})
		_, _, err := bad.Resolve(t.Context(), manifest.Origin{RepoURL: repo.url, Revision: "main"}, 0)
		if fault.ClassOf(err) != fault.Terminal || strings.Contains(fmt.Sprint(err), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrivateFolderOfAKilledProcessIsRemoved(t *testing.T) {
	dir := t.TempDir()
	left, err := os.MkdirTemp("", vaultPrefix) //nolint:usetesting // its name is what is recognised
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "key"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "private"), []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
	newStore(t, func(o *Options) { o.Dir = dir })
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAskpassOnlyAnswersForItsHost(t *testing.T) {
	at, err := url.Parse("https://example.com:8443/shop")
	if err != nil {
		t.Fatal(err)
	}
	l := login{user: "bot", password: canary}
	for prompt, want := range map[string]string{
		"Username for 'https://example.com:8443': ":             "bot",
		"Password for 'https://bot@example.com:8443': ":         canary,
		"Password for 'https://b'o t@example.com:8443': ":       "",
		"Username for 'https://example.com': ":                  "",
		"Username for 'http://example.com:8443': ":              "",
		"Password for 'https://bot@evil.example.com:8443': ":    "",
		"Password for 'https://example.com:8443@evil.org:8443'": "",
		"Enter PEM pass phrase:":                                "",
	} {
		if got, ok := l.answer(prompt, at); got != want || ok != (want != "") {
			t.Errorf("answer(%q) = %q, %v", prompt, got, ok)
		}
	}
}
