package stream

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/internal/server/catalog"
)

// filter is which applications a stream is about.
type filter struct {
	name, namespace string
	projects        []string
	repo            string
	selector        labels.Selector
}

// filterOf reads Argo CD's parameters.
func filterOf(r *http.Request) (filter, error) {
	q := r.URL.Query()
	f := filter{
		name: q.Get("name"), namespace: q.Get("appNamespace"),
		projects: list(q, "projects", "project"), repo: catalog.BareRepo(q.Get("repo")),
	}
	if text := q.Get("selector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return filter{}, err
		}
		f.selector = selector
	}
	return f, nil
}

// list gathers the values of parameters that may be repeated, empty ones left
// out.
func list(q url.Values, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range q[name] {
			if v = strings.TrimSpace(v); v != "" {
				out = append(out, v)
			}
		}
	}
	return out
}

func (f filter) takes(row *catalog.Row) bool {
	return row != nil &&
		(f.name == "" || f.name == row.Key.Name) &&
		(f.namespace == "" || f.namespace == row.Key.Namespace) &&
		(len(f.projects) == 0 || slices.Contains(f.projects, row.Project)) &&
		(f.repo == "" || slices.ContainsFunc(row.Repos, func(repo string) bool { return catalog.BareRepo(repo) == f.repo })) &&
		(f.selector == nil || f.selector.Matches(labels.Set(row.Labels)))
}

// query is the same for the catalog.
func (f filter) query(eye catalog.Eye) catalog.Query {
	q := catalog.Query{Eye: eye, Name: f.name, Projects: f.projects, Repo: f.repo, Selector: f.selector}
	if f.namespace != "" {
		q.AppNamespaces = []string{f.namespace}
	}
	return q
}
