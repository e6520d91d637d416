// Package source is git as content: it names the commit that a revision stands for and shows a commit as an immutable
// file system. The git program is its only way to a repository, and there is never a work tree; it must not interpret
// what it fetches.
//
// A login is never in the arguments or the environment of a process. Git asks for a user and a password by a program,
// which is our own under another name, and which asks us over a socket in a private folder; the answer is for one host.
// An SSH key stays in this process, which is its own agent over such a socket. For a token that has to be sent as a
// header git knows no such way before 2.46, so it is a setting in a file: only we can read it, it is in memory where the
// machine has a file system there, and it is gone with the process that needed it. A pipe would not do, since git and
// the helper that it starts each read their settings more than once.
package source

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	core "github.com/towline-cd/towline/internal/core/repository"
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
	// MaxFetch bounds what one fetch may bring, 2 GiB by default; it holds on Linux.
	MaxFetch int64
	// MaxMemory bounds what a git process may have in memory, 1 GiB by default; it holds on Linux, and for one object
	// everywhere.
	MaxMemory int64
	// MaxFiles bounds how many names the folders of one snapshot may hold together, a million by default.
	MaxFiles int
	// Book says how to sign in and whom to trust. Without one nobody signs in, save by a login in the URL itself.
	Book core.Book
	// NoSubmodules shows the places of submodules as empty folders. Otherwise their content is fetched when somebody
	// looks into one; Submodule is asked before, and an error keeps it away.
	NoSubmodules bool
	Submodule    func(of manifest.Origin) error
	// Looked is called after the refs of a repository were listed and differ from the last time. It must not block.
	Looked func(repoURL string)
	// Asked is called after a server was asked for something, with what: "ls-remote" or "fetch". It must not block.
	Asked func(Asked)
	// Self is the program that git asks for logins by: it must call Askpass when its name is AskpassName. The program
	// that runs is the default.
	Self string
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
	maxFiles  int
	maxPacks  int
	maxKept   int
	allowFile bool
	book      core.Book
	looked    func(repoURL string)
	told      func(Asked)
	modules   func(of manifest.Origin) error // nil where submodules are not shown
	self      string
	key       []byte // of the digests that folders are named by
	vault     vault
	apps      apps
	now       func() time.Time
	lock      *os.File
	fetching  singleflight.Group
	spares    spares
	folders   folders
	running   sync.WaitGroup
	closed    chan struct{}

	lsRemotes, fetches atomic.Int64

	mu      sync.Mutex
	shut    bool
	repos   map[string]*repository // by folder and by URL as it is written
	writing map[string]*sync.Mutex // by folder
}

// repository is a URL and its bare repository, which other spellings of the URL share.
type repository struct {
	written string // the URL as it is written
	at      address
	key     string // the name of its folder
	dir     string
	entry   atomic.Pointer[core.Repository] // what is known of it now; nil where there is no Book and no login
	writing *sync.Mutex                     // held by the one fetch that may write to dir
	// suffixed says that the server wants ".git" at the end.
	suffixed atomic.Bool
	// shy says that the server gave out nothing but branches and tags when it was last asked for a commit.
	shy   atomic.Bool
	tips  tips
	heads remote
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
	s := &Store{
		git: git, dir: dir, maxFile: o.MaxFile, maxFiles: o.MaxFiles, maxPacks: 50, maxKept: mostKept,
		allowFile: o.AllowFile, now: o.Now, lock: lock,
		book: o.Book, looked: o.Looked, told: o.Asked, self: o.Self, vault: vault{record: filepath.Join(dir, "private")},
		closed: make(chan struct{}), repos: map[string]*repository{}, writing: map[string]*sync.Mutex{},
	}
	if !o.NoSubmodules {
		s.modules = o.Submodule
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.apps = apps{now: o.Now, key: s.key, kept: map[string]appToken{}}
	return s, nil
}

// prepare removes what a process that was killed left, and reads or makes the key that folders are named by.
func (s *Store) prepare() error {
	if err := errors.Join(sweepStore(s.dir), s.vault.sweep()); err != nil {
		return err
	}
	path := filepath.Join(s.dir, "key")
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		s.key = key
		return nil
	}
	s.key = make([]byte, sha256.Size)
	_, _ = rand.Read(s.key) // it does not fail: it ends the process
	if err := os.WriteFile(path, s.key, 0o600); err != nil {
		return fmt.Errorf("opening the git store: %w", err)
	}
	return nil
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
	if o.MaxFetch <= 0 {
		o.MaxFetch = 2 << 30
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = 1 << 30
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 1_000_000
	}
	if o.Self == "" {
		o.Self, _ = os.Executable() // where it is not known, a login that git asks for is refused
	}
	if o.Submodule == nil {
		o.Submodule = func(manifest.Origin) error { return nil }
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
	s.spares.close()
	return errors.Join(s.vault.close(), s.lock.Close())
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
// An empty revision and "HEAD" are the remote's HEAD; a full SHA stands for itself and is not asked about; a range of
// versions is the newest tag in it, of those that begin with the prefix of the origin if it has one; a name is a full
// ref, then a branch, then a tag (peeled to its commit), then the beginning of a SHA that is known here.
func (s *Store) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (commit string, seen time.Time, err error) {
	revision := of.Revision
	repo, err := s.repository(of)
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
	commit, err = s.lookup(repo, answer, of)
	// A name that the answer lacks may have come into being since: people push a tag and name it in the next commit. But a
	// wrong name must not ask every time.
	if err != nil && answer.seen.Before(asked) && repo.heads.doubts(revision, asked) {
		if answer, err = s.ask(ctx, repo, 0); err == nil {
			commit, err = s.lookup(repo, answer, of)
		}
	}
	if err != nil {
		return "", time.Time{}, err
	}
	return commit, answer.seen, nil
}

// freshEnough is how old an answer may be to say that a name does not exist, once it was asked for that name.
const freshEnough = 10 * time.Second

// Tree is the content of commit, a full SHA: an immutable fs.FS, which is fetched once per repository and commit however
// many callers ask at the same time, and needs no network afterwards, save for a submodule that nobody has looked into
// before. What is returned is also an fs.ReadDirFS,
// fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS, and has
//
//	Digest(path string) (string, error) // names the content at path
//	Close() error                       // ends the process that reads it
func (s *Store) Tree(ctx context.Context, of manifest.Origin, commit string) (fs.FS, error) {
	repo, err := s.repository(of)
	if err != nil {
		return nil, err
	}
	commit, err = s.ensure(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	return s.newSnapshot(ctx, of, repo, commit), nil
}

// Describe says who made the commit, when, and with which message, for people. It fetches the commit if it has to.
func (s *Store) Describe(ctx context.Context, of manifest.Origin, commit string) (
	author string, date time.Time, message string, err error,
) {
	repo, err := s.repository(of)
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

// Refs are the branches and tags of a repository, in order, and the tags of a commit where one is named. An answer of the
// remote that is not older than maxAge is used again.
func (s *Store) Refs(ctx context.Context, of manifest.Origin, commit string, maxAge time.Duration) (
	branches, tags, named []string, err error,
) {
	repo, err := s.repository(of)
	if err != nil {
		return nil, nil, nil, err
	}
	answer, err := s.ask(ctx, repo, maxAge)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(answer.named)) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			branches = append(branches, name)
		}
		if name, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			tags = append(tags, name)
			if commit != "" && answer.named[ref] == commit {
				named = append(named, name)
			}
		}
	}
	return branches, tags, named, nil
}

// repository finds what is known of a repository now. Whoever signs in alike shares it.
func (s *Store) repository(of manifest.Origin) (*repository, error) {
	at, err := parseAddress(of.RepoURL, s.allowFile)
	if err != nil {
		return nil, err
	}
	var entry core.Repository
	if s.book != nil {
		entry = s.book.For(of.RepoURL, of.Project)
	}
	entry = at.signedIn(entry)
	key := at.folder(entry, s.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("%s %t %s", key, entry.EnableLFS, of.RepoURL)
	repo, ok := s.repos[name]
	if !ok {
		if s.writing[key] == nil {
			s.writing[key] = &sync.Mutex{}
		}
		repo = &repository{
			written: of.RepoURL, at: at, key: key, dir: filepath.Join(s.dir, "repos", key), writing: s.writing[key],
		}
		s.repos[name] = repo
	}
	if s.book != nil || at.password != "" {
		repo.entry.Store(&entry)
	}
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
