package main

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/source"
)

// sources sends each question to the one who speaks with that sort of place.
type sources struct {
	git *source.Store
}

// isGit says whether an origin is a repository of git.
func isGit(of manifest.Origin) bool {
	return of.Chart == "" && !strings.HasPrefix(of.RepoURL, "oci://")
}

// Resolve names the revision that an origin stands at.
func (s sources) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (string, time.Time, error) {
	if isGit(of) {
		return s.git.Resolve(ctx, of, maxAge)
	}
	return "", time.Time{}, unfetched(of.RepoURL)
}

// Tree is the content of a revision.
func (s sources) Tree(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error) {
	if isGit(of) {
		return s.git.Tree(ctx, of, revision)
	}
	return nil, unfetched(of.RepoURL)
}

// File is the file behind a URL.
func (s sources) File(_ context.Context, url, _ string) (fs.FS, error) {
	return nil, unfetched(url)
}

func unfetched(url string) error {
	return fault.Terminalf("NotFetched", "%s is not a repository of git, and this build fetches nothing else", url)
}
