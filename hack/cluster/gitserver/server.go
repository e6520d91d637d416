// Package gitserver serves real Git repositories over smart HTTP on loopback for tests and benchmarks, with git's
// own http-backend; it must not be imported by the product or listen on anything but loopback.
package gitserver

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Counts are the requests that one repository has answered, or refused while the server was down.
type Counts struct {
	// AdvertiseFetch is GET info/refs of upload-pack: one per clone, fetch or ls-remote.
	AdvertiseFetch int
	// ListRefs and Fetch are POST git-upload-pack by what protocol 2 asks for; only Fetch transfers objects.
	ListRefs int
	Fetch    int
	// AdvertisePush is GET info/refs of receive-pack, Push is POST git-receive-pack.
	AdvertisePush int
	Push          int
}

// Total is the number of all requests.
func (c Counts) Total() int {
	return c.AdvertiseFetch + c.ListRefs + c.Fetch + c.AdvertisePush + c.Push
}

// Server is a running Git server.
type Server struct {
	root    string
	home    string
	backend string
	base    string
	http    *http.Server

	// commits serialises the making of commits; http-backend locks its own refs.
	commits sync.Mutex

	mu       sync.Mutex
	counts   map[string]Counts
	down     bool
	user     string
	password string
}

// New starts a server in a temporary folder and stops it at the end of the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	server, err := Start(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

// Start serves the bare repositories under dir on a free port of 127.0.0.1.
func Start(dir string) (*Server, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("starting the git server in %q: %w", dir, err)
	}
	s := &Server{root: filepath.Join(root, "repos"), home: filepath.Join(root, "home"), counts: map[string]Counts{}}
	for _, folder := range []string{s.root, s.home} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("starting the git server: %w", err)
		}
	}
	programs, err := s.git(s.root, nil, "--exec-path")
	if err != nil {
		return nil, fmt.Errorf("starting the git server (is git installed?): %w", err)
	}
	s.backend = filepath.Join(programs, "git-http-backend")
	if _, err := os.Stat(s.backend); err != nil {
		return nil, fmt.Errorf("starting the git server: git has no http-backend: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the git server: %w", err)
	}
	s.base = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(listener) //nolint:errcheck // It only ever returns ErrServerClosed or a listener's error after Close.
	return s, nil
}

// Close stops the server; the repositories stay in their folder.
func (s *Server) Close() error {
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("stopping the git server: %w", err)
	}
	return nil
}

// URL returns the address of a repository. The server also answers without the .git at its end.
func (s *Server) URL(repo string) string { return s.base + "/" + repo + ".git" }

// SetDown makes every request fail with 503 until it is set back.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// RequireLogin makes every request need this user and password; an empty user opens the server again.
func (s *Server) RequireLogin(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password = user, password
}

// Requests returns the counters of all repositories that were asked for so far.
func (s *Server) Requests() map[string]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// ResetRequests sets all counters back to zero.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.counts)
}

// ServeHTTP hands a request to git http-backend.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repo, service, ok := split(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if err := buffer(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	down, allowed := s.admit(r, repo, service)
	if down {
		http.Error(w, "the git server is down (asked for by the test)", http.StatusServiceUnavailable)
		return
	}
	if !allowed {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "a user and a password are needed", http.StatusUnauthorized)
		return
	}
	r.URL.Path = "/" + repo + ".git/" + service
	handler := &cgi.Handler{
		Path: s.backend,
		Dir:  s.root,
		Root: "/",
		Env:  append(s.environment(), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1"),
	}
	handler.ServeHTTP(w, r)
}

// admit counts the request, also one that is refused, and says whether it may pass.
func (s *Server) admit(r *http.Request, repo, service string) (down, allowed bool) {
	user, password, _ := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.counts[repo]
	count(&counts, r, service)
	s.counts[repo] = counts
	if s.user == "" {
		return s.down, true
	}
	same := subtle.ConstantTimeCompare([]byte(user+"\n"+password), []byte(s.user+"\n"+s.password)) == 1
	return s.down, same
}

func count(c *Counts, r *http.Request, service string) {
	switch {
	case service == "info/refs" && r.URL.Query().Get("service") == "git-upload-pack":
		c.AdvertiseFetch++
	case service == "info/refs" && r.URL.Query().Get("service") == "git-receive-pack":
		c.AdvertisePush++
	case service == "git-upload-pack" && listsRefs(r):
		c.ListRefs++
	case service == "git-upload-pack":
		c.Fetch++
	case service == "git-receive-pack":
		c.Push++
	}
}

// split cuts a path into the repository, without .git, and what is asked of it.
func split(address string) (repo, service string, ok bool) {
	cleaned := strings.TrimPrefix(path.Clean("/"+address), "/")
	for _, service := range []string{"info/refs", "git-upload-pack", "git-receive-pack", "HEAD"} {
		if repo, found := strings.CutSuffix(cleaned, "/"+service); found {
			return strings.TrimSuffix(repo, ".git"), service, repo != ""
		}
	}
	return "", "", false
}

// body is a request's body in memory, so that it can be looked at before http-backend gets it.
type body struct {
	*bytes.Reader
	data []byte
}

func (body) Close() error { return nil }

// buffer reads the whole body. git sends a large push in chunks without a length, which CGI cannot express.
func buffer(r *http.Request) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	r.Body = body{Reader: bytes.NewReader(data), data: data}
	r.ContentLength, r.TransferEncoding = int64(len(data)), nil
	return nil
}

// listsRefs says whether an upload-pack request of protocol 2 only asks for the refs.
func listsRefs(r *http.Request) bool {
	buffered, ok := r.Body.(body)
	if !ok {
		return false
	}
	text := buffered.data
	if r.Header.Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return false
		}
		start := make([]byte, 64)
		read, err := io.ReadFull(zip, start)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false
		}
		text = start[:read]
	}
	return bytes.Contains(text[:min(len(text), 64)], []byte("command=ls-refs"))
}
