package catalog_test

import (
	stdcmp "cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
)

// The catalog answers as a list would that is filtered and sorted each time,
// whatever happened before.
func TestAgainstAFilteredList(t *testing.T) {
	rapid.Check(t, checkAgainstModel)
}

func FuzzAgainstAFilteredList(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkAgainstModel))
}

func checkAgainstModel(t *rapid.T) {
	c, m := catalog.New(catalog.Options{}), model{}
	// More applications than a list takes that is sorted, and than a set keeps as a
	// list.
	for i := range rapid.SampledFrom([]int{0, 5, 20, 250}).Draw(t, "many") {
		put(t, c, m, randomApp(t, i+1))
	}
	for range rapid.IntRange(1, 3).Draw(t, "rounds") {
		change(t, c, m)
		for range rapid.IntRange(1, 3).Draw(t, "questions") {
			ask(t, c, m, randomQuery(t))
		}
	}
}

func put(t *rapid.T, c *catalog.Catalog, m model, app *v1alpha1.Application) {
	if err := c.Upsert(app); err != nil {
		t.Fatal(err)
	}
	m[catalog.Key{Namespace: app.Namespace, Name: app.Name}] = app
}

func change(t *rapid.T, c *catalog.Catalog, m model) {
	if rapid.IntRange(0, 30).Draw(t, "reset") == 0 {
		c.Reset()
		clear(m)
	}
	for range rapid.IntRange(0, 8).Draw(t, "changes") {
		if len(m) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
			keys := slices.SortedFunc(maps.Keys(m), func(a, b catalog.Key) int { return cmpKeys(a, b) })
			key := rapid.SampledFrom(keys).Draw(t, "gone")
			c.Remove(key)
			delete(m, key)
			continue
		}
		put(t, c, m, randomApp(t, rapid.IntRange(0, 3).Draw(t, "number")))
	}
}

func cmpKeys(a, b catalog.Key) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// ask compares one answer, in one page and in several.
func ask(t *rapid.T, c *catalog.Catalog, m model, q catalog.Query) {
	want := m.find(q)
	// By default there may be fewer than all.
	q.FacetLimit = stdcmp.Or(q.FacetLimit, 1000)
	if q.Selector == nil {
		q.Facets = append(slices.Clone(q.Facets), "label:team")
	}
	page, err := c.Find(q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(namesOf(want), rowNames(page.Rows)); diff != "" {
		t.Fatalf("%+v\n%s", q, diff)
	}
	if page.Total != len(want) || page.Continue != "" {
		t.Fatalf("total %d and token %q, want %d and none", page.Total, page.Continue, len(want))
	}
	for _, f := range page.Facets {
		got := map[string]int{}
		for i, v := range f.Values {
			got[v.Value] = v.Count
			if i > 0 && v.Count > f.Values[i-1].Count {
				t.Fatalf("the counts of %s are in no order: %v", f.Name, f.Values)
			}
		}
		checkFacet(t, q, f, m.facet(q, f.Name), got)
	}
	q.Limit, q.Facets = rapid.SampledFrom([]int{1, 7, 100}).Draw(t, "limit"), nil
	if q.Limit == 1 && len(want) > 20 {
		q.Limit = 7
	}
	var pages []*catalog.Row
	for {
		page, err := c.Find(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) > q.Limit || page.Continue != "" && len(page.Rows) < q.Limit {
			t.Fatalf("a page of %d rows, the limit is %d", len(page.Rows), q.Limit)
		}
		pages = append(pages, page.Rows...)
		if page.Continue == "" {
			break
		}
		q.Continue = page.Continue
	}
	if diff := cmp.Diff(namesOf(want), rowNames(pages)); diff != "" {
		t.Fatalf("in pages: %+v\n%s", q, diff)
	}
}

// checkFacet compares the counts; where there are more values than were asked
// for, those with the highest.
func checkFacet(t *rapid.T, q catalog.Query, f catalog.Facet, want, got map[string]int) {
	if q.FacetLimit >= len(want) {
		if diff := cmp.Diff(want, got); diff != "" || f.More != 0 {
			t.Fatalf("counts by %s of %+v, %d more:\n%s", f.Name, q, f.More, diff)
		}
		return
	}
	if len(got) != q.FacetLimit || f.More != len(want)-len(got) {
		t.Fatalf("%d counts by %s and %d more, want %d of %d", len(got), f.Name, f.More, q.FacetLimit, len(want))
	}
	highest := slices.Sorted(maps.Values(want))
	slices.Reverse(highest)
	for i, v := range f.Values {
		if v.Count != highest[i] || want[v.Value] != v.Count {
			t.Fatalf("counts by %s of %+v are %v, want the highest of %v", f.Name, q, f.Values, want)
		}
	}
}

func namesOf(apps []*v1alpha1.Application) []string {
	out := []string{}
	for _, a := range apps {
		out = append(out, a.Namespace+"/"+a.Name)
	}
	return out
}

func rowNames(rows []*catalog.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Key.String())
	}
	return out
}

// Whoever turns pages while others change things sees everything once that was
// there all the time, and nothing twice.
func TestPagesUnderChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, m := catalog.New(catalog.Options{}), model{}
		for i := range 60 {
			put(t, c, m, randomApp(t, i+1))
		}
		stayed := maps.Clone(m)
		q := catalog.Query{Eye: catalog.Eye{All: true}, Limit: 7, Descending: rapid.Bool().Draw(t, "descending")}
		seen := map[catalog.Key]int{}
		for {
			page, err := c.Find(q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Rows {
				seen[r.Key]++
			}
			if q.Continue = page.Continue; q.Continue == "" {
				break
			}
			before := maps.Clone(m)
			change(t, c, m)
			if len(m) == 0 {
				return
			}
			for key := range before {
				if _, still := m[key]; !still {
					delete(stayed, key)
				}
			}
		}
		for key := range stayed {
			if seen[key] != 1 {
				t.Fatalf("%s was there all the time, and was seen %d times", key, seen[key])
			}
		}
		for key, n := range seen {
			if n > 1 {
				t.Fatalf("%s was seen %d times", key, n)
			}
		}
	})
}

// What a row shows can be read as an Application.
func TestRowsReadAsApplications(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := randomApp(t, 1)
		c := catalog.New(catalog.Options{})
		put(t, c, model{}, app)
		row, found := c.Row(catalog.Key{Namespace: app.Namespace, Name: app.Name})
		if !found {
			t.Fatal("it is not there")
		}
		var got v1alpha1.Application
		if err := json.Unmarshal(row.JSON, &got); err != nil {
			t.Fatal(err)
		}
		same := got.Name == app.Name && got.Namespace == app.Namespace && got.Spec.Project == app.ProjectName() &&
			got.Status.Health.Status == app.Status.Health.Status && got.Status.Sync.Status == app.Status.Sync.Status &&
			got.CreationTimestamp.Equal(&app.CreationTimestamp) && got.Spec.Destination == app.Spec.Destination &&
			len(got.Spec.Sources) == len(app.Spec.Sources) && maps.Equal(got.Labels, app.Labels)
		if !same {
			t.Fatalf("it reads %+v, want %+v", got, app)
		}
	})
}
