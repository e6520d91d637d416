// Package source is git as content: it names the commit that a revision stands for and shows a commit as an immutable
// file system. The git program is its only way to the network, and there is never a work tree; it must not interpret
// what it fetches.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Options are what a Store is made of. Only Dir is required.
type Options struct {
	// Dir is a folder that the Store has for itself; it may be lost at any time, at the cost of fetching again.
	Dir string
	// Git is the git program, "git" by default; 2.31 or later.
	Git string
	// Env has further variables for git, such as HTTPS_PROXY=… or GIT_SSL_CAINFO=…; nothing else is inherited.
	Env []string
	// Timeout bounds one run of git, 90 seconds by default.
	Timeout time.Duration
	// Parallel bounds how many git programs run at the same time, 8 by default.
	Parallel int
	// MaxFile bounds the size of one file, 10 MiB by default.
	MaxFile int64
	// AllowFile lets URLs be paths of this machine. It is for tests and for the command line, never for tenants.
	AllowFile bool
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Store holds bare repositories on disk, one per URL, each with the commits that somebody asked for.
type Store struct {
	git       program
	dir       string
	maxFile   int64
	maxPacks  int
	allowFile bool
	now       func() time.Time
	lock      *os.File
	fetching  singleflight.Group
	running   sync.WaitGroup
	closed    chan struct{}

	lsRemotes, fetches atomic.Int64

	mu      sync.Mutex
	shut    bool
	repos   map[string]*repository // by URL as it is written
	writing map[string]*sync.Mutex // by folder
}

// repository is a URL and its bare repository, which other spellings of the URL share.
type repository struct {
	at      address
	dir     string
	writing *sync.Mutex // held by the one fetch that may write to dir
	heads   remote
}

// New opens the store in o.Dir, which no other process may have open, and removes what an interrupted fetch left there.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, fmt.Errorf("finding the folder %q of the git store: %w", o.Dir, errors.Join(err, fs.ErrInvalid))
	}
	home := filepath.Join(dir, "home")
	for _, folder := range []string{home, filepath.Join(dir, "repos")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("making the git store: %w", err)
		}
	}
	git, err := newProgram(o, home)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the git store: %w", err)
	}
	if err := lockFile(lock); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("opening the git store %q: another process has it open, give each its own folder: %w", dir, err)
	}
	if err := sweepStore(dir); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &Store{
		git: git, dir: dir, maxFile: o.MaxFile, maxPacks: 50, allowFile: o.AllowFile, now: o.Now, lock: lock,
		closed: make(chan struct{}), repos: map[string]*repository{}, writing: map[string]*sync.Mutex{},
	}, nil
}

func (o Options) withDefaults() Options {
	if o.Git == "" {
		o.Git = "git"
	}
	if o.Timeout <= 0 {
		o.Timeout = 90 * time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.MaxFile <= 0 {
		o.MaxFile = 10 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Close ends what is being fetched and gives the folder free. Trees that are still open stay readable.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return nil
	}
	s.shut = true
	close(s.closed)
	s.mu.Unlock()
	s.running.Wait()
	return s.lock.Close()
}

// Stats counts how often a remote was asked for its refs and how often something was fetched from one.
func (s *Store) Stats() (lsRemotes, fetches int64) {
	return s.lsRemotes.Load(), s.fetches.Load()
}

// Resolve names the commit that revision stands for, and when the remote said so. An answer of the remote that is not
// older than maxAge is used again, and serves every ref of the repository; 0 asks now. Callers who wait at the same
// time share one question, but nobody is given the answer to a question that was asked before they came and is older
// than they accept.
//
// An empty revision and "HEAD" are the remote's HEAD; a full SHA stands for itself and is not asked about; a name is a
// full ref, then a branch, then a tag (peeled to its commit), then the beginning of a SHA that is known here.
func (s *Store) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (commit string, seen time.Time, err error) {
	revision := of.Revision
	repo, err := s.repository(of.RepoURL)
	if err != nil {
		return "", time.Time{}, err
	}
	if err := checkRevision(repo.at, revision); err != nil {
		return "", time.Time{}, err
	}
	if isSHA(revision) {
		return strings.ToLower(revision), s.now(), nil
	}
	asked := s.now()
	answer, err := s.ask(ctx, repo, maxAge)
	if err != nil {
		return "", time.Time{}, err
	}
	commit, err = s.lookup(repo, answer, revision)
	// A name that an old answer lacks may have come into being since; but a wrong name must not ask every time.
	if err != nil && asked.Sub(answer.seen) > freshEnough {
		if answer, err = s.ask(ctx, repo, freshEnough); err == nil {
			commit, err = s.lookup(repo, answer, revision)
		}
	}
	if err != nil {
		return "", time.Time{}, err
	}
	return commit, answer.seen, nil
}

// freshEnough is how old an answer may be to say that a name does not exist.
const freshEnough = 10 * time.Second

// Tree is the content of commit, a full SHA: an immutable fs.FS, which is fetched once per repository and commit however
// many callers ask at the same time, and needs no network afterwards. What is returned is also an fs.ReadDirFS,
// fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS, and has
//
//	Digest(path string) (string, error) // names the content at path
//	Close() error                       // ends the process that reads it
func (s *Store) Tree(ctx context.Context, of manifest.Origin, commit string) (fs.FS, error) {
	repo, err := s.repository(of.RepoURL)
	if err != nil {
		return nil, err
	}
	commit, err = s.ensure(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	return s.newSnapshot(ctx, repo, commit), nil
}

// Describe says who made the commit, when, and with which message, for people. It fetches the commit if it has to.
func (s *Store) Describe(ctx context.Context, repoURL, commit string) (author string, date time.Time, message string, err error) {
	repo, err := s.repository(repoURL)
	if err != nil {
		return "", time.Time{}, "", err
	}
	commit, err = s.ensure(ctx, repo, commit)
	if err != nil {
		return "", time.Time{}, "", err
	}
	doing := fmt.Sprintf("describing commit %s of %s", commit, repo.at.shown)
	out, err := s.git.run(ctx, call{
		doing: doing, dir: repo.dir, limit: 1 << 20,
		args: []string{
			"show", "--no-patch", "--no-color", "--no-notes", "--format=%an <%ae>%x00%aI%x00%B",
			"--end-of-options", commit + "^{commit}",
		},
	})
	if err != nil {
		return "", time.Time{}, "", err
	}
	parts := strings.SplitN(string(out), "\x00", 3)
	if len(parts) != 3 {
		return "", time.Time{}, "", fault.Transientf("GitFailed", "%s: git answered in %d parts", doing, len(parts))
	}
	date, err = time.Parse(time.RFC3339, parts[1])
	if err != nil {
		date = time.Time{} // a commit may carry any date; that is no reason to keep its message back
	}
	return strings.ToValidUTF8(parts[0], "\ufffd"), date, strings.ToValidUTF8(strings.TrimSpace(parts[2]), "\ufffd"), nil
}

func (s *Store) repository(repoURL string) (*repository, error) {
	at, err := parseAddress(repoURL, s.allowFile)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if repo, ok := s.repos[repoURL]; ok {
		return repo, nil
	}
	if s.writing[at.key] == nil {
		s.writing[at.key] = &sync.Mutex{}
	}
	repo := &repository{at: at, dir: filepath.Join(s.dir, "repos", at.key), writing: s.writing[at.key]}
	s.repos[repoURL] = repo
	return repo, nil
}

// begin starts work that outlives the caller who asked for it first, because others may wait for it. It ends by itself,
// by the timeout of git, or with the Store.
func (s *Store) begin(ctx context.Context) (detached context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, nil, fault.Transientf("StoreClosed", "using the git store: %w", os.ErrClosed)
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.running.Go(func() {
		select {
		case <-s.closed:
			cancel(os.ErrClosed)
		case <-detached.Done():
		}
	})
	s.running.Add(1)
	return detached, func() { cancel(nil); s.running.Done() }, nil
}
