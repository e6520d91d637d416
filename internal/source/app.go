package source

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/internal/core/fault"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// apps has the tokens of GitHub Apps, each kept until shortly before its end.
type apps struct {
	now  func() time.Time
	key  []byte // of the digests that the tokens are kept by
	ask  singleflight.Group
	mu   sync.Mutex
	kept map[string]appToken
}

type appToken struct {
	value   string
	expires time.Time
}

// spare is how long before its end a token is no longer used: a fetch may take that long.
const spare = 5 * time.Minute

// token is one that stands for the installation. One question serves all who ask at the same time.
func (a *apps) token(ctx context.Context, entry core.Repository, trust core.Trust) (string, error) {
	mac := hmac.New(sha256.New, a.key)
	app := entry.GitHubApp
	fmt.Fprintf(mac, "%d %d %q %q", app.ID, app.InstallationID, app.BaseURL, app.PrivateKey.Reveal())
	id := string(mac.Sum(nil))
	a.mu.Lock()
	found, ok := a.kept[id]
	a.mu.Unlock()
	if ok && a.now().Before(found.expires.Add(-spare)) {
		return found.value, nil
	}
	answer, err, _ := a.ask.Do(id, func() (any, error) {
		fresh, err := a.request(ctx, entry, trust)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.kept[id] = fresh
		return fresh.value, nil
	})
	text, _ := answer.(string)
	return text, err
}

// request asks GitHub for a token.
func (a *apps) request(ctx context.Context, entry core.Repository, trust core.Trust) (appToken, error) {
	app := entry.GitHubApp
	if app.ID == 0 || app.InstallationID == 0 {
		return appToken{}, fault.Terminalf("CredentialsInvalid", "signing in as a GitHub App: githubAppID or "+
			"githubAppInstallationID is missing; add it to the secret of the repository")
	}
	base := strings.TrimRight(app.BaseURL, "/")
	if base == "" {
		base = "https://api.github.com"
	}
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return appToken{}, fault.Terminalf("CredentialsInvalid", "signing in as a GitHub App: githubAppEnterpriseBaseUrl is not "+
			"a URL like https://ghe.example.com/api/v3; correct the secret of the repository")
	}
	proof, err := app.Proof(a.now())
	if err != nil {
		return appToken{}, fault.Terminalf("CredentialsInvalid",
			"signing in as a GitHub App: %w; correct the secret of the repository", err)
	}
	target := fmt.Sprintf("%s/app/installations/%d/access_tokens", base, app.InstallationID)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(nil))
	if err != nil {
		return appToken{}, fmt.Errorf("asking for a token: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+proof.Reveal())
	request.Header.Set("Accept", "application/vnd.github+json")
	client, err := appClient(entry, at, trust)
	if err != nil {
		return appToken{}, err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return appToken{}, fault.Transientf("GitHubFailed", "asking %s for a token: %w", at.Host, err)
	}
	defer response.Body.Close()
	return readToken(response, at.Host)
}

func readToken(response *http.Response, host string) (appToken, error) {
	var said struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return appToken{}, fault.Transientf("GitHubFailed", "asking %s for a token: %w", host, err)
	}
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotFound:
		return appToken{}, fault.Terminalf("AuthenticationFailed", "asking %s for a token: it answered %d; check the id, the "+
			"installation and the key of the GitHub App", host, code)
	case code != http.StatusCreated:
		return appToken{}, fault.Transientf("GitHubFailed", "asking %s for a token: it answered %d", host, code)
	}
	// What the decoder says may repeat what it read, and that is the token.
	if json.Unmarshal(body, &said) != nil || said.Token == "" {
		return appToken{}, fault.Transientf("GitHubFailed", "asking %s for a token: its answer has none", host)
	}
	return appToken{value: said.Token, expires: said.ExpiresAt}, nil
}

// appClient trusts whom the repository trusts, goes the same way, and follows nobody elsewhere.
func appClient(entry core.Repository, at *url.URL, trust core.Trust) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: entry.Insecure} //nolint:gosec // only where the entry says so
	if authority := trust.Certificates[at.Hostname()]; authority != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(authority))
	}
	transport := &http.Transport{TLSClientConfig: config, TLSHandshakeTimeout: 15 * time.Second}
	if entry.Proxy != "" {
		through, err := url.Parse(entry.Proxy)
		if err != nil {
			return nil, fault.Terminalf("ProxyRefused", "the proxy is not a URL; correct the secret of the repository")
		}
		transport.Proxy = http.ProxyURL(through)
	}
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
