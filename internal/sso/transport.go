package sso

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/sso"
)

const (
	// askTime bounds a question to the provider, and maxAnswer what it answers.
	askTime   = 10 * time.Second
	maxAnswer = 1 << 20
	// keyAge is how long the keys of the provider are not asked for again: a token that names a key which nobody has
	// would have them asked for, and everybody can send one.
	keyAge = 10 * time.Second
)

// newClient makes the way to the provider.
func newClient(c *sso.Config) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure} //nolint:gosec // the installation asks for it
	if c.RootCA != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(c.RootCA)) {
			return nil, fmt.Errorf("%s: there is no certificate in rootCA", v1alpha1.KeyOIDCConfig)
		}
	}
	if c.Dex != nil {
		trust.InsecureSkipVerify = !c.Dex.Strict // a Dex beside makes its own certificate, as with Argo CD
	}
	way := &way{next: transport(trust), kept: map[string]kept{}}
	if c.Dex != nil {
		at, err := url.Parse(c.Dex.Address)
		if err != nil || at.Host == "" {
			return nil, fmt.Errorf("%s: %q is no address", v1alpha1.KeyParamDexServer, c.Dex.Address)
		}
		way.issuer, way.dex = c.Issuer, at
	}
	return client(way), nil
}

func transport(trust *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: askTime}).DialContext,
		TLSHandshakeTimeout: askTime, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}
}

func client(way http.RoundTripper) *http.Client {
	return &http.Client{Transport: way, Timeout: askTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		// What signs us in at the provider goes nowhere else.
		if via[0].Method != http.MethodGet || len(via) > 5 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// way is how the provider is asked: the Dex beside us at its own address, and everybody within bounds.
type way struct {
	next   http.RoundTripper
	issuer string
	dex    *url.URL

	mu sync.Mutex
	// keys is the address of the provider's keys; kept is what was answered there.
	keys string
	kept map[string]kept
}

// kept is an answer that is given again for a moment.
type kept struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

// RoundTrip asks.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	w.mu.Lock()
	memory, have := w.kept[address]
	keys := w.keys == address
	w.mu.Unlock()
	if keys && have && time.Since(memory.at) < keyAge {
		return memory.response(r), nil
	}
	if w.dex != nil && (address == w.issuer || strings.HasPrefix(address, w.issuer+"/")) {
		r = r.Clone(r.Context())
		r.Host = r.URL.Host
		r.URL.Scheme, r.URL.Host = w.dex.Scheme, w.dex.Host
	}
	answer, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the answer is too long")
	}
	memory = kept{at: time.Now(), status: answer.StatusCode, header: answer.Header, body: body}
	if keys {
		w.mu.Lock()
		w.kept[address] = memory
		w.mu.Unlock()
	}
	return memory.response(r), nil
}

func (w *way) keysAt(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = address
}

func (k kept) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: k.status, Status: http.StatusText(k.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: k.header.Clone(), Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)),
	}
}
