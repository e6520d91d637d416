package channel

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
)

const (
	// maxAnswer bounds what is read of an answer, and maxQuote what is told of it.
	maxAnswer = 1 << 20
	maxQuote  = 300
)

// Transport are the options of a way that all services over HTTP have.
type Transport struct {
	InsecureSkipVerify  bool `json:"insecureSkipVerify"`
	MaxIdleConns        int  `json:"maxIdleConns"`
	MaxIdleConnsPerHost int  `json:"maxIdleConnsPerHost"`
	MaxConnsPerHost     int  `json:"maxConnsPerHost"`
	// IdleConnTimeout is a duration such as 90s.
	IdleConnTimeout string `json:"idleConnTimeout"`
}

// LaterError is an error of a service that says when to come back.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error is what the service says.
func (l *LaterError) Error() string { return l.Err.Error() }

// Unwrap is the error itself.
func (l *LaterError) Unwrap() error { return l.Err }

// wire is the way to a service over HTTP.
type wire struct{ client *http.Client }

func newWire(t Transport, o Options) (wire, error) {
	idle := 90 * time.Second
	if t.IdleConnTimeout != "" {
		var err error
		if idle, err = time.ParseDuration(t.IdleConnTimeout); err != nil {
			return wire{}, fmt.Errorf("idleConnTimeout: %q is not a duration like 90s", t.IdleConnTimeout)
		}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, at string, _ syscall.RawConn) error { return within(at, o.Reach) }}
	transport := &http.Transport{
		Proxy: o.Proxy, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: idle,
		MaxIdleConns: max(t.MaxIdleConns, 4), MaxIdleConnsPerHost: t.MaxIdleConnsPerHost, MaxConnsPerHost: t.MaxConnsPerHost,
		DialContext: dialer.DialContext,
		// Behind a proxy.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.InsecureSkipVerify}, //nolint:gosec // see tlsFor
		DialTLSContext: func(ctx context.Context, network, at string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(at)
			if err != nil {
				return nil, err
			}
			d := tls.Dialer{NetDialer: dialer, Config: tlsFor(host, t.InsecureSkipVerify, o)}
			return d.DialContext(ctx, network, at)
		},
	}
	return wire{&http.Client{
		Transport: opener{transport},
		// A login is for one place.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}, nil
}

// tlsFor is how a host is believed to be who it says.
func tlsFor(host string, insecure bool, o Options) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: host, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: insecure, //nolint:gosec // whoever configures the service says so
	}
	if o.Certificates == nil {
		return config
	}
	if more := o.Certificates(host); len(more) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, text := range more {
			pool.AppendCertsFromPEM([]byte(text))
		}
		config.RootCAs = pool
	}
	return config
}

// within refuses addresses that nobody has any business at, and those of this machine to people who do not run it.
func within(at string, reach address.Reach) error {
	parsed, err := netip.ParseAddrPort(at)
	if err != nil {
		return fault.Terminalf("AddressRefused", "%q is not an address", at)
	}
	if needed := address.ReachOf(parsed.Addr()); needed == address.Nowhere || needed > reach {
		return fault.Terminalf("AddressRefused", "%s is an address that no service may have; write the one that is meant", parsed.Addr())
	}
	return nil
}

// request is what is asked of a service.
type request struct {
	method, url string
	header      map[string]string
	user        *login
	// body is sent as JSON, unless text is.
	body any
	text *string
}

type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// call sends a request and reads the answer, which is 2xx; everything else is an error.
func (w wire) call(ctx context.Context, r request) ([]byte, error) {
	var body []byte
	switch {
	case r.text != nil:
		body = []byte(*r.text)
	case r.body != nil:
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fault.Terminalf("TemplateRefused", "what is to be sent is no JSON: %w", err)
		}
	}
	built, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, fault.Terminalf("URLRefused", "%s cannot be called; correct the address of the service", shown(r.url))
	}
	built.Header.Set("User-Agent", "towline")
	if r.body != nil {
		built.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		built.Header.Set(name, value)
	}
	if r.user != nil {
		built.SetBasicAuth(r.user.Username, r.user.Password)
	}
	response, err := w.client.Do(built)
	if err != nil {
		return nil, unreachable(r.url, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, unreachable(r.url, err)
	}
	return answer, judge(r.url, response, answer)
}

// unreachable is an error of the network, without the address, which may have a token in it.
func unreachable(at string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if fault.ClassOf(err) == fault.Terminal {
		return err
	}
	return fault.Transientf("Unreachable", "calling %s: %w", shown(at), err)
}

// judge makes an error of an answer that is none.
func judge(at string, r *http.Response, answer []byte) error {
	switch code := r.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		err := fault.Transientf("Refused", "%s answers %s%s", shown(at), r.Status, quote(answer))
		if seconds, bad := strconv.Atoi(r.Header.Get("Retry-After")); bad == nil && seconds > 0 {
			return &LaterError{After: time.Duration(seconds) * time.Second, Err: err}
		}
		return err
	case code >= 300 && code < 400:
		return fault.Terminalf("Refused", "%s answers %s and sends us elsewhere; write the address that is meant", shown(at), r.Status)
	}
	return fault.Terminalf("Refused", "%s answers %s%s", shown(at), r.Status, quote(answer))
}

// quote is what an answer says, in so many words.
func quote(answer []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(answer), "?")), " ")
	if text == "" {
		return ""
	}
	if len(text) > maxQuote {
		text = strings.ToValidUTF8(text[:maxQuote], "") + "…"
	}
	return ": " + text
}

// shown is the part of an address that is no secret.
func shown(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host == "" {
		return "the service"
	}
	return parsed.Scheme + "://" + parsed.Host
}

// decode reads an answer that is JSON.
func decode(at string, answer []byte, into any) error {
	if err := json.Unmarshal(answer, into); err != nil {
		return fault.Transientf("AnswerNotUnderstood", "%s does not answer what its API promises: %v", shown(at), err)
	}
	return nil
}

// base is an address without a slash at its end.
func base(address, usual string) string {
	if address == "" {
		address = usual
	}
	return strings.TrimRight(address, "/")
}
