package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/towline-cd/towline/internal/core/repository"
)

// Repositories are those that we may see.
func (c *Client) Repositories(ctx context.Context) ([]repository.View, error) {
	out, err := get[struct{ Items []repository.View }](ctx, c, request{path: under("repositories"), about: "repository"})
	return out.Items, err
}

// Templates are the entries for many repositories that we may see.
func (c *Client) Templates(ctx context.Context) ([]repository.Template, error) {
	out, err := get[struct{ Items []repository.Template }](ctx, c, request{path: under("repocreds"), about: "repository"})
	return out.Items, err
}

// entries is where those for one repository are, and those for many.
func entries(many bool) string {
	if many {
		return "repocreds"
	}
	return "repositories"
}

// PutRepository has the server write an entry down. It signs in there first. Whether the entry was there it does not tell.
func (c *Client) PutRepository(ctx context.Context, r repository.Repository, w repository.Wish) error {
	query := url.Values{}
	if w.Upsert {
		query.Set("upsert", "true")
	}
	return c.ask(ctx, request{
		method: http.MethodPost, path: under(entries(w.Many)), query: query, body: repositoryBody(r, w.Many), about: "repository",
		name: r.URL,
	}, nil)
}

// repositoryBody is an entry as a server takes it, login and all.
func repositoryBody(r repository.Repository, many bool) map[string]any {
	out := map[string]any{}
	put := func(name string, value any, given bool) {
		if given {
			out[name] = value
		}
	}
	text := func(name, value string) { put(name, value, value != "") }
	flag := func(name string, on bool) { put(name, on, on) }
	if many {
		text("url", r.URL)
	} else {
		text("repo", r.URL)
	}
	text("type", string(r.Type))
	text("name", r.Name)
	text("project", r.Project)
	text("username", r.Username)
	text("password", r.Password.Reveal())
	text("bearerToken", r.BearerToken.Reveal())
	text("sshPrivateKey", r.SSHPrivateKey.Reveal())
	text("tlsClientCertData", r.TLSClientCert)
	text("tlsClientCertKey", r.TLSClientKey.Reveal())
	text("githubAppPrivateKey", r.GitHubApp.PrivateKey.Reveal())
	text("githubAppEnterpriseBaseUrl", r.GitHubApp.BaseURL)
	put("githubAppID", r.GitHubApp.ID, r.GitHubApp.ID != 0)
	put("githubAppInstallationID", r.GitHubApp.InstallationID, r.GitHubApp.InstallationID != 0)
	flag("insecure", r.Insecure)
	flag("insecureIgnoreHostKey", r.InsecureIgnoreHostKey)
	flag("enableLfs", r.EnableLFS)
	flag("enableOCI", r.EnableOCI)
	flag("insecureOCIForceHttp", r.InsecureOCIForceHTTP)
	flag("forceHttpBasicAuth", r.ForceBasicAuth)
	text("proxy", r.Proxy)
	text("noProxy", r.NoProxy)
	put("depth", r.Depth, r.Depth != 0)
	return out
}

// DropRepository takes an entry off the list.
func (c *Client) DropRepository(ctx context.Context, r repository.Repository, many bool) error {
	query := url.Values{}
	if r.Project != "" {
		query.Set("appProject", r.Project)
	}
	return c.ask(ctx, request{
		method: http.MethodDelete, path: under(entries(many), r.URL), query: query, about: "repository", name: r.URL,
	}, nil)
}
