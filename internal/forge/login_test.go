package forge_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/forge"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

// capture is a server of somebody else, who takes down all that he is told.
type capture struct {
	*httptest.Server
	mu   sync.Mutex
	told []string
}

func newCapture(t *testing.T) *capture {
	t.Helper()
	c := &capture{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told = append(c.told, fmt.Sprint(r.URL, r.Header, string(body)))
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *capture) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

// A redirect to another host is not followed: neither the login nor the question goes there.
func TestRedirects(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(1)}}
		elsewhere := newCapture(t)
		for _, status := range []int{301, 302, 303, 307, 308} {
			f.Do(func() {
				f.Before = func(w http.ResponseWriter, r *http.Request) bool {
					http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI()+"&token="+token, status)
					return true
				}
			})
			_, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope)
			if fault.ReasonOf(err) != "RedirectRefused" || fault.ClassOf(err) != fault.Terminal || strings.Contains(err.Error(), token) {
				t.Errorf("%d: %v", status, err)
			}
		}
		if heard := elsewhere.heard(); len(heard) > 0 {
			t.Errorf("somebody else heard %q", heard)
		}
		// A repository that was renamed is followed on the same host.
		f.Do(func() {
			f.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "shop") {
					return false
				}
				f.Repos[0].Name = "new"
				http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "shop", "new", 1), http.StatusMovedPermanently)
				return true
			}
		})
		if got, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); err != nil || len(got.Sets) != 1 {
			t.Errorf("%v, %v", got, err)
		}
		f.Do(func() {
			f.Before = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
				return true
			}
		})
		if _, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "RedirectRefused" {
			t.Error(err)
		}
	})
}

// A server that repeats the login in its refusal does not have it told.
func TestLoginIsNotTold(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		for _, status := range []int{400, 401, 403, 404, 422, 500} {
			f.Do(func() {
				f.Before = func(w http.ResponseWriter, r *http.Request) bool {
					w.WriteHeader(status)
					_ = json.NewEncoder(w).Encode(map[string]any{
						"message": "I do not like " + r.Header.Get("Authorization") + r.Header.Get("Private-Token") + "\n\x1b[31m" + strings.Repeat("x", 500),
					})
					return true
				}
			})
			_, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope)
			if err == nil || strings.Contains(err.Error(), token) || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 800 {
				t.Errorf("%d: %v", status, err)
			}
			if !strings.Contains(err.Error(), "I do not like") {
				t.Errorf("what the server says is not told: %v", err)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(1)}}
	s := newStore()
	labelled := secretOf("token", token)
	labelled.Labels[v1alpha1.LabelSecretType] = v1alpha1.SecretTypeSCMCreds
	s.secrets["team/labelled"] = labelled
	s.secrets["team/here"] = secretOf("token", token, "url", f.URL+"/acme")
	s.secrets["team/there"] = secretOf("token", token, "url", "https://git.example.com/acme")
	s.secrets["team/bytes"] = secretOf("token", "a\x00b"+token)
	s.secrets["argocd/other"] = secretOf("token", token)
	tests := []struct {
		name   string
		key    string
		strict bool
		reason string
	}{
		{"login", "token", false, ""},
		{"login", "none", false, "SecretIncomplete"},
		{"nobody", "token", false, "SecretMissing"},
		{"other", "token", false, "SecretMissing"}, // of another namespace
		{"bytes", "token", false, "SecretInvalid"},
		{"login", "token", true, "SecretNotAllowed"},
		{"labelled", "token", true, ""},
		{"here", "token", false, ""},
		{"there", "token", false, "SecretNotForHost"},
	}
	for i, tc := range tests {
		gen := pullsOf(f)
		gen.Github.TokenRef = &v1alpha1.SecretRef{SecretName: tc.name, Key: tc.key}
		forges := newForges(t, func(o *forge.Options) { o.Store, o.StrictTokenRefs = s, tc.strict })
		_, err := forges.PullRequests(t.Context(), gen, scope)
		if fault.ReasonOf(err) != tc.reason || (err == nil) != (tc.reason == "") {
			t.Errorf("case %d: %v", i, err)
		}
		if err != nil && (strings.Contains(err.Error(), token) || fault.ClassOf(err) != fault.Terminal) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	// What the cluster could not tell is not "no login".
	down := newStore()
	down.err = fault.Transientf("ServerDown", "no")
	f.Asked()
	if _, err := newForges(t, func(o *forge.Options) { o.Store = down }).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "ServerDown" {
		t.Error(err)
	}
	if asked := f.Asked(); len(asked) != 0 {
		t.Errorf("asked without a login: %v", asked)
	}
}

func TestAllowedForges(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(1)}}
	tests := []struct {
		allowed           []string
		disabled, tenants bool
		reason            string
	}{
		{nil, false, false, ""},
		{[]string{f.URL}, false, false, ""},
		{[]string{"https://git.example.com", f.URL + "/"}, false, false, ""},
		{[]string{strings.Replace(f.URL, "http", "HTTP", 1)}, false, false, ""},
		{[]string{"https://git.example.com/"}, false, false, "SCMProviderNotAllowed"},
		{[]string{f.URL + "/deeper"}, false, false, "SCMProviderNotAllowed"},
		{[]string{strings.Replace(f.URL, "http:", "https:", 1)}, false, false, "SCMProviderNotAllowed"},
		{[]string{""}, false, false, "SCMProviderNotAllowed"},
		{[]string{f.URL}, true, false, "SCMProvidersDisabled"},
		// A set outside of the control namespace.
		{nil, false, true, "SCMProviderNotAllowed"},
		{[]string{f.URL}, false, true, ""},
	}
	for i, tc := range tests {
		forges := newForges(t, func(o *forge.Options) { o.AllowedSCM, o.SCMDisabled, o.Tenants = tc.allowed, tc.disabled, tc.tenants })
		_, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
		if fault.ReasonOf(err) != tc.reason || (err == nil) != (tc.reason == "") {
			t.Errorf("case %d: %v", i, err)
		}
		if _, err := forges.Repositories(t.Context(), reposOf(f), scope); fault.ReasonOf(err) != tc.reason {
			t.Errorf("case %d: %v", i, err)
		}
		if tc.reason != "" && !strings.Contains(err.Error(), "applicationsetcontroller.") {
			t.Errorf("case %d: the way out is missing: %v", i, err)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for api, reason := range map[string]string{
		"http://169.254.169.254/": "AddressRefused", "http://[fe80::1]/": "AddressRefused", "http://[::ffff:169.254.169.254]/": "AddressRefused",
		"http://0.0.0.0/": "AddressRefused", "http://[64:ff9b::169.254.169.254]/": "AddressRefused", "http://[fd00:ec2::254]/": "AddressRefused",
		"ftp://git.example.com": "URLRefused", "https://user:" + token + "@git.example.com": "URLRefused", "https://git.example.com/?x=" + token: "URLRefused",
		"https://git.example.com/a/../b": "URLRefused", "git.example.com": "URLRefused", "https://": "URLRefused", "::": "URLRefused",
	} {
		gen := v1alpha1.PullRequestGenerator{Gitea: &v1alpha1.PullRequestGeneratorGitea{Owner: "acme", Repo: "shop", API: api}}
		_, err := newForges(t).PullRequests(t.Context(), gen, scope)
		if fault.ReasonOf(err) != reason || fault.ClassOf(err) != fault.Terminal || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", api, err)
		}
	}
	// Names that a generator was given stay names.
	f := start(t, forgetest.GitHub)
	gen := pullsOf(f)
	gen.Github.Owner, gen.Github.Repo = "../../admin", ".."
	_, _ = newForges(t).PullRequests(t.Context(), gen, scope)
	for _, a := range f.Asked() {
		if !strings.HasPrefix(a.Path, "/api/v3/repos/..%2F..%2Fadmin/%2E%2E/pulls") {
			t.Errorf("asked for %s", a.Path)
		}
	}
	gen.Github.Owner = " "
	if _, err := newForges(t).PullRequests(t.Context(), gen, scope); fault.ReasonOf(err) != "FieldMissing" {
		t.Error(err)
	}
}

func TestCertificates(t *testing.T) {
	for _, kind := range []forgetest.Kind{forgetest.GitLab, forgetest.Gitea} {
		f := forgetest.NewTLS(kind)
		defer f.Close()
		f.Token, f.Repos = token, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(1)}}
		authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}))
		gen := pullsOf(f)
		if _, err := newForges(t).PullRequests(t.Context(), gen, scope); fault.ReasonOf(err) != "ServerNotTrusted" || fault.ClassOf(err) != fault.Terminal {
			t.Errorf("%s: %v", kind, err)
		}
		trusting := map[string]func(*forge.Options){
			"by host": func(o *forge.Options) {
				o.Trust = func() repository.Trust {
					return repository.Trust{Certificates: map[string]string{"127.0.0.1": authority}}
				}
			},
			"for all": func(o *forge.Options) { o.RootCA = func() (string, error) { return authority, nil } },
		}
		for name, change := range trusting {
			if _, err := newForges(t, change).PullRequests(t.Context(), gen, scope); err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
		if kind == forgetest.Gitea {
			gen.Gitea.Insecure = true
		} else {
			gen.Gitlab.Insecure = true
		}
		if _, err := newForges(t).PullRequests(t.Context(), gen, scope); err != nil {
			t.Errorf("%s, insecure: %v", kind, err)
		}
		if kind == forgetest.Gitea {
			continue
		}
		gen.Gitlab.Insecure, gen.Gitlab.CARef = false, &v1alpha1.ConfigMapKeyRef{ConfigMapName: "cas", Key: "gitlab"}
		for text, reason := range map[string]string{authority: "", "nonsense": "CertificateRefused", "": "ConfigMapIncomplete"} {
			s := newStore()
			s.maps["team/cas"] = map[string]string{"gitlab": text}
			_, err := newForges(t, func(o *forge.Options) { o.Store = s }).PullRequests(t.Context(), gen, scope)
			if fault.ReasonOf(err) != reason || (err == nil) != (reason == "") {
				t.Errorf("caRef %q: %v", reason, err)
			}
		}
	}
	plain := start(t, forgetest.Gitea)
	gen := pullsOf(plain)
	gen.Gitea.API = strings.Replace(plain.URL, "http:", "https:", 1)
	if _, err := newForges(t).PullRequests(t.Context(), gen, scope); fault.ReasonOf(err) != "NotEncrypted" {
		t.Error(err)
	}
}

// signedBy checks a proof of being the app.
func signedBy(key *rsa.PublicKey, header string) error {
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return errors.New("no proof")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
}

func TestGitHubApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	f := start(t, forgetest.GitHub)
	f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(1), Default: "main", Commits: map[string]string{"main": sha1}}}
	now, issued := time.Now(), 0
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v3/app/installations/22/access_tokens" {
			return false
		}
		if err := signedBy(&key.PublicKey, r.Header.Get("Authorization")); err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		issued++
		f.Token = fmt.Sprint("app-token-", issued)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": f.Token, "expires_at": now.Add(time.Hour)})
		return true
	}
	app := func(pairs ...string) forge.Secret {
		return secretOf(append([]string{"githubAppID", "11", "githubAppInstallationID", "22", "githubAppPrivateKey", text}, pairs...)...)
	}
	s := newStore()
	s.secrets["argocd/app"] = app("githubAppEnterpriseBaseUrl", f.URL+"/api/v3")
	s.secrets["argocd/by-url"] = app("url", f.URL+"/acme")
	s.secrets["argocd/public"] = app()
	s.secrets["argocd/elsewhere"] = app("githubAppEnterpriseBaseUrl", "https://ghe.example.com/api/v3")
	s.secrets["argocd/ours"] = app("url", f.URL, "project", "shop")
	s.secrets["argocd/theirs"] = app("url", f.URL, "project", "bank")
	s.secrets["argocd/none"] = secretOf("githubAppID", "11")
	s.secrets["argocd/bad"] = secretOf("githubAppID", "11", "githubAppInstallationID", "22", "githubAppPrivateKey", token, "url", f.URL)
	s.secrets["team/app"] = secretOf()
	forges := newForges(t, func(o *forge.Options) { o.Store, o.Now = s, func() time.Time { return now } })
	for name, reason := range map[string]string{
		"app": "", "by-url": "", "ours": "", "public": "SecretNotForHost", "elsewhere": "SecretNotForHost", "theirs": "SecretNotForProject",
		"none": "SecretIncomplete", "bad": "SecretInvalid", "nobody": "SecretMissing",
	} {
		gen := pullsOf(f)
		gen.Github.AppSecretName = name
		got, err := forges.PullRequests(t.Context(), gen, scope)
		if fault.ReasonOf(err) != reason || (err == nil) != (len(got.Sets) == 1) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "PRIVATE KEY")) {
			t.Errorf("%s tells: %v", name, err)
		}
	}
	// Without api, the address is that of the secret; the token is kept until shortly before its end.
	before := issued
	gen := reposOf(f)
	gen.Github.API, gen.Github.AppSecretName = "", "app"
	for range 2 {
		if got, err := forges.Repositories(t.Context(), gen, scope); err != nil || len(got.Sets) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if issued != before {
		t.Errorf("%d tokens were asked for", issued-before)
	}
	now = now.Add(50 * time.Minute)
	if _, err := forges.Repositories(t.Context(), gen, scope); err != nil || issued != before+1 {
		t.Errorf("%d, %v", issued, err)
	}
	f.Do(func() {
		f.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
	})
	now = now.Add(2 * time.Hour)
	if _, err := forges.Repositories(t.Context(), gen, scope); fault.ReasonOf(err) != "ForgeDenied" {
		t.Error(err)
	}
}
