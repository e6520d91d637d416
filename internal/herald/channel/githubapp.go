package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

type githubOptions struct {
	AppID             number `json:"appID"`
	InstallationID    number `json:"installationID"`
	PrivateKey        string `json:"privateKey"`
	EnterpriseBaseURL string `json:"enterpriseBaseURL"`
	Transport
}

// github signs in as an installation of a GitHub App.
type github struct {
	options githubOptions
	wire    wire
	base    string
	key     any

	mu      sync.Mutex
	token   string
	expires time.Time
}

func newGitHub(options githubOptions, o Options) (Channel, error) {
	if options.AppID == 0 || options.InstallationID == 0 {
		return nil, errors.New("it has no appID, or no installationID")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(options.PrivateKey))
	if err != nil {
		return nil, errNoKey
	}
	w, err := newWire(options.Transport, o)
	return &github{options: options, wire: w, base: githubBase(options.EnterpriseBaseURL), key: key}, err
}

// githubBase is where the API is. Servers of one's own have it below a path, which people leave out.
func githubBase(enterprise string) string {
	if enterprise == "" {
		return "https://api.github.com"
	}
	at := strings.TrimRight(enterprise, "/")
	parsed, err := url.Parse(at)
	if err != nil || strings.HasSuffix(at, "/api/v3") || strings.HasPrefix(parsed.Host, "api.") || strings.Contains(parsed.Host, ".api.") {
		return at
	}
	return at + "/api/v3"
}

// spare is how long before its end a token is not taken any more.
const spare = 2 * time.Minute

// login is a token for the installation.
func (g *github) login(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.token != "" && now.Add(spare).Before(g.expires) {
		return g.token, nil
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:   strconv.FormatInt(int64(g.options.AppID), 10),
		IssuedAt: jwt.NewNumericDate(now.Add(-time.Minute)), ExpiresAt: jwt.NewNumericDate(now.Add(8 * time.Minute)),
	}).SignedString(g.key)
	if err != nil {
		return "", errNoKey
	}
	var got struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	path := fmt.Sprintf("/app/installations/%d/access_tokens", g.options.InstallationID)
	if err := g.send(ctx, asking{method: http.MethodPost, path: path, login: signed, into: &got}); err != nil {
		return "", fmt.Errorf("signing in as installation %d: %w", g.options.InstallationID, err)
	}
	g.token, g.expires = got.Token, got.Expires
	return g.token, nil
}

// ask asks the API as the installation.
func (g *github) ask(ctx context.Context, method, path string, body, into any) error {
	token, err := g.login(ctx)
	if err != nil {
		return err
	}
	return g.send(ctx, asking{method: method, path: path, login: token, body: body, into: into})
}

// asking is a request to GitHub.
type asking struct {
	method, path, login string
	body, into          any
}

func (g *github) send(ctx context.Context, a asking) error {
	answer, err := g.wire.call(ctx, request{
		method: a.method, url: g.base + a.path, body: a.body,
		header: map[string]string{
			"Authorization": "Bearer " + a.login, "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28",
		},
	})
	if err != nil || a.into == nil {
		return err
	}
	return decode(g.base, answer, a.into)
}
