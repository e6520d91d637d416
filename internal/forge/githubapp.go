package forge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// spare is how long before its end a token is no longer used: an answer may take that long. They live for an hour.
const spare = 15 * time.Minute

// apps has the tokens of GitHub Apps, each kept until some time before its end.
type apps struct {
	client *client
	ask    singleflight.Group
	mu     sync.Mutex
	kept   map[[32]byte]appToken
}

type appToken struct {
	value   repository.Secret
	expires time.Time
}

// signInAsApp signs a session in as the app that a secret of the installation has.
func (f *Forges) signInAsApp(ctx context.Context, s *session, a githubAccess, in Scope) error {
	where := f.options.Namespace + "/" + a.app
	secret, err := f.secret(ctx, f.options.Namespace, a.app)
	if err != nil {
		return err
	}
	if err := f.projectAllows(secret, where, in); err != nil {
		return err
	}
	app, err := appOf(secret, where)
	if err != nil {
		return err
	}
	api := a.api
	if api == "" {
		api = app.BaseURL
	}
	if s.base, err = githubBase(api); err != nil {
		return err
	}
	// The token opens all that the app may see. A secret that says nothing of a host is for github.com.
	if len(secret.hosts()) == 0 && s.base.String() != githubAPI {
		return fault.Terminalf("SecretNotForHost", "the secret %s is for github.com, and %s is asked; add %s to the secret", where,
			s.base.Host, v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL)
	}
	if err := speaksFor(secret, s.base, where); err != nil {
		return err
	}
	token, err := f.apps.token(ctx, s, app)
	if err != nil {
		return fmt.Errorf("signing in as the GitHub App of the secret %s: %w", where, err)
	}
	s.login = bearer(token)
	s.login.id = fmt.Sprintf("app %d installation %d key %x", app.ID, app.InstallationID, sha256.Sum256([]byte(app.PrivateKey.Reveal())))
	return nil
}

// projectAllows holds a secret to its project, as for repositories. Where the template leaves the project open, only the
// sets of the installation's own namespace, which administrators write, may use it.
func (f *Forges) projectAllows(secret Secret, where string, in Scope) error {
	project := secret.Data[v1alpha1.KeyRepoProject].Reveal()
	if project == "" || project == in.Project || in.Project == "" && in.Namespace == f.options.Namespace {
		return nil
	}
	return fault.Terminalf("SecretNotForProject", "the secret %s is for the project %s, and the applications are of %q; use another "+
		"secret", where, project, in.Project)
}

func appOf(secret Secret, where string) (repository.GitHubApp, error) {
	text := func(key string) string { return strings.TrimSpace(secret.Data[key].Reveal()) }
	id, _ := strconv.ParseInt(text(v1alpha1.KeyRepoGitHubAppID), 10, 64)
	installation, _ := strconv.ParseInt(text(v1alpha1.KeyRepoGitHubAppInstallationID), 10, 64)
	key := secret.Data[v1alpha1.KeyRepoGitHubAppPrivateKey]
	if id <= 0 || installation <= 0 || key.Empty() {
		return repository.GitHubApp{}, fault.Terminalf("SecretIncomplete", "appSecretName: the secret %s is not that of a GitHub App; it "+
			"needs %s, %s and %s", where, v1alpha1.KeyRepoGitHubAppID, v1alpha1.KeyRepoGitHubAppInstallationID,
			v1alpha1.KeyRepoGitHubAppPrivateKey)
	}
	return repository.GitHubApp{
		ID: id, InstallationID: installation, PrivateKey: key, BaseURL: text(v1alpha1.KeyRepoGitHubAppEnterpriseBaseURL),
	}, nil
}

// token is one that stands for the installation. One question serves all who ask at the same time.
func (a *apps) token(ctx context.Context, s *session, app repository.GitHubApp) (repository.Secret, error) {
	id := sha256.Sum256(fmt.Appendf(nil, "%x %q %d %d %q", a.client.salt, s.base, app.ID, app.InstallationID, app.PrivateKey.Reveal()))
	a.mu.Lock()
	found, ok := a.kept[id]
	a.mu.Unlock()
	if ok && a.client.options.Now().Before(found.expires.Add(-spare)) {
		return found.value, nil
	}
	answer, err, _ := a.ask.Do(string(id[:]), func() (any, error) {
		fresh, err := a.request(ctx, s, app)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for other, one := range a.kept {
			if !a.client.options.Now().Before(one.expires) {
				delete(a.kept, other)
			}
		}
		a.kept[id] = fresh
		return fresh.value, nil
	})
	value, _ := answer.(repository.Secret)
	return value, err
}

func (a *apps) request(ctx context.Context, s *session, app repository.GitHubApp) (appToken, error) {
	proof, err := app.Proof(a.client.options.Now())
	if err != nil {
		return appToken{}, fault.Terminalf("SecretInvalid", "%w; correct it", err)
	}
	as := *s
	as.login = bearer(proof)
	as.login.id = fmt.Sprintf("app %d", app.ID)
	target, err := as.address(fmt.Sprintf("app/installations/%d/access_tokens", app.InstallationID), nil)
	if err != nil {
		return appToken{}, err
	}
	got, err := as.send(ctx, ask{method: "POST", target: target})
	if err != nil {
		return appToken{}, err
	}
	var said struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	// What the decoder says may repeat what it read, and that is the token.
	if json.Unmarshal(got.body, &said) != nil || said.Token == "" {
		return appToken{}, fault.Transientf("AnswerIncomplete", "asking %s: there is no token in its answer", shown(target))
	}
	return appToken{value: repository.NewSecret(said.Token), expires: said.ExpiresAt}, nil
}
