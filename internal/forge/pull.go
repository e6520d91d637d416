package forge

import (
	"context"
	"regexp"
	"slices"
	"strconv"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/slug"
)

// pulls is a repository with pull requests.
type pulls interface {
	// name is the repository and its forge, for people.
	name() string
	pulls(ctx context.Context) ([]pull, error)
	closed(ctx context.Context, number int64) (bool, error)
}

// pull is a pull request, or a merge request.
type pull struct {
	number                             int64
	title, branch, target, sha, author string
	labels                             []string
}

// parameters are what a template may use. Their names are those of Argo CD.
func (p pull) parameters() map[string]any {
	labels := make([]any, 0, len(p.labels))
	for _, label := range p.labels {
		labels = append(labels, label)
	}
	return map[string]any{
		"number":             strconv.FormatInt(p.number, 10),
		"title":              p.title,
		"branch":             p.branch,
		"branch_slug":        slug.Make(p.branch),
		"target_branch":      p.target,
		"target_branch_slug": slug.Make(p.target),
		"head_sha":           p.sha,
		"head_short_sha":     short(p.sha, 8),
		"head_short_sha_7":   short(p.sha, 7),
		"labels":             labels,
		"author":             p.author,
	}
}

func short(sha string, length int) string { return sha[:min(len(sha), length)] }

// hasAll says whether a pull request has all the labels that a generator names.
func hasAll(labels, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(want string) bool { return !slices.Contains(labels, want) })
}

// pullMatch is a filter: all that it has must match.
type pullMatch struct{ branch, target, title *regexp.Regexp }

// pullMatches are filters of which one must match; none matches everything.
type pullMatches []pullMatch

func (m pullMatches) match(p pull) bool {
	return len(m) == 0 || slices.ContainsFunc(m, func(one pullMatch) bool {
		return matches(one.branch, p.branch) && matches(one.target, p.target) && matches(one.title, p.title)
	})
}

func matches(pattern *regexp.Regexp, text string) bool {
	return pattern == nil || pattern.MatchString(text)
}

func pullFilters(filters []v1alpha1.PullRequestGeneratorFilter) (pullMatches, error) {
	var out pullMatches
	for i, filter := range filters {
		var one pullMatch
		var err error
		if one.branch, err = pattern(i, "branchMatch", filter.BranchMatch); err != nil {
			return nil, err
		}
		if one.target, err = pattern(i, "targetBranchMatch", filter.TargetBranchMatch); err != nil {
			return nil, err
		}
		if one.title, err = pattern(i, "titleMatch", filter.TitleMatch); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// pattern reads a regular expression of a filter; nil is that there is none.
func pattern(filter int, field string, text *string) (*regexp.Regexp, error) {
	if text == nil {
		return nil, nil
	}
	compiled, err := regexp.Compile(*text)
	if err != nil {
		return nil, fault.Terminalf("FilterInvalid", "filters[%d].%s is not a regular expression: %w; correct it", filter, field, err)
	}
	return compiled, nil
}
