package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// bareFetch is a clone that does what any engine must before it can look at a
// push: fetch that one commit, and no history. What git and its server need for
// it grows with the repository, and nobody who uses git is spared it.
type bareFetch struct{ dir, url string }

func newBareFetch(ctx context.Context, under, url, commit string) (*bareFetch, error) {
	f := &bareFetch{dir: filepath.Join(under, "bare-fetch.git"), url: url}
	if err := f.git(ctx, "init", "--quiet", "--bare", f.dir); err != nil {
		return nil, err
	}
	_, err := f.fetch(ctx, commit)
	return f, err
}

// fetch takes over a commit, and returns how many milliseconds that took.
func (f *bareFetch) fetch(ctx context.Context, commit string) (ms float64, err error) {
	start := time.Now()
	err = f.git(ctx, "-C", f.dir, "fetch", "--quiet", "--no-progress", "--no-tags", "--no-write-fetch-head",
		"--no-auto-maintenance", "--depth=1", f.url, commit)
	ms = time.Since(start).Seconds() * 1e3
	if err != nil {
		return 0, err
	}
	// Without a ref to it the next fetch would begin from nothing.
	return ms, f.git(ctx, "-C", f.dir, "update-ref", "refs/kept/"+commit, commit)
}

func (f *bareFetch) git(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return nil
}
