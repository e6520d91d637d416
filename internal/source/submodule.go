package source

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Bounds on submodules.
const (
	maxModuleDepth = 5
	maxModulesFile = 1 << 20
)

// mounts are the submodules of a snapshot. Their commits are part of its trees, so that the same trees always have the
// same content; where they are fetched from is in a file at its root.
type mounts struct {
	read  func(blob string) ([]byte, error)           // what a file of settings says
	fetch func(url, commit string) (*snapshot, error) // nil where submodules are not shown
	urls  map[string]string                           // by path; nil until the file is read
	known map[string]*snapshot                        // by path
}

func (m *mounts) close() {
	for _, module := range m.known {
		_ = module.Close() // it only ends a process
	}
}

// depthKey counts how deep a snapshot is within others.
type depthKey struct{}

func (s *Store) newMounts(ctx context.Context, of manifest.Origin, repo *repository) mounts {
	if s.modules == nil {
		return mounts{}
	}
	depth, _ := ctx.Value(depthKey{}).(int)
	ctx = context.WithValue(ctx, depthKey{}, depth+1)
	git := s.git
	return mounts{
		known: map[string]*snapshot{},
		read: func(blob string) ([]byte, error) {
			return git.run(ctx, call{
				doing: "reading the submodules of " + repo.at.shown, dir: repo.dir, limit: maxModulesFile,
				args: []string{"config", "--no-includes", "--blob", blob, "--null", "--list"},
			})
		},
		fetch: func(written, commit string) (*snapshot, error) {
			if depth >= maxModuleDepth {
				return nil, fault.Terminalf("SubmodulesTooDeep", "there are more than %d submodules within each other", maxModuleDepth)
			}
			at, err := moduleURL(of.RepoURL, written)
			if err != nil {
				return nil, err
			}
			return s.openModule(ctx, manifest.Origin{RepoURL: at, Project: of.Project}, commit)
		},
	}
}

// openModule fetches a submodule with what its own URL is known by. A path of this machine is never one, whoever asks.
func (s *Store) openModule(ctx context.Context, of manifest.Origin, commit string) (*snapshot, error) {
	if _, err := parseAddress(of.RepoURL, false); err != nil {
		return nil, err
	}
	if err := s.modules(of); err != nil {
		return nil, err
	}
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

// enter goes into a submodule, if the place is one whose URL is known; the caller holds the mutex.
func (s *snapshot) enter(at place) (place, error) {
	e := at.entry()
	if !e.isSubmodule() {
		return at, nil
	}
	owner := s
	if e.in != nil {
		owner = e.in
		owner.mu.Lock()
		defer owner.mu.Unlock()
	}
	var names []string
	for _, one := range at.within() {
		names = append(names, one.name)
	}
	module, err := owner.module(path.Join(names...), e.hash)
	if err != nil {
		return nil, fmt.Errorf("opening the submodule %q: %w", at.path(), err)
	}
	if module == nil {
		return at, nil
	}
	module.mu.Lock()
	defer module.mu.Unlock()
	root, err := module.rootEntry()
	if err != nil {
		return nil, fmt.Errorf("opening the submodule %q: %w", at.path(), err)
	}
	return append(slices.Clip(at.parent()), entry{name: e.name, mode: modeTree, hash: root.hash, in: module, mount: true}), nil
}

// inside are the entries of a folder. A submodule of which nothing is known is empty. The caller holds the mutex.
func (s *snapshot) inside(at place) ([]entry, error) {
	at, err := s.enter(at)
	if err != nil || at.entry().isSubmodule() {
		return nil, err
	}
	return s.tree(at.entry())
}

// module is the snapshot of a submodule, or nil if it is not known where it comes from; the caller holds the mutex.
func (s *snapshot) module(at, commit string) (*snapshot, error) {
	if s.mounts.fetch == nil {
		return nil, nil
	}
	if found, ok := s.mounts.known[at]; ok {
		return found, nil
	}
	if err := s.readModules(); err != nil {
		return nil, err
	}
	written, ok := s.mounts.urls[at]
	if !ok {
		return nil, nil
	}
	found, err := s.mounts.fetch(written, commit)
	if err != nil {
		return nil, err
	}
	s.mounts.known[at] = found
	return found, nil
}

// readModules reads where submodules come from.
func (s *snapshot) readModules() error {
	if s.mounts.urls != nil {
		return nil
	}
	root, err := s.rootEntry()
	if err != nil {
		return err
	}
	entries, err := s.ownTree(root.hash)
	if err != nil {
		return err
	}
	s.mounts.urls = map[string]string{}
	file, ok := findEntry(entries, ".gitmodules")
	if !ok || file.isDir() || file.isLink() {
		return nil
	}
	listed, err := s.mounts.read(file.hash)
	if err != nil {
		s.mounts.urls = nil
		return err
	}
	s.mounts.urls = moduleURLs(listed)
	return nil
}

// moduleURLs reads what git lists of a file of submodules: where each is, and where it comes from.
func moduleURLs(listed []byte) map[string]string {
	paths, urls := map[string]string{}, map[string]string{}
	for one := range bytes.SplitSeq(listed, []byte{0}) {
		key, value, _ := strings.Cut(string(one), "\n")
		name, ok := strings.CutPrefix(key, "submodule.")
		if !ok {
			continue
		}
		if of, ok := strings.CutSuffix(name, ".path"); ok {
			paths[of] = value
		}
		if of, ok := strings.CutSuffix(name, ".url"); ok {
			urls[of] = value
		}
	}
	out := map[string]string{}
	for name, at := range paths {
		if url := urls[name]; url != "" {
			out[path.Clean(at)] = url
		}
	}
	return out
}

// moduleURL completes a URL that is relative to that of the repository that names it. It stays on the same host.
func moduleURL(of, written string) (string, error) {
	if !strings.HasPrefix(written, "./") && !strings.HasPrefix(written, "../") {
		return written, nil
	}
	refuse := func() (string, error) {
		return "", fault.Terminalf("SubmoduleRefused", "the URL %q of a submodule leads above the host of %s; correct .gitmodules",
			redact(written), redact(of))
	}
	host, between, folder := hostAndPath(strings.TrimRight(of, "/"))
	if host == "" {
		return refuse()
	}
	var names []string
	for name := range strings.SplitSeq(folder+"/"+written, "/") {
		switch {
		case name == "" || name == ".":
		case name != "..":
			names = append(names, name)
		case len(names) == 0:
			return refuse()
		default:
			names = names[:len(names)-1]
		}
	}
	return host + between + strings.Join(names, "/"), nil
}

// hostAndPath splits "https://host/path" and "user@host:path", and gives what stands between the two.
func hostAndPath(url string) (host, between, folder string) {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		name, folder, _ := strings.Cut(rest, "/")
		return scheme + "://" + name, "/", folder
	}
	host, folder, ok := strings.Cut(url, ":")
	if !ok {
		return "", "", ""
	}
	return host, ":", folder
}
