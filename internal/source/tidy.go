package source

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// mostKept is how many commits a repository keeps before it lets half of them go.
	mostKept = 256
	// restFor is how long nobody has asked for a commit that is let go.
	restFor = time.Hour
)

// tidy keeps a repository small, beside those who waited for the fetch that came before.
func (s *Store) tidy(ctx context.Context, repo *repository) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return
	}
	go func() {
		defer end()
		repo.writing.Lock()
		defer repo.writing.Unlock()
		s.letGo(ctx, repo)
		s.joinPacks(ctx, repo)
	}()
}

// use says that somebody asks for a commit that is here.
func (r *repository) use(commit string, now time.Time) {
	r.tips.use(commit)
	r.touch(commit, now)
}

// touch keeps a commit from being let go. How old its ref is tells, roughly, when somebody last spoke of it, so that a
// restart does not forget it.
func (r *repository) touch(commit string, now time.Time) {
	path := r.ref(commit)
	if is, err := os.Stat(path); err == nil && now.Sub(is.ModTime()) > restFor/4 {
		_ = os.Chtimes(path, now, now) // then it counts as older than it is
	}
}

// letGo forgets commits that nobody has asked for in a while, where there are many: a branch leaves one behind with every
// push. Who wants one all the same has it fetched again. Where a branch or tag stands is never let go.
func (s *Store) letGo(ctx context.Context, repo *repository) {
	// Names alone, as long as there are few.
	if names, err := os.ReadDir(filepath.Join(repo.dir, filepath.FromSlash(keptRefs))); err != nil || len(names) <= s.maxKept {
		return
	}
	kept := repo.kept()
	idle := repo.idle(kept, s.now().Add(-restFor))
	// Objects are only freed by going through all of them, which few commits are not worth.
	enough := s.maxKept / 2
	if len(idle) < enough {
		return
	}
	for _, commit := range idle[:min(len(idle), max(len(kept)-s.maxKept, 0)+enough)] {
		_ = os.Remove(repo.ref(commit)) // what stays is let go the next time
	}
	// The first leaves out what no ref leads to, the second tells the server of no more commits than there are.
	for _, args := range [][]string{
		{"repack", "--quiet", "-a", "-d", "--no-write-bitmap-index"},
		{"prune", "--expire=1.hour.ago"},
	} {
		_, err := s.git.run(ctx, call{doing: "tidying up " + repo.at.shown, dir: repo.dir, limit: 1 << 20, args: args})
		if err != nil {
			_ = sweepRepository(repo.dir)
			return
		}
	}
}

// idle are those of the commits that nobody has asked for since a time, the longest unused first.
func (r *repository) idle(kept []string, since time.Time) []string {
	standing := map[string]bool{}
	r.heads.mu.Lock()
	if r.heads.last != nil {
		for _, commit := range r.heads.last.named {
			standing[commit] = true
		}
	}
	r.heads.mu.Unlock()
	used := map[string]time.Time{}
	for _, commit := range kept {
		if is, err := os.Stat(r.ref(commit)); err == nil && is.ModTime().Before(since) && !standing[commit] {
			used[commit] = is.ModTime()
		}
	}
	out := slices.DeleteFunc(kept, func(commit string) bool { return used[commit].IsZero() })
	slices.SortFunc(out, func(a, b string) int { return used[a].Compare(used[b]) })
	return out
}

// joinPacks makes few packs of the many that fetches left, each of which a reader would have to look into. That it may
// fail is nobody's trouble: git leaves the packs as they were, and the next fetch tries again.
func (s *Store) joinPacks(ctx context.Context, repo *repository) {
	packs, err := filepath.Glob(filepath.Join(repo.dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) <= s.maxPacks {
		return
	}
	_, err = s.git.run(ctx, call{
		doing: "joining the packs of " + repo.at.shown, dir: repo.dir, limit: 1 << 20,
		args: []string{"repack", "--quiet", "-d", "--geometric=2"},
	})
	if err != nil {
		_ = sweepRepository(repo.dir)
	}
}
