package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/towline-cd/towline/internal/core/repository"
)

// Certificates are those that are trusted, as far as we may see them.
func (c *Client) Certificates(ctx context.Context) ([]repository.Certificate, error) {
	out, err := get[struct{ Items []repository.Certificate }](ctx, c, request{path: under("certificates"), about: "certificate"})
	return out.Items, err
}

// AddCertificates has hosts trusted.
func (c *Client) AddCertificates(
	ctx context.Context, list []repository.GivenCertificate, upsert bool,
) ([]repository.Certificate, error) {
	query := url.Values{}
	if upsert {
		query.Set("upsert", "true")
	}
	var out struct{ Items []repository.Certificate }
	err := c.ask(ctx, request{
		method: http.MethodPost, path: under("certificates"), query: query, body: map[string]any{"items": list}, about: "certificate",
	}, &out)
	return out.Items, err
}

// RemoveCertificates has hosts trusted no more, and tells which.
func (c *Client) RemoveCertificates(ctx context.Context, of repository.Certificate) ([]repository.Certificate, error) {
	query := url.Values{"hostNamePattern": {of.ServerName}}
	if of.CertType != "" {
		query.Set("certType", of.CertType)
	}
	if of.CertSubType != "" {
		query.Set("certSubType", of.CertSubType)
	}
	var out struct{ Items []repository.Certificate }
	err := c.ask(ctx, request{
		method: http.MethodDelete, path: under("certificates"), query: query, about: "certificate", name: of.ServerName,
	}, &out)
	return out.Items, err
}

// Keys are those that commits may be signed with.
func (c *Client) Keys(ctx context.Context) ([]repository.PublicKey, error) {
	out, err := get[struct{ Items []repository.PublicKey }](ctx, c, request{path: under("gpgkeys"), about: "key"})
	return out.Items, err
}

// AddKeys has the keys of an armoured text trusted, and tells which are new and which were there.
func (c *Client) AddKeys(ctx context.Context, armoured string, upsert bool) (created, skipped []string, err error) {
	query := url.Values{}
	if upsert {
		query.Set("upsert", "true")
	}
	var out struct {
		Created struct{ Items []repository.PublicKey }
		Skipped []string
	}
	err = c.ask(ctx, request{
		method: http.MethodPost, path: under("gpgkeys"), query: query, body: map[string]string{"keyData": armoured}, about: "key",
	}, &out)
	for _, k := range out.Created.Items {
		created = append(created, k.KeyID)
	}
	return created, out.Skipped, err
}

// RemoveKey has a key trusted no more.
func (c *Client) RemoveKey(ctx context.Context, id string) error {
	return c.ask(ctx, request{
		method: http.MethodDelete, path: under("gpgkeys"), query: url.Values{"keyID": {id}}, about: "key", name: id,
	}, nil)
}
