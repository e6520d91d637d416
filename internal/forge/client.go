package forge

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

const (
	// maxBody bounds one answer. A hundred pull requests of GitHub are two or three megabytes.
	maxBody = 16 << 20
	// maxRedirects is for repositories that were renamed.
	maxRedirects = 3
)

// client sends the requests of all sessions. What it keeps can be lost at any time.
type client struct {
	options Options
	// salt keeps the names of what is kept from being a digest of a login.
	salt [32]byte
	kept *kept

	mu    sync.Mutex
	turn  int64
	pools map[wire]*pooled
	holds map[[32]byte]time.Time
}

func newClient(o Options) *client {
	c := &client{options: o, kept: newKept(), pools: map[wire]*pooled{}, holds: map[[32]byte]time.Time{}}
	_, _ = rand.Read(c.salt[:]) // it never fails
	return c
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.transport.CloseIdleConnections()
	}
}

// ask is one request of a session.
type ask struct {
	method  string
	target  *url.URL
	etag    string
	body    []byte
	timeout time.Duration
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// address is that of something below the base, whose path is escaped already.
func (s *session) address(path string, query url.Values) (*url.URL, error) {
	target, err := url.Parse(s.base.String() + path)
	if err != nil {
		return nil, fault.Terminalf("URLRefused", "%s cannot be asked for what the generator names; correct it", s.place())
	}
	target.RawQuery = query.Encode()
	return target, nil
}

// send asks, follows redirects that stay on the same host, and makes a fault of every answer that is not one. What comes
// back is 2xx, or 304 to a request with an ETag.
func (s *session) send(ctx context.Context, a ask) (reply, error) {
	if err := s.held(); err != nil {
		return reply{}, err
	}
	timeout := s.client.options.Timeout
	if a.timeout > 0 {
		timeout = a.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for range maxRedirects + 1 {
		got, err := s.once(ctx, a)
		if err != nil {
			return reply{}, err
		}
		location := got.header.Get("Location")
		if got.status < 300 || got.status >= 400 || got.status == http.StatusNotModified || location == "" {
			return s.judge(a, got)
		}
		if a.target, err = s.follow(a, location); err != nil {
			return reply{}, err
		}
	}
	return reply{}, fault.Terminalf("RedirectRefused", "asking %s: it redirects more than %d times", shown(a.target), maxRedirects)
}

// follow goes where a server points, as long as that is the same server: nobody else gets the login, nor the question.
func (s *session) follow(a ask, location string) (*url.URL, error) {
	next, err := a.target.Parse(location)
	if err != nil {
		return nil, fault.Terminalf("RedirectRefused", "asking %s: it redirects to something that is no URL", shown(a.target))
	}
	if repository.Origin(next) != repository.Origin(s.base) || a.method != "" {
		elsewhere := url.URL{Scheme: next.Scheme, Host: next.Host}
		return nil, fault.Terminalf("RedirectRefused", "asking %s: it redirects to %s, and a login is for one address; write the "+
			"address that is meant", shown(a.target), elsewhere.String())
	}
	next.User, next.Fragment = nil, ""
	return next, nil
}

func (s *session) once(ctx context.Context, a ask) (reply, error) {
	method := a.method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, a.target.String(), bytes.NewReader(a.body))
	if err != nil {
		return reply{}, fault.Terminalf("URLRefused", "%s cannot be asked", shown(a.target))
	}
	request.Header.Set("User-Agent", "towline")
	request.Header.Set("Accept", s.accept)
	if a.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.login.header != "" {
		request.Header.Set(s.login.header, s.login.value.Reveal())
	}
	if a.etag != "" {
		request.Header.Set("If-None-Match", a.etag)
	}
	way, err := s.client.transport(a.target, s.wire)
	if err != nil {
		return reply{}, err
	}
	response, err := way.RoundTrip(request)
	if err != nil {
		return reply{}, unreachable(a.target, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return reply{}, fault.Transientf("AnswerIncomplete", "asking %s: its answer breaks off: %w", shown(a.target), plain(err))
	}
	if len(body) > maxBody {
		return reply{}, fault.Terminalf("AnswerTooLarge", "asking %s: its answer is larger than %d bytes", shown(a.target), maxBody)
	}
	return reply{status: response.StatusCode, header: response.Header, body: body}, nil
}

// plain takes the address out of an error of the network; it may have a query.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// get reads one thing, and asks for it again only if it changed.
func get[T any](ctx context.Context, s *session, path string, query url.Values) (T, http.Header, error) {
	var value T
	target, err := s.address(path, query)
	if err != nil {
		return value, nil, err
	}
	key := s.key(target.String())
	known, ok := s.client.kept.get(key)
	got, err := s.send(ctx, ask{target: target, etag: known.etag})
	if err != nil {
		return value, nil, err
	}
	if got.status == http.StatusNotModified {
		if !ok {
			return value, nil, fault.Transientf("AnswerIncomplete", "asking %s: it says that nothing changed, and was not asked that",
				shown(target))
		}
		// A mark is of the entries of a page. There may be another page by now, which only the headers tell.
		if fresh := paging(got.header); len(fresh) > 0 || len(known.header) == 0 {
			err := json.Unmarshal(known.body, &value)
			return value, fresh, err
		}
		if got, err = s.send(ctx, ask{target: target}); err != nil {
			return value, nil, err
		}
	}
	if err := decode(target, got, &value); err != nil {
		return value, nil, err
	}
	if etag := got.header.Get("ETag"); etag != "" {
		// What is kept is what was understood: a small part of what was sent.
		if small, err := json.Marshal(value); err == nil {
			s.client.kept.put(key, remembered{etag: etag, header: paging(got.header), body: small})
		}
	}
	return value, got.header, nil
}

// decode takes a whole JSON value and nothing else: half of a list, or a page for people, is no list.
func decode(target *url.URL, got reply, into any) error {
	body := bytes.TrimSpace(got.body)
	kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0:
		return fault.Transientf("AnswerIncomplete", "asking %s: it answers %d with nothing", shown(target), got.status)
	case !json.Valid(body) && strings.Contains(kind, "html"):
		return fault.Transientf("AnswerNotUnderstood", "asking %s: it answers with a page for people; check that the address is that of "+
			"the forge, and that no sign-in page is in front of it", shown(target))
	case !json.Valid(body):
		return fault.Transientf("AnswerIncomplete", "asking %s: its answer is not JSON to the end", shown(target))
	case bytes.Equal(body, []byte("null")) && totalOf(got.header) != 0: // Gitea spells an empty list so, with its total
		return fault.Transientf("AnswerIncomplete", "asking %s: it answers null", shown(target))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fault.Transientf("AnswerNotUnderstood", "asking %s: its answer is not what its API promises: %w", shown(target), err)
	}
	return nil
}

// key is what an answer is kept by: who asked, whom, and for what. Nobody gets an answer that another login was given.
func (s *session) key(target string) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%x %q %q %q %q", s.client.salt, s.login.header, s.who(), s.accept, target))
}

// who tells one login from another.
func (s *session) who() string {
	if s.login.id != "" {
		return s.login.id
	}
	return s.login.value.Reveal()
}
