// Package client speaks to the API of a server as the command line and scripts do: plain HTTP and JSON, with Argo CD's
// paths. What it returns is what the hub would, and its errors are of the same kinds, so that a command need not know
// which of the two it talks to. It must not know a cluster, nor keep a login anywhere.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/secret"
)

// maxAnswer bounds an answer that is read as a whole.
const maxAnswer = 256 << 20

// Options are what a Client is made of.
type Options struct {
	Target login.Target
	// Headers are further ones of every request.
	Headers http.Header
	// UserAgent says who asks.
	UserAgent string
	// Renewed is called with a token that the server gave in place of an older one.
	Renewed func(token string)
	// Fresh is called before the first question: it is the token to show from then on. nil is that of the target.
	Fresh func(ctx context.Context) secret.Text
}

// Client is one server, as one user.
type Client struct {
	base    *url.URL
	http    *http.Client
	options Options
	fresh   sync.Once
	token   secret.Text
}

// New makes a client; it asks nothing yet.
func New(o Options) (*Client, error) {
	base, err := address(o.Target.Server)
	if err != nil {
		return nil, err
	}
	trust, err := trusted(o.Target.Server)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
	}
	return &Client{base: base, options: o, token: o.Target.Token, http: &http.Client{
		Transport: transport,
		// A server that sends us elsewhere must not get our token there.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// address is where the API is. A server is written as HOST[:PORT], and some write a URL.
func address(s login.Server) (*url.URL, error) {
	scheme, host := "https", s.Server
	if s.PlainText {
		scheme = "http"
	}
	if before, after, found := strings.Cut(host, "://"); found {
		scheme, host = before, after
	}
	out, err := url.Parse(scheme + "://" + strings.TrimSuffix(host, "/"))
	if err != nil || out.Host == "" || out.User != nil || (out.Scheme != "https" && out.Scheme != "http") {
		return nil, fmt.Errorf("%q is no address of a server: write HOST or HOST:PORT", s.Server)
	}
	if s.RootPath != "" {
		out = out.JoinPath(s.RootPath)
	}
	return out, nil
}

func trusted(s login.Server) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Insecure} //nolint:gosec // --insecure asks for it
	if s.CACert != "" {
		text, err := base64.StdEncoding.DecodeString(s.CACert)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate authority of %s: %w", s.Server, err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading the certificate authority of %s: there is no certificate in it", s.Server)
		}
	}
	if s.ClientCert == "" {
		return out, nil
	}
	cert, err := base64.StdEncoding.DecodeString(s.ClientCert)
	key, keyErr := base64.StdEncoding.DecodeString(s.ClientKey)
	if err := errors.Join(err, keyErr); err != nil {
		return nil, fmt.Errorf("reading the client certificate for %s: %w", s.Server, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate for %s: %w", s.Server, err)
	}
	out.Certificates = []tls.Certificate{pair}
	return out, nil
}

// Server is the address that people know it by.
func (c *Client) Server() string { return c.options.Target.Server.Server }

// request is one question.
type request struct {
	method string
	path   []string
	query  url.Values
	body   any
	// about is what it is about, for errors: "application" and a name.
	about, name string
}

// ask sends a question and decodes the answer.
func (c *Client) ask(ctx context.Context, r request, into any) error {
	answer, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fault.Transientf("Unreachable", "reading what %s answers: %w", c.Server(), err)
	}
	if into == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fault.Terminalf("NotAnAPI", "reading what %s answers: %w; is that the address of a server?", c.Server(), err)
	}
	return nil
}

// get asks for something.
func get[T any](ctx context.Context, c *Client, r request) (T, error) {
	var out T
	r.method = http.MethodGet
	err := c.ask(ctx, r, &out)
	return out, err
}

// shown is the token that we show.
func (c *Client) shown(ctx context.Context) secret.Text {
	if c.options.Fresh != nil {
		c.fresh.Do(func() { c.token = c.options.Fresh(ctx) })
	}
	return c.token
}

// send sends a question; the answer is a good one, and the caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encoding a request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	escaped := make([]string, len(r.path))
	for i, part := range r.path {
		escaped[i] = url.PathEscape(part)
	}
	target := c.base.JoinPath(escaped...)
	target.RawQuery = r.query.Encode()
	question, err := http.NewRequestWithContext(ctx, r.method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	maps.Copy(question.Header, c.options.Headers)
	question.Header.Set("User-Agent", c.options.UserAgent)
	question.Header.Set("Accept", "application/json")
	if r.body != nil {
		question.Header.Set("Content-Type", "application/json")
	}
	if token := c.shown(ctx); !token.Empty() {
		question.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	answer, err := c.http.Do(question)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if token := answer.Header.Get("Renewed-Token"); token != "" && c.options.Renewed != nil {
		c.options.Renewed(token)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, c.refused(r, answer)
}
