package listing

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/fields"
)

// params are what a request asks for.
type params struct {
	query  catalog.Query
	fields fields.Selection
	// whole says that applications are wanted and not rows.
	whole bool
}

// newer are the parameters that Argo CD does not have. Who sends one knows rows.
var newer = []string{
	"limit", "continue", "search", "sort", "facets", "facetLimit", "cluster", "namespace", "health", "sync", "operation", "autosync",
}

// The views of an application.
const (
	viewRow  = "row"
	viewFull = "full"
)

// parse reads the parameters. Those that it does not know are let through, as
// every server of lists does: clients send some to defeat caches.
func parse(v url.Values) (params, error) {
	p := params{query: catalog.Query{
		Name: v.Get("name"), Projects: values(v, "projects", "project"), AppNamespaces: values(v, "appNamespace"), Repo: v.Get("repo"),
		Clusters: values(v, "cluster"), Namespaces: values(v, "namespace"),
		Health: values(v, "health"), Sync: values(v, "sync"), Operation: values(v, "operation"),
		Search: v.Get("search"), Continue: v.Get("continue"), Facets: values(v, "facets"),
	}}
	by, descending := strings.CutPrefix(v.Get("sort"), "-")
	p.query.Sort, p.query.Descending = catalog.Sort(by), descending
	p.whole = !slices.ContainsFunc(newer, v.Has)
	switch view := v.Get("view"); view {
	case "":
	case viewRow, viewFull:
		p.whole = view == viewFull
	default:
		return p, invalid("view", view, "use row or full")
	}
	return p, p.parsed(v)
}

// parsed reads the parameters that can be wrong.
func (p *params) parsed(v url.Values) (err error) {
	if text := v.Get("selector"); text != "" {
		if p.query.Selector, err = labels.Parse(text); err != nil {
			return invalid("selector", text, err.Error())
		}
	}
	for name, into := range map[string]*int{"limit": &p.query.Limit, "facetLimit": &p.query.FacetLimit} {
		if text := v.Get(name); text != "" {
			if *into, err = strconv.Atoi(text); err != nil {
				return invalid(name, text, "use a number")
			}
		}
	}
	if text := v.Get("autosync"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return invalid("autosync", text, "use true or false")
		}
		p.query.AutoSync = &on
	}
	if p.fields, err = fields.Parse(v.Get("fields")); err != nil {
		return invalid("fields", "…", err.Error())
	}
	return nil
}

func invalid(name, text, why string) error {
	return &catalog.InvalidError{Text: fmt.Sprintf("the parameter %s is %q: %s", name, text, why)}
}

// values gathers a parameter that may be repeated or have commas; empty ones are
// left out.
func values(v url.Values, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, text := range v[name] {
			for one := range strings.SplitSeq(text, ",") {
				if one = strings.TrimSpace(one); one != "" && !slices.Contains(out, one) {
					out = append(out, one)
				}
			}
		}
	}
	return out
}
