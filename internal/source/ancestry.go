package source

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Descends says whether one commit is part of the history of another. It has that history fetched, so it is for those
// who would otherwise delete something.
func (s *Store) Descends(ctx context.Context, of manifest.Origin, from, commit string) (bool, error) {
	from, commit = strings.ToLower(from), strings.ToLower(commit)
	if !isSHA(from) || !isSHA(commit) {
		return false, fault.Terminalf("NotACommit", "%q and %q are not both commits", from, commit)
	}
	if from == commit {
		return true, nil
	}
	repo, err := s.repository(of)
	if err != nil {
		return false, err
	}
	if err := s.fetchHistory(ctx, repo, commit); err != nil {
		return false, err
	}
	out, err := s.git.run(ctx, call{
		doing: fmt.Sprintf("reading the history of commit %s of %s", commit, repo.at.shown), dir: repo.dir, limit: 64 << 20,
		args: []string{"rev-list", fmt.Sprintf("--max-count=%d", maxHistory), "--end-of-options", commit},
	})
	if err != nil {
		return false, err
	}
	for line := range bytes.Lines(out) {
		if string(bytes.TrimSpace(line)) == from {
			return true, nil
		}
	}
	return false, nil
}
