package client

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"

	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Login is a token for a name and a password.
func (c *Client) Login(ctx context.Context, name string, password secret.Text) (secret.Text, error) {
	var out struct{ Token string }
	err := c.ask(ctx, request{
		method: http.MethodPost, path: under("session"), about: "account", name: name,
		body: map[string]string{"username": name, "password": password.Reveal()},
	}, &out)
	return secret.New(out.Token), err
}

// Logout has the server forget the token.
func (c *Client) Logout(ctx context.Context) error {
	return c.ask(ctx, request{method: http.MethodDelete, path: under("session"), about: "session"}, nil)
}

// User asks the server who we are.
func (c *Client) User(ctx context.Context) (login.Identity, error) {
	return get[login.Identity](ctx, c, request{path: under("session", "userinfo"), about: "session"})
}

// Settings are what the server says to those who want to sign in.
func (c *Client) Settings(ctx context.Context) (login.Settings, error) {
	return get[login.Settings](ctx, c, request{path: under("settings"), about: "settings"})
}

// Host is where the server is.
func (c *Client) Host() string { return c.base.Host }

// Trust is how the server is trusted, for a login provider at the same host.
func (c *Client) Trust() (*tls.Config, error) { return trusted(c.options.Target.Server) }

// Version asks the server for its own.
func (c *Client) Version(ctx context.Context) (login.Release, error) {
	return get[login.Release](ctx, c, request{path: []string{"api", "version"}, about: "version"})
}

// CanI asks whether we may.
func (c *Client) CanI(ctx context.Context, action, resource, object string) (bool, error) {
	var out struct{ Value string }
	err := c.ask(ctx, request{
		method: http.MethodGet, path: under("account", "can-i", resource, action, object), about: "permission",
	}, &out)
	return out.Value == "yes", err
}

// Accounts are those that we may see.
func (c *Client) Accounts(ctx context.Context) ([]login.Account, error) {
	out, err := get[struct{ Items []login.Account }](ctx, c, request{path: under("account"), about: "account"})
	return out.Items, err
}

// Account is one by its name.
func (c *Client) Account(ctx context.Context, name string) (login.Account, error) {
	return get[login.Account](ctx, c, request{path: under("account", name), about: "account", name: name})
}

// NewToken makes a token of an account; zero seconds never end.
func (c *Client) NewToken(ctx context.Context, account, id string, seconds int64) (secret.Text, error) {
	var out struct{ Token string }
	err := c.ask(ctx, request{
		method: http.MethodPost, path: under("account", account, "token"), about: "account", name: account,
		body: map[string]any{"name": account, "id": id, "expiresIn": seconds},
	}, &out)
	return secret.New(out.Token), err
}

// DeleteToken ends a token of an account.
func (c *Client) DeleteToken(ctx context.Context, account, id string) error {
	return c.ask(ctx, request{
		method: http.MethodDelete, path: under("account", account, "token", id), about: "account",
		name: account,
	}, nil)
}

// SetPassword changes a password.
func (c *Client) SetPassword(ctx context.Context, p login.Password) error {
	return c.ask(ctx, request{
		method: http.MethodPut, path: under("account", "password"), about: "account", name: p.Name,
		body: map[string]string{"name": p.Name, "currentPassword": p.Current.Reveal(), "newPassword": p.Wanted.Reveal()},
	}, nil)
}

// Read asks for anything that has a path below the API's, as it is.
func (c *Client) Read(ctx context.Context, path []string, query url.Values, into any) error {
	return c.ask(ctx, request{method: http.MethodGet, path: under(path...), query: query, about: path[0]}, into)
}
