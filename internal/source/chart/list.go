package chart

import (
	"context"
	"slices"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Charts are the charts of a Helm repository, each with its versions as the index has them. An index that is not older
// than maxAge is used again. What a registry holds nobody can list.
func (s *Store) Charts(ctx context.Context, of manifest.Origin, maxAge time.Duration) (map[string][]string, error) {
	if of.Chart == "" {
		// One index has all charts, whichever is asked for.
		of.Chart = "chart"
	}
	p, err := s.place(of)
	if err != nil {
		return nil, err
	}
	if p.kind != helmRepository {
		return nil, fault.Terminalf("NotListed", "%s is a registry, whose charts cannot be listed; name the chart", p.shown)
	}
	a, err := s.indexOf(ctx, p, s.endpoint(p), maxAge)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]string, len(a.value.charts))
	for name := range a.value.charts {
		out[name] = a.value.versions(name)
	}
	return out, nil
}

// Tags are the tags of a repository of a registry, as they are written there.
func (s *Store) Tags(ctx context.Context, of manifest.Origin, maxAge time.Duration) ([]string, error) {
	p, err := s.place(of)
	if err != nil {
		return nil, err
	}
	if p.kind == helmRepository {
		return nil, fault.Terminalf("NotListed", "%s is a Helm repository, which has versions and no tags", p.shown)
	}
	a, err := s.tagsOf(ctx, p, s.endpoint(p), maxAge)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(a.value))
	for i, v := range a.value {
		out[i] = versionTag(v)
	}
	slices.Sort(out)
	return out, nil
}
