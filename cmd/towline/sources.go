package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/settings"
	"github.com/towline-cd/towline/internal/source"
	"github.com/towline-cd/towline/internal/source/chart"
)

// sources sends each question to the one who speaks with that sort of place.
type sources struct {
	git    *source.Store
	charts *chart.Store
	waits  func(repoURL string) (over func())
}

// fetchOptions say how things are fetched.
type fetchOptions struct {
	settings.Fetching
	book repository.Book
	// looked is told of repositories that moved; nil where nobody wants to know.
	looked func(repoURL string)
	// asked and pulled are told of questions to git servers and registries, and waits that somebody waits for the answer
	// of one; nil where nobody counts.
	asked  func(source.Asked)
	pulled func(chart.Asked)
	waits  func(repoURL string) (over func())
}

// openSources opens what fetches, in a folder that it has for itself.
func openSources(dir string, o fetchOptions) (*sources, error) {
	git, err := source.New(source.Options{
		Dir: filepath.Join(dir, "git"), Book: o.book, Looked: o.looked, Asked: o.asked, NoSubmodules: o.NoSubmodules, Timeout: o.GitTimeout,
	})
	if err != nil {
		return nil, err
	}
	charts, err := chart.New(chart.Options{Dir: filepath.Join(dir, "charts"), Book: o.book, Asked: o.pulled})
	if err != nil {
		return nil, errors.Join(err, git.Close())
	}
	if o.waits == nil {
		o.waits = func(string) func() { return func() {} }
	}
	return &sources{git: git, charts: charts, waits: o.waits}, nil
}

func (s *sources) close() error { return errors.Join(s.git.Close(), s.charts.Close()) }

// Resolve names the revision that an origin stands at.
func (s *sources) Resolve(ctx context.Context, of manifest.Origin, maxAge time.Duration) (string, time.Time, error) {
	if s.charts.Takes(of) {
		return s.charts.Resolve(ctx, of, maxAge)
	}
	defer s.waits(of.RepoURL)()
	return s.git.Resolve(ctx, of, maxAge)
}

// Tree is the content of a revision.
func (s *sources) Tree(ctx context.Context, of manifest.Origin, revision string) (fs.FS, error) {
	if s.charts.Takes(of) {
		return s.charts.Tree(ctx, of, revision)
	}
	return s.git.Tree(ctx, of, revision)
}

// File is the file behind a URL.
func (s *sources) File(ctx context.Context, url, project string) (fs.FS, error) {
	return s.charts.File(ctx, url, project)
}

// bookOf asks for the current entries each time, so that a changed secret
// counts at once.
type bookOf func() *repository.Set

// For is what is known of the place behind a URL.
func (b bookOf) For(url, project string) repository.Repository { return b().For(url, project) }

// Named is the entry that has a name.
func (b bookOf) Named(name, project string) (repository.Repository, bool) {
	return b().Named(name, project)
}

// Trust is whom to believe.
func (b bookOf) Trust() repository.Trust { return b().Trust() }
