// Package chart is Helm repositories and OCI registries as content: it names the version or digest that a revision
// stands for and shows a chart or an artifact as an immutable file system. It must not render what it fetches, nor run
// any of it.
package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"golang.org/x/sync/singleflight"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/source/archive"
	"github.com/towline-cd/towline/internal/source/blob"
	"github.com/towline-cd/towline/internal/source/web"
)

// Options are what a Store is made of. Only Dir and Book are required.
type Options struct {
	// Dir is a folder that the Store has for itself; it may be lost at any time, at the cost of fetching again.
	Dir  string
	Book repository.Book
	// Timeout bounds one request with its answer, 90 seconds by default.
	Timeout time.Duration
	// Parallel bounds how much is fetched at the same time, 16 by default.
	Parallel int
	// Quota bounds what is kept on disk, 2 GiB by default; what was not used for longest goes first.
	Quota int64
	// Archive bounds charts and artifacts.
	Archive archive.Limits
	// MaxIndex bounds the index of a repository as it is sent, 100 MiB by default, and MaxIndexText once it is
	// decompressed, 500 MiB by default.
	MaxIndex, MaxIndexText int64
	// LayerTypes are media types of layers, besides those that are known, that hold a tar; one that ends in "gzip" is
	// compressed.
	LayerTypes []string
	// Proxy is the way to places whose entry names no proxy; nil is none.
	Proxy func(*url.URL) (*url.URL, error)
	// Resolver finds addresses; nil is that of the machine.
	Resolver *net.Resolver
	// AllowPrivate lets content choose any server that an application may choose. It is for tests.
	AllowPrivate bool
	// Asked is called after a registry was asked for something. It must not block.
	Asked func(Asked)
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Asked is a question that a registry was asked.
type Asked struct {
	// Repo is the address, without a login.
	Repo string
	// What is "resolve", "get_tags" or "extract".
	What string
	Took time.Duration
	Err  error
}

func (s *Store) tell(a Asked) {
	if s.told != nil {
		s.told(a)
	}
}

// Store fetches charts and artifacts and keeps them.
type Store struct {
	options     Options
	now         func() time.Time
	told        func(Asked)
	client      *web.Client
	blobs       *blob.Store
	lock        *os.File
	slots       chan struct{}
	downloading singleflight.Group
	running     sync.WaitGroup
	closed      chan struct{}

	asked, unchanged, downloads atomic.Int64

	mu        sync.Mutex
	shut      bool
	turn      int64
	endpoints map[string]*endpoint
	trees     map[string]weak.Pointer[archive.Tree]
}

// New opens the store in o.Dir, which no other process may have open, and removes what an interrupted download left.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" || o.Book == nil {
		return nil, fmt.Errorf("opening the store of charts %q: %w", o.Dir, errors.Join(err, fs.ErrInvalid))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the store of charts: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	blobs, err := blob.Open(dir, o.Quota)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Store{
		options: o, now: o.Now, told: o.Asked, blobs: blobs, lock: lock, slots: make(chan struct{}, o.Parallel),
		closed: make(chan struct{}),
		client: web.New(web.Options{
			Book: o.Book, Timeout: o.Timeout, Proxy: o.Proxy, Resolver: o.Resolver, AllowPrivate: o.AllowPrivate,
		}),
		endpoints: map[string]*endpoint{}, trees: map[string]weak.Pointer[archive.Tree]{},
	}, nil
}

func (o Options) withDefaults() Options {
	if o.Parallel <= 0 {
		o.Parallel = 16
	}
	if o.Quota <= 0 {
		o.Quota = 2 << 30
	}
	if o.MaxIndex <= 0 {
		o.MaxIndex = 100 << 20
	}
	if o.MaxIndexText <= 0 {
		o.MaxIndexText = 500 << 20
	}
	o.Archive = o.Archive.WithDefaults()
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
	s.client.Close()
	return s.lock.Close()
}

// Stats counts the questions to repositories for what they have, those that nothing had changed for, and the downloads
// of charts and artifacts.
func (s *Store) Stats() (asked, unchanged, downloads int64) {
	return s.asked.Load(), s.unchanged.Load(), s.downloads.Load()
}

// Takes reports whether an origin is for this Store. What it does not take is git.
func (s *Store) Takes(of manifest.Origin) bool {
	return of.Chart != "" || strings.HasPrefix(of.RepoURL, "oci://")
}

// Resolve names what a revision stands for, and when the repository said so: the version of a chart, or the digest of
// an artifact. An answer of the repository that is not older than maxAge is used again, and serves every chart of the
// repository; 0 asks now. A version that is written out and was fetched before is not asked about, unless with 0.
func (s *Store) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (revision string, seen time.Time, err error) {
	p, err := s.place(of)
	if err != nil {
		return "", time.Time{}, err
	}
	if p.kind == helmRepository {
		return s.resolveRelease(ctx, p, of.Revision, maxAge)
	}
	return s.resolveTag(ctx, p, of.Revision, maxAge)
}

// Tree is the content of what Resolve named: an immutable fs.FS that needs no network afterwards. That of a chart begins
// where its Chart.yaml is. What is returned is also an fs.ReadDirFS, fs.ReadFileFS, fs.StatFS, fs.ReadLinkFS and a
// manifest.Traced.
func (s *Store) Tree(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error) {
	p, err := s.place(of)
	if err != nil {
		return nil, err
	}
	var tree *archive.Tree
	if p.kind == helmRepository {
		tree, err = s.releaseTree(ctx, p, revision)
	} else {
		tree, err = s.registryTree(ctx, p, revision)
	}
	if err != nil {
		return nil, err
	}
	if of.Chart != "" {
		if _, err := tree.Stat("Chart.yaml"); err != nil {
			return nil, fault.Terminalf("NotAChart", "%s of %s has no Chart.yaml, so it is not a chart", revision, p.shown)
		}
	}
	return tree, nil
}

// File is what is behind a URL of http or https: a tree that holds it under the name "content". It is fetched at every
// call.
func (s *Store) File(ctx context.Context, rawURL, project string) (fs.FS, error) {
	party, err := s.client.Party(rawURL, project, true)
	if err != nil {
		return nil, err
	}
	data, err := detached(ctx, s, func(ctx context.Context) ([]byte, error) {
		doing := "fetching " + web.Shown(party.URL)
		return s.get(ctx, party, web.Request{URL: rawURL}, doing, manifest.MaxFileBytes)
	})
	if err != nil {
		return nil, err
	}
	return archive.Single("content", data), nil
}

// begin starts work that ends with the Store.
func (s *Store) begin(ctx context.Context) (detached context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, nil, fault.Transientf("StoreClosed", "using the store of charts: %w", os.ErrClosed)
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
