// Package web speaks HTTP by the rules of the house: a login goes to the place that it was given for and to no other,
// neither by a redirect nor because content says so; content may not choose servers that only we can reach; and who a
// server is gets proved unless its entry says otherwise. It must not interpret what it fetches, and it never tries again.
package web

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

const maxRedirects = 5

// Options are what a Client is made of. Only Book is required.
type Options struct {
	Book repository.Book
	// Timeout bounds one request with its answer, 90 seconds by default.
	Timeout time.Duration
	// Proxy is the way to places whose entry names no proxy; nil is none.
	Proxy func(*url.URL) (*url.URL, error)
	// Resolver finds addresses; nil is that of the machine.
	Resolver *net.Resolver
	// AllowPrivate lets content choose any server that an application may choose. It is for tests.
	AllowPrivate bool
}

// Client sends requests. It is safe for use by many goroutines.
type Client struct {
	options Options

	mu    sync.Mutex
	turn  int64
	pools map[[32]byte]*pooled
}

// New makes a client.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = 90 * time.Second
	}
	return &Client{options: o, pools: map[[32]byte]*pooled{}}
}

// Close lets the connections go that nobody uses.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.transport.CloseIdleConnections()
	}
}

// Party is a server as one of its repositories knows it.
type Party struct {
	// URL is what the login is for: it goes to its scheme, host and port.
	URL *url.URL
	// Entry is what is known of it; the zero value is a place that anybody may read.
	Entry repository.Repository
	Reach Reach
	// PassCredentials sends the login to whatever server is asked first, but not by a redirect.
	PassCredentials bool
}

// Request is what is asked of a server.
type Request struct {
	Method, URL string
	Header      http.Header
	// Authorization is sent in place of the entry's login; NoLogin sends none that is not given here.
	Authorization string
	NoLogin       bool
}

// Answer is an answer and how near the server was that gave it. A proxy hides that, and then it counts as public.
type Answer struct {
	*http.Response
	Reach Reach
}

// Party is what is known of the server behind a URL, for a project. A URL that content chose is public unless somebody
// registered it.
func (c *Client) Party(raw, project string, byContent bool) (Party, error) {
	parsed, err := Parse(raw)
	if err != nil {
		return Party{}, err
	}
	entry, registered := c.Entry(raw, project)
	if parsed.User != nil {
		if password, ok := parsed.User.Password(); ok && entry.Username == "" && entry.BearerToken.Empty() {
			entry.Username, entry.Password = parsed.User.Username(), repository.NewSecret(password)
		}
		parsed.User = nil
	}
	reach := Local
	if byContent && !registered {
		reach = Public
	}
	return Party{URL: parsed, Entry: entry, Reach: reach}, nil
}

// Entry is what somebody registered for a URL. One that does not cover it is as good as none.
func (c *Client) Entry(raw, project string) (entry repository.Repository, registered bool) {
	entry = c.options.Book.For(raw, project)
	if entry.URL == "" || !repository.SpeaksFor(entry.URL, raw) {
		return repository.Repository{}, false
	}
	return entry, true
}

// Parse takes http:// and https:// URLs alone.
func Parse(raw string) (*url.URL, error) {
	parsed, err := url.Parse(raw)
	if err != nil || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, fault.Terminalf("URLRefused", "%q is not a URL; correct it", Redact(raw))
	}
	parsed.Scheme = strings.ToLower(parsed.Scheme)
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return nil, fault.Terminalf("URLRefused", "%q is not a URL of http or https; correct it", Redact(raw))
	}
	return parsed, nil
}

// Do sends a request and follows redirects. The caller closes the body of the answer.
func (c *Client) Do(ctx context.Context, with Party, ask Request) (Answer, error) {
	to, err := Parse(ask.URL)
	if err != nil {
		return Answer{}, err
	}
	to.User = nil
	hop := hop{to: to, party: with, login: ask.Authorization}
	if hop.login == "" && !ask.NoLogin {
		hop.login = Login(with.Entry)
	}
	if !with.PassCredentials && !hop.home() {
		hop.login = ""
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	for range maxRedirects {
		answer, err := c.send(ctx, hop, ask)
		if err != nil {
			cancel()
			return Answer{}, err
		}
		location := answer.Header.Get("Location")
		if !redirects(answer.StatusCode) || location == "" {
			answer.Body = &body{ReadCloser: answer.Body, cancel: cancel}
			return answer, nil
		}
		_ = answer.Body.Close()
		if hop, err = hop.follow(location); err != nil {
			cancel()
			return Answer{}, err
		}
	}
	cancel()
	return Answer{}, fault.Terminalf("RedirectRefused", "%s redirects more than %d times", Shown(to), maxRedirects)
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// hop is one request of a chain.
type hop struct {
	to    *url.URL
	party Party
	login string
}

// home says that the request goes to the server that the party is about.
func (h hop) home() bool { return repository.Origin(h.to) == repository.Origin(h.party.URL) }

// follow goes on to where a server pointed. A login that was let go of is not taken up again.
func (h hop) follow(location string) (hop, error) {
	next, err := h.to.Parse(location)
	if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" {
		return hop{}, fault.Terminalf("RedirectRefused", "%s redirects to something that is no URL of http or https", Shown(h.to))
	}
	if h.to.Scheme == "https" && next.Scheme == "http" {
		return hop{}, fault.Terminalf("RedirectRefused", "%s redirects to %s, which is not encrypted; "+
			"use the URL of a server that does not", Shown(h.to), Shown(next))
	}
	next.User, next.Fragment = nil, ""
	if repository.Origin(next) != repository.Origin(h.to) {
		h.login = ""
	}
	h.to, h.party.PassCredentials = next, false
	return h, nil
}

func (c *Client) send(ctx context.Context, h hop, ask Request) (Answer, error) {
	entry, reach := h.party.Entry, h.party.Reach
	if !h.home() {
		// Another server: what the entry says of itself does not hold there, save for the way out.
		other, registered := c.Entry(h.to.String(), h.party.Entry.Project)
		entry = repository.Repository{
			Insecure: other.Insecure, Proxy: h.party.Entry.Proxy, NoProxy: h.party.Entry.NoProxy,
		}
		reach = Public
		if registered {
			reach = Local
		}
	}
	how := c.wireTo(h.to, entry, reach)
	proxy, err := c.proxyFor(how, h.to)
	if err != nil {
		return Answer{}, err
	}
	if proxy != nil {
		if err := checkName(h.to.Hostname(), how.reach); err != nil {
			return Answer{}, fault.Terminalf("AddressRefused", "asking %s: %w", Shown(h.to), err)
		}
		how.reach = Local // that is where the proxy may be
	}
	transport, err := c.transport(how)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Reach: Public}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if at, err := netip.ParseAddrPort(got.Conn.RemoteAddr().String()); err == nil && proxy == nil {
			answer.Reach = min(address.ReachOf(at.Addr()), Local)
		}
	}})
	method := ask.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, h.to.String(), http.NoBody)
	if err != nil {
		return Answer{}, fault.Terminalf("URLRefused", "%s cannot be asked", Shown(h.to))
	}
	maps.Copy(request.Header, ask.Header)
	request.Header.Del("Authorization")
	request.Header.Set("User-Agent", "towline")
	if h.login != "" {
		request.Header.Set("Authorization", h.login)
	}
	answer.Response, err = transport.RoundTrip(request) //nolint:bodyclose // that is for who gets the answer
	if err != nil {
		return Answer{}, unreachable(h.to, err)
	}
	return answer, nil
}

// Login is the value of an Authorization header, or "".
func Login(entry repository.Repository) string {
	if !entry.BearerToken.Empty() {
		return "Bearer " + entry.BearerToken.Reveal()
	}
	return Basic(entry)
}

// Basic is the value of an Authorization header for a username and a password, or "".
func Basic(entry repository.Repository) string {
	if entry.Username == "" && entry.Password.Empty() {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(entry.Username+":"+entry.Password.Reveal()))
}

// body ends the time that a request may take when nobody reads on.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// ErrTooLarge says that there is more than was wanted.
var ErrTooLarge = errors.New("too large")

// Limit reads up to a number of bytes, and fails with ErrTooLarge when there are more.
func Limit(from io.Reader, limit int64) io.Reader { return &limited{from: from, left: limit} }

type limited struct {
	from io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left+1)])
	l.left -= int64(n)
	if l.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
