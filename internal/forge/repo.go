package forge

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// parallel is how many repositories are looked at, at a time.
const parallel = 4

// repos is an owner of repositories.
type repos interface {
	// name is the owner and its forge, for people.
	name() string
	repos(ctx context.Context) ([]repo, error)
	// branches are the one of a name, or without a name all of them.
	branches(ctx context.Context, r repo, only string) ([]branch, error)
	// here fails unless the repository is there to be seen.
	here(ctx context.Context, r repo) error
	has(ctx context.Context, r repo, branch, path string) (bool, error)
}

// repo is a repository.
type repo struct {
	id                                        int64
	organization, name, ssh, https, defaulted string
	labels                                    []string
	archived, empty                           bool
}

type branch struct{ name, sha string }

// listedBranch is what is read of a branch. GitHub calls the commit sha, the others id.
type listedBranch struct {
	Name   string `json:"name"`
	Commit struct {
		SHA string `json:"sha,omitempty"`
		ID  string `json:"id,omitempty"`
	} `json:"commit"`
}

func (b listedBranch) sha() string { return cmp.Or(b.Commit.SHA, b.Commit.ID) }

func (b listedBranch) id() string {
	if b.sha() == "" {
		return ""
	}
	return b.Name
}

// branchesAt reads the branch of a name, or all that there are below a path.
func branchesAt(ctx context.Context, s *session, l listing[listedBranch], only string) ([]branch, error) {
	if only != "" {
		found, _, err := get[listedBranch](ctx, s, l.path+"/"+segment(only), nil)
		if err == nil && found.id() == "" {
			err = fault.Transientf("AnswerIncomplete", "asking %s: the branch has no name or no commit", s.place())
		}
		return []branch{{name: found.Name, sha: found.sha()}}, err
	}
	l.id = listedBranch.id
	found, err := list(ctx, s, l)
	if err != nil {
		return nil, err
	}
	out := make([]branch, 0, len(found))
	for _, b := range found {
		out = append(out, branch{name: b.Name, sha: b.sha()})
	}
	return out, nil
}

func (r repo) path() string { return r.organization + "/" + r.name }

// walk is what is wanted of the repositories of an owner.
type walk struct {
	ssh, allBranches, skipArchived bool
	filters                        []repoMatch
}

// overSSH says which address of a repository is wanted.
func overSSH(protocol string) (bool, error) {
	switch protocol {
	case "", "ssh":
		return true, nil
	case "https":
		return false, nil
	}
	return false, fault.Terminalf("CloneProtocolInvalid", "scmProvider: cloneProtocol %q is neither ssh nor https; correct it", protocol)
}

// sets are the parameters of all that passes the filters, in the order of the forge.
func (w *walk) sets(ctx context.Context, from repos) ([]map[string]any, error) {
	found, err := from.repos(ctx)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r repo) bool {
		return w.skipArchived && r.archived || len(w.filters) > 0 && len(w.candidates(r)) == 0
	})
	each := make([][]map[string]any, len(found))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range found {
		group.Go(func() error {
			sets, err := w.of(ctx, from, r)
			if err != nil {
				return fmt.Errorf("repository %s: %w", r.path(), err)
			}
			each[i] = sets
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := []map[string]any{}
	for _, sets := range each {
		all = append(all, sets...)
	}
	return all, nil
}

// of are the parameters of one repository: one for each branch that passes.
func (w *walk) of(ctx context.Context, from repos, r repo) ([]map[string]any, error) {
	found, err := w.branches(ctx, from, r)
	if err != nil {
		return nil, err
	}
	var sets []map[string]any
	for _, b := range found {
		looks := look{from: from, repo: r, branch: b.name, known: map[string]bool{}}
		ok, err := w.passes(ctx, looks)
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", b.name, err)
		}
		if ok {
			sets = append(sets, w.parameters(r, b))
		}
	}
	return sets, nil
}

func (w *walk) branches(ctx context.Context, from repos, r repo) ([]branch, error) {
	only := r.defaulted
	if r.empty || only == "" && !w.allBranches {
		return nil, nil // nothing was ever pushed to it
	}
	if w.allBranches {
		only = ""
	}
	found, err := from.branches(ctx, r, only)
	if isAbsent(err) {
		// An empty repository has no branch, and neither has one that we may no longer see. Only the first is an answer.
		return nil, from.here(ctx, r)
	}
	return found, err
}

// parameters are what a template may use. Their names are those of Argo CD.
func (w *walk) parameters(r repo, b branch) map[string]any {
	address := r.https
	if w.ssh {
		address = r.ssh
	}
	return map[string]any{
		"organization":     r.organization,
		"repository":       r.name,
		"repository_id":    r.id,
		"url":              address,
		"branch":           b.name,
		"branchNormalized": normalized(b.name),
		"sha":              b.sha,
		"short_sha":        short(b.sha, 8),
		"short_sha_7":      short(b.sha, 7),
		"labels":           strings.Join(r.labels, ","),
	}
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// normalized is a text as the name of an object.
func normalized(text string) string {
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(len(text), 253)], "-.")
}

// repoMatch is a filter: all that it has must match.
type repoMatch struct {
	repository, label, branch *regexp.Regexp
	exist, missing            []string
}

// candidates are the filters that a repository passes as far as it is known from the list.
func (w *walk) candidates(r repo) []repoMatch {
	var out []repoMatch
	for _, filter := range w.filters {
		labelled := filter.label == nil || slices.ContainsFunc(r.labels, filter.label.MatchString)
		if labelled && matches(filter.repository, r.name) {
			out = append(out, filter)
		}
	}
	return out
}

// passes says whether one of the filters lets a branch through.
func (w *walk) passes(ctx context.Context, looks look) (bool, error) {
	if len(w.filters) == 0 {
		return true, nil
	}
	for _, filter := range w.candidates(looks.repo) {
		if !matches(filter.branch, looks.branch) {
			continue
		}
		ok, err := looks.all(ctx, filter)
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// look asks about the paths of one branch, about each only once.
type look struct {
	from   repos
	repo   repo
	branch string
	known  map[string]bool
}

func (l look) all(ctx context.Context, filter repoMatch) (bool, error) {
	for _, path := range filter.exist {
		if ok, err := l.has(ctx, path); err != nil || !ok {
			return false, err
		}
	}
	for _, path := range filter.missing {
		if ok, err := l.has(ctx, path); err != nil || ok {
			return false, err
		}
	}
	return true, nil
}

func (l look) has(ctx context.Context, path string) (bool, error) {
	path = strings.Trim(path, "/")
	if path == "" || path == "." {
		return true, nil
	}
	if ok, known := l.known[path]; known {
		return ok, nil
	}
	// The branch was read with this login a moment ago, so "not there" is not "not to be seen".
	ok, err := l.from.has(ctx, l.repo, l.branch, path)
	if err != nil {
		return false, fmt.Errorf("path %s: %w", path, err)
	}
	l.known[path] = ok
	return ok, nil
}

func repoFilters(filters []v1alpha1.SCMProviderGeneratorFilter) ([]repoMatch, error) {
	var out []repoMatch
	for i, filter := range filters {
		one := repoMatch{exist: filter.PathsExist, missing: filter.PathsDoNotExist}
		var err error
		if one.repository, err = pattern(i, "repositoryMatch", filter.RepositoryMatch); err != nil {
			return nil, err
		}
		if one.label, err = pattern(i, "labelMatch", filter.LabelMatch); err != nil {
			return nil, err
		}
		if one.branch, err = pattern(i, "branchMatch", filter.BranchMatch); err != nil {
			return nil, err
		}
		empty := one.repository == nil && one.label == nil && one.branch == nil && len(one.exist)+len(one.missing) == 0
		if !empty { // one that asks for nothing does not open the door that the others close
			out = append(out, one)
		}
	}
	return out, nil
}
