package catalog

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Sort is an order of applications.
type Sort string

// The orders. Those by health and sync have the best first and names within.
const (
	ByName   Sort = "name"
	ByCreate Sort = "created"
	BySynced Sort = "lastSync"
	ByHealth Sort = "health"
	BySync   Sort = "sync"
)

// Sorts are all orders.
var Sorts = []Sort{ByName, ByCreate, BySynced, ByHealth, BySync}

// Query says which applications, in which order, and how many of them. What is
// not said filters nothing; of several values of one kind any will do.
type Query struct {
	// Eye is who asks.
	Eye Eye

	Name          string
	Projects      []string
	AppNamespaces []string
	// Repo is the address of a source, with or without ".git" at its end.
	Repo     string
	Clusters []string
	// Namespaces are those that are deployed to; "None" is for applications that
	// name none.
	Namespaces []string
	Health     []string
	Sync       []string
	// Operation is a phase, or "None" or "Deleting".
	Operation []string
	AutoSync  *bool
	Selector  labels.Selector
	// Search are words that each must be in the name, the project, a repository or
	// the value of a label; key=value looks in both parts of a label.
	Search string

	Sort       Sort
	Descending bool
	// Limit is how many rows to return at most; zero returns all.
	Limit int
	// Continue is the token of the page before.
	Continue string

	// Facets are the dimensions to count by.
	Facets []string
	// FacetLimit is how many values of each to return at most; zero is 50.
	FacetLimit int
}

// Page is an answer.
type Page struct {
	Rows []*Row
	// Total is how many applications the query is about, on all pages.
	Total int
	// Continue is the token for the next page, empty on the last.
	Continue string
	Facets   []Facet
	// Seq and Version are where the catalog was.
	Seq, Version uint64
}

// InvalidError says that a query makes no sense; the text is for who asked.
type InvalidError struct{ Text string }

func (e *InvalidError) Error() string { return e.Text }

func invalidf(format string, args ...any) error {
	return &InvalidError{Text: fmt.Sprintf(format, args...)}
}

// The names of facets, besides "label:" and a key, which counts by its values.
const (
	FacetProject      = "project"
	FacetAppNamespace = "appNamespace"
	FacetCluster      = "cluster"
	FacetNamespace    = "namespace"
	FacetHealth       = "health"
	FacetSync         = "sync"
	FacetOperation    = "operation"
	FacetAutoSync     = "autosync"
	FacetRepo         = "repo"
	FacetLabel        = "label"
	labelPrefix       = "label:"
)

// facetNames has those of the dimensions with one value.
var facetNames = [dimensions]string{
	project: FacetProject, appNamespace: FacetAppNamespace, cluster: FacetCluster, target: FacetNamespace,
	health: FacetHealth, syncStatus: FacetSync, operation: FacetOperation, automated: FacetAutoSync,
}

// Facets are the names of all facets.
var Facets = append(slices.Clone(facetNames[:]), FacetRepo, FacetLabel)

// filter is what a query demands of one dimension.
type filter struct {
	facet string
	slots bitmap
}

// found are slots, and how many.
type found struct {
	slots bitmap
	total int
	// few are the same as a list, made when it is wanted.
	few []uint32
}

// fewest is up to how many slots a list of them is worth it.
const fewest = 512

// list are the slots if they are few, else nil.
func (f *found) list() []uint32 {
	if f.few != nil || f.total == 0 || f.total > fewest {
		return f.few
	}
	f.few = make([]uint32, 0, f.total)
	f.slots.each(func(slot uint32) bool {
		f.few = append(f.few, slot)
		return true
	})
	return f.few
}

// choice is what a query is about.
type choice struct {
	visible bitmap
	filters []filter
	found
}

// Find answers a query.
func (c *Catalog) Find(q Query) (Page, error) {
	after, err := q.check()
	if err != nil {
		return Page{}, err
	}
	m := c.prepare(q.Eye)
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := Page{Seq: c.seq, Version: c.version}
	chosen := c.choose(q, m)
	p.Total = chosen.total
	p.Rows, p.Continue = c.page(q, chosen, after)
	for _, name := range q.Facets {
		p.Facets = append(p.Facets, c.facet(name, chosen, q.facetLimit()))
	}
	return p, nil
}

func (q *Query) check() (*place, error) {
	if q.Sort == "" {
		q.Sort = ByName
	}
	if !slices.Contains(Sorts, q.Sort) {
		return nil, invalidf("there is no order %q; there are %s", q.Sort, joined(Sorts))
	}
	if q.Limit < 0 {
		return nil, invalidf("the limit is %d, and must not be below 0", q.Limit)
	}
	for _, name := range q.Facets {
		if !slices.Contains(Facets, name) && !strings.HasPrefix(name, labelPrefix) {
			return nil, invalidf("there are no counts by %q; there are %s, and label: with the key of a label", name, joined(Facets))
		}
	}
	if q.Continue == "" {
		return nil, nil
	}
	return parsePlace(q.Continue, q.Sort, q.Descending)
}

func joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

// choose finds the applications that a query is about. The caller holds the
// lock.
func (c *Catalog) choose(q Query, m *memo) *choice {
	ch := &choice{visible: c.visible(q.Eye, m), filters: c.filters(q)}
	result := ch.visible
	if len(ch.filters) > 0 {
		result = slices.Clone(result)
		for _, f := range ch.filters {
			result.and(f.slots)
		}
	}
	ch.found = *c.found(result)
	return ch
}

func (c *Catalog) found(slots bitmap) *found {
	f := &found{slots: slots, total: len(c.slots)}
	if !c.whole(slots) {
		f.total = slots.count()
	}
	return f
}

// whole tells whether a bitmap is the one of everything.
func (c *Catalog) whole(b bitmap) bool {
	return len(b) == len(c.live) && (len(b) == 0 || &b[0] == &c.live[0])
}

func (c *Catalog) filters(q Query) []filter {
	var out []filter
	add := func(facet string, slots bitmap) { out = append(out, filter{facet: facet, slots: slots}) }
	lists := [dimensions][]string{
		project: q.Projects, appNamespace: q.AppNamespaces, cluster: q.Clusters, target: q.Namespaces,
		health: q.Health, syncStatus: q.Sync, operation: q.Operation,
	}
	if q.AutoSync != nil {
		lists[automated] = []string{fmt.Sprint(*q.AutoSync)}
	}
	for d, texts := range lists {
		if len(texts) > 0 {
			add(facetNames[d], c.dims[d].any(len(c.rows), texts...))
		}
	}
	if q.Name != "" {
		add("", c.called(q.Name))
	}
	if q.Repo != "" {
		bare := BareRepo(q.Repo)
		add(FacetRepo, c.repos.any(len(c.rows), bare, bare+".git", bare+"/", bare+".git/"))
	}
	if q.Selector != nil {
		requirements, selectable := q.Selector.Requirements()
		if !selectable {
			add("", newBitmap(len(c.rows)))
		}
		for _, r := range requirements {
			add(labelPrefix+r.Key(), c.selected(r))
		}
	}
	for word := range strings.FieldsSeq(strings.ToLower(q.Search)) {
		add("", c.search(word))
	}
	return out
}

// called are the applications with exactly this name, in any namespace.
func (c *Catalog) called(name string) bitmap {
	b := newBitmap(len(c.rows))
	c.byName.from(func(slot uint32) bool { return c.rows[slot].Key.Name >= name }, func(slot uint32) bool {
		if c.rows[slot].Key.Name != name {
			return false
		}
		b.put(slot)
		return true
	})
	return b
}

// search are the applications that have a word somewhere.
func (c *Catalog) search(word string) bitmap {
	b := newBitmap(len(c.rows))
	copy(b, c.named(word))
	c.terms.find(word, b)
	key, text, pair := strings.Cut(word, "=")
	if !pair {
		return b
	}
	for _, k := range c.labels.byID {
		if k == nil || !strings.Contains(k.lower, key) {
			continue
		}
		for _, v := range k.keyed.byID {
			if v != nil && strings.HasPrefix(v.lower, text) {
				v.slots.into(b)
			}
		}
	}
	return b
}
