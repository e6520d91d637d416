package source

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// gitServer is git's own HTTP backend, serving bare repositories in a folder.
type gitServer struct {
	*httptest.Server
	dir string

	mu     sync.Mutex
	hold   chan struct{} // while it is not nil, answers are computed and then held back until it is closed
	held   chan struct{} // gets a value when an answer is held back
	old    bool          // speak the first version of the protocol, which only gives out what it advertises
	login  string        // an Authorization header to insist on
	status int           // answer everything with this status
	seen   []string      // the Authorization headers that came
	spoil  func([]byte) []byte
	// instead answers in place of git where it returns true.
	instead func(http.ResponseWriter, *http.Request) bool
}

// TestMain lets the tests be the program that git asks for logins.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == AskpassName {
		os.Exit(Askpass(context.Background(), os.Args, os.Stdout))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "spy-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = writeSpy(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	s := unstartedGitServer(t)
	s.Start()
	return s
}

func unstartedGitServer(t *testing.T) *gitServer {
	t.Helper()
	execPath, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &gitServer{dir: t.TempDir(), held: make(chan struct{}, 100)}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + s.dir},
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		hold, old, login, status, spoil, instead := s.hold, s.old, s.login, s.status, s.spoil, s.instead
		s.seen = append(s.seen, r.Header.Get("Authorization"))
		s.mu.Unlock()
		if instead != nil && instead(w, r) {
			return
		}
		if status != 0 {
			http.Error(w, "out of order", status)
			return
		}
		if login != "" && r.Header.Get("Authorization") != login {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if old {
			r.Header.Del("Git-Protocol")
		}
		answer := httptest.NewRecorder()
		backend.ServeHTTP(answer, r)
		if hold != nil {
			s.held <- struct{}{}
			<-hold
		}
		maps.Copy(w.Header(), answer.Header())
		body := answer.Body.Bytes()
		if spoil != nil && r.Method == http.MethodPost {
			w.Header().Del("Content-Length")
			body = spoil(body)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *gitServer) set(change func(s *gitServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// bareRepo is one repository of the server.
type bareRepo struct {
	t   *testing.T
	dir string
	url string
}

func (s *gitServer) repo(t *testing.T, name string) bareRepo {
	t.Helper()
	r := bareRepo{t: t, dir: filepath.Join(s.dir, name), url: s.URL + "/" + name}
	r.git("", "init", "--quiet", "--bare", "--initial-branch=main", r.dir)
	return r
}

func (r bareRepo) git(stdin string, args ...string) string {
	r.t.Helper()
	if args[0] != "init" {
		args = append([]string{"--git-dir=" + r.dir}, args...)
	}
	command := exec.CommandContext(r.t.Context(), "git", args...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2024-05-01T12:00:00Z",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2024-05-01T12:00:00Z")
	command.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// commit adds files to a branch and returns the SHA. A name may carry a mode, as in "120000 link" for a symbolic link
// with its target as content, or "160000 module" for a submodule with a SHA as content; a nil-like "-" deletes.
func (r bareRepo) commit(branch string, files map[string]string) string {
	r.t.Helper()
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter Ada <ada@example.com> 1714564800 +0000\ndata 18\nChange some files.\n", branch)
	if exec.CommandContext(r.t.Context(), "git", "--git-dir="+r.dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Run() == nil {
		fmt.Fprintf(&stream, "from refs/heads/%s^0\n", branch)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		mode, path, ok := strings.Cut(name, " ")
		if !ok {
			mode, path = "100644", name
		}
		switch {
		case files[name] == "-":
			fmt.Fprintf(&stream, "D %s\n", path)
		case mode == "160000":
			fmt.Fprintf(&stream, "M 160000 %s %s\n", files[name], path)
		default:
			fmt.Fprintf(&stream, "M %s inline %s\ndata %d\n%s\n", mode, path, len(files[name]), files[name])
		}
	}
	r.git(stream.String(), "fast-import", "--quiet", "--force")
	return r.git("", "rev-parse", "refs/heads/"+branch)
}

func newStore(t *testing.T, change func(*Options)) *Store {
	t.Helper()
	options := Options{Dir: t.TempDir(), Timeout: 30 * time.Second}
	if change != nil {
		change(&options)
	}
	store, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}
