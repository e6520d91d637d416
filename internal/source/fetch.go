package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// keptRefs is where a ref is written for every commit that is here with all its content. The refs are plain files, since
// nothing ever packs them, so asking for one costs no process.
const keptRefs = "refs/towline"

// has reports whether the commit is here, with all its content.
func (r *repository) has(commit string) bool { return whole(r.dir, commit) }

// ref is the file of the ref of a commit.
func (r *repository) ref(commit string) string { return refFile(r.dir, commit) }

func refFile(dir, commit string) string {
	return filepath.Join(dir, filepath.FromSlash(keptRefs), commit)
}

// whole says that the ref of a commit is all that it should be.
func whole(dir, commit string) bool {
	data, err := os.ReadFile(refFile(dir, commit))
	return err == nil && strings.TrimSpace(string(data)) == commit
}

// kept are the commits that are here.
func (r *repository) kept() []string {
	entries, err := os.ReadDir(filepath.Join(r.dir, keptRefs))
	if err != nil {
		return nil
	}
	var commits []string
	for _, entry := range entries {
		if isSHA(entry.Name()) && r.has(entry.Name()) {
			commits = append(commits, entry.Name())
		}
	}
	return commits
}

// ensure has the commit fetched unless it is here, once for all who wait for it.
func (s *Store) ensure(ctx context.Context, repo *repository, commit string) (string, error) {
	if !isSHA(commit) {
		return "", fault.Terminalf("RevisionRefused", "reading %q of %s: not a full SHA of 40 digits; resolve it first",
			commit, repo.at.shown)
	}
	commit = strings.ToLower(commit)
	if repo.has(commit) {
		repo.use(commit, s.now())
		return commit, nil
	}
	fetched := s.fetching.DoChan(repo.key+" "+repo.at.url+" "+commit, func() (any, error) {
		detached, end, err := s.begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		return nil, s.fetch(detached, repo, commit, s.transfer)
	})
	select {
	case result := <-fetched:
		if result.Err == nil {
			repo.tips.use(commit)
		}
		return commit, result.Err
	case <-ctx.Done():
		return "", fault.Transientf("Cancelled", "waiting for commit %s of %s: %w", commit, repo.at.shown, context.Cause(ctx))
	}
}

// fetch brings the commit and its content, without its history, by one of the ways to ask for it. The ref that is written
// last is what makes it count, so that whatever ends a fetch early leaves a repository that is as good as before.
func (s *Store) fetch(ctx context.Context, repo *repository, commit string, by way) error {
	repo.writing.Lock()
	defer repo.writing.Unlock()
	if repo.has(commit) {
		return nil
	}
	if err := s.initialise(ctx, repo); err != nil {
		return err
	}
	s.fetches.Add(1)
	begun := s.now()
	err := by(ctx, repo, commit)
	s.tell(Asked{Repo: repo.at.shown, What: "fetch", Revision: commit, Took: s.now().Sub(begun), Err: err})
	if err == nil && !repo.has(commit) {
		err = s.keep(ctx, repo, commit)
	}
	if err != nil {
		return errors.Join(err, sweepRepository(repo.dir))
	}
	s.tidy(ctx, repo)
	return nil
}

// way is a way to ask for a commit.
type way func(ctx context.Context, repo *repository, commit string) error

// Foresee brings a commit that somebody says will be asked for, so that it is here when the remote has said so itself.
// It is tried once, and by its name alone: for what is not there nobody waits, and nothing else is fetched. Whoever
// needs the commit meanwhile waits for this fetch, and fetches himself if it brought nothing.
func (s *Store) Foresee(ctx context.Context, of manifest.Origin, commit string) error {
	repo, err := s.repository(of)
	if err != nil {
		return err
	}
	if commit = strings.ToLower(commit); !isSHA(commit) || repo.has(commit) || repo.shy.Load() {
		return nil
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.fetch(ctx, repo, commit, s.fetchCommit)
}

// transfer asks for the commit itself. A server that only gives out what it advertises is asked for the branch or tag
// that stands there, and if there is none any more, for everything.
func (s *Store) transfer(ctx context.Context, repo *repository, commit string) error {
	err := s.fetchCommit(ctx, repo, commit)
	if !notAdvertised(err) {
		return err
	}
	answer, err := s.ask(ctx, repo, freshEnough)
	if err != nil {
		return err
	}
	doing := fetching(repo, commit)
	if ref := answer.refOf(commit); ref != "" {
		err = s.fetchRefs(ctx, repo, doing, repo.depth(), ref)
	} else {
		err = s.fetchRefs(ctx, repo, doing, everything, "+refs/heads/*:refs/upstream/heads/*", "+refs/tags/*:refs/upstream/tags/*")
	}
	if err != nil {
		return err
	}
	return s.check(ctx, repo, commit)
}

// fetchCommit asks for a commit by its name. Git writes the ref that makes it count itself, as the last thing that it
// does: a process of its own would take as long as all that Go does for a push.
func (s *Store) fetchCommit(ctx context.Context, repo *repository, commit string) error {
	wanted := commit + ":" + keptRefs + "/" + commit
	depth := repo.depth()
	if depth == shallowest && len(repo.known()) > 0 {
		depth = withParents
	}
	err := s.fetchRefs(ctx, repo, fetching(repo, commit), depth, wanted)
	if depth == withParents && (fault.ReasonOf(err) == "RepositoryTooLarge" || fault.ReasonOf(err) == "Timeout") {
		err = s.fetchRefs(ctx, repo, fetching(repo, commit), shallowest, wanted)
	}
	repo.shy.Store(notAdvertised(err))
	return err
}

func notAdvertised(err error) bool { return fault.ReasonOf(err) == "ObjectNotAdvertised" }

func fetching(repo *repository, commit string) string {
	return fmt.Sprintf("fetching commit %s of %s", commit, repo.at.shown)
}

const (
	// shallowest is a commit without its history.
	shallowest = "--depth=1"
	// withParents is for those who have a commit already. Mostly it is the one that the new one was made from; a server
	// that is asked for it too sees how they belong together and looks into the folders that differ. Of a commit without
	// parents it can only tell what is new by going through every folder of the other one.
	withParents = "--depth=2"
	// everything is how git spells "no longer shallow", whether it was or not.
	everything = "--depth=2147483647"
)

// depth says how many commits of history are fetched: as few as possible, unless the entry asks for more.
func (r *repository) depth() string {
	if entry := r.entry.Load(); entry != nil && entry.Depth > 1 {
		return fmt.Sprintf("--depth=%d", entry.Depth)
	}
	return shallowest
}

func (s *Store) fetchRefs(ctx context.Context, repo *repository, doing, depth string, refs ...string) error {
	options := []string{depth}
	if depth != everything {
		options = append(options, repo.known()...)
	}
	err := s.fetchOnce(ctx, repo, doing, slices.Concat(options, []string{"--", repo.target()}, refs))
	if repo.elsewhere(err) {
		err = s.fetchOnce(ctx, repo, doing, slices.Concat(options, []string{"--", repo.target()}, refs))
	}
	return err
}

// target is the URL for git.
func (r *repository) target() string {
	if r.suffixed.Load() {
		return r.at.url + ".git"
	}
	return r.at.url
}

// elsewhere says that another attempt is worth it: some servers want ".git" at the end and lead everybody there, which
// is not followed with a login.
func (r *repository) elsewhere(err error) bool {
	complete := strings.HasSuffix(r.at.url, ".git") || strings.HasSuffix(r.at.url, "/")
	if fault.ReasonOf(err) != "RepositoryMoved" || complete || r.suffixed.Load() {
		return false
	}
	r.suffixed.Store(true)
	return true
}

func (s *Store) fetchOnce(ctx context.Context, repo *repository, doing string, what []string) error {
	args := []string{
		"fetch", "--quiet", "--no-progress", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--prune", "--refmap=",
	}
	with, err := s.signIn(ctx, repo)
	if err != nil {
		return err
	}
	defer with.end()
	_, err = s.git.run(ctx, call{doing: doing, dir: repo.dir, with: with, args: append(args, what...), limit: 1 << 20})
	return err
}

// check makes sure that a commit which was not asked for by name is here with all its content. (One that was asked for
// by name, git checked itself.)
func (s *Store) check(ctx context.Context, repo *repository, commit string) error {
	_, err := s.git.run(ctx, call{
		doing: "checking its content", dir: repo.dir, limit: 1 << 20,
		args: []string{"rev-list", "--quiet", "--objects", "--no-walk", "--end-of-options", commit},
	})
	if err != nil {
		return fault.Terminalf("CommitNotFound", "no branch or tag of %s leads to commit %s; "+
			"was it removed by a forced push? (%w)", repo.at.shown, commit, err)
	}
	return nil
}

// keep writes the ref of a commit, which git refuses if the commit is not here.
func (s *Store) keep(ctx context.Context, repo *repository, commit string) error {
	_, err := s.git.run(ctx, call{
		doing: fmt.Sprintf("keeping commit %s of %s", commit, repo.at.shown), dir: repo.dir, limit: 1 << 20,
		args: []string{"update-ref", "--no-deref", "--end-of-options", keptRefs + "/" + commit, commit},
	})
	return err
}

// distrust sets a repository aside that lost an object of a commit which it says it has: a disk that forgets, or somebody
// who tidied up. The next who asks has everything fetched again; asking only for what is missing would not bring it.
func (r *repository) distrust(commit string) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if !r.has(commit) {
		return nil
	}
	return errors.Join(os.RemoveAll(r.dir+distrusted), os.Rename(r.dir, r.dir+distrusted), os.RemoveAll(r.dir+distrusted))
}

// initialise makes the bare repository under another name first, so that half of one is never found under its own.
func (s *Store) initialise(ctx context.Context, repo *repository) error {
	if _, err := os.Stat(filepath.Join(repo.dir, "HEAD")); err == nil {
		return nil
	}
	fresh := repo.dir + unfinished
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(repo.dir)); err != nil {
		return fault.Transientf("StoreFailed", "making room for %s: %w", repo.at.shown, err)
	}
	_, err := s.git.run(ctx, call{
		doing: "making a repository for " + repo.at.shown, limit: 1 << 20,
		args: []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1", "--", fresh},
	})
	if err != nil {
		return err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(fresh, "description"), []byte(repo.at.shown+"\n"), 0o600),
		os.Rename(fresh, repo.dir),
	)
	if err != nil {
		return fault.Transientf("StoreFailed", "making a repository for %s: %w", repo.at.shown, err)
	}
	return nil
}

// Endings of the names of repositories that are being made, and that are being removed.
const (
	unfinished = ".new"
	distrusted = ".bad"
)

// sweepStore removes what a process that was killed left behind.
func sweepStore(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, "repos"))
	if err != nil {
		return fmt.Errorf("sweeping the git store: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, "repos", entry.Name())
		if strings.HasSuffix(path, unfinished) || strings.HasSuffix(path, distrusted) {
			err = errors.Join(err, os.RemoveAll(path))
			continue
		}
		err = errors.Join(err, sweepRepository(path))
	}
	if err != nil {
		return fmt.Errorf("sweeping the git store: %w", err)
	}
	return nil
}

// leftovers are the names under which git writes what it then renames, and its locks.
var leftovers = []string{
	"*.lock", "shallow_*", "objects/tmp_*", "objects/incoming-*", "objects/??/tmp_obj_*",
	"objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/pack/*.keep", "objects/pack/*.lock", keptRefs + "/*.lock",
}

func sweepRepository(dir string) error {
	var failures []error
	for _, pattern := range leftovers {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		failures = append(failures, err)
		for _, path := range found {
			failures = append(failures, os.RemoveAll(path))
		}
	}
	// A ref that a power failure cut short, or left empty, would stand in the way of the one that replaces it.
	refs, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(keptRefs)))
	if err != nil {
		return errors.Join(failures...)
	}
	for _, ref := range refs {
		if isSHA(ref.Name()) && !whole(dir, ref.Name()) {
			failures = append(failures, os.Remove(refFile(dir, ref.Name())))
		}
	}
	return errors.Join(failures...)
}
