package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
)

func app(name, project string) *v1alpha1.Application {
	a := &v1alpha1.Application{}
	a.Name, a.Namespace, a.ResourceVersion = name, "argocd", "1"
	a.Spec.Project = project
	return a
}

func TestChangesAreToldInOrder(t *testing.T) {
	var got []string
	c := catalog.New(catalog.Options{Changed: func(ch catalog.Change) {
		before, after := "-", "-"
		if ch.Before != nil {
			before = ch.Before.Project
		}
		if ch.After != nil {
			after = ch.After.Project
		}
		got = append(got, fmt.Sprintf("%d@%d %s %s>%s same=%v app=%v", ch.Seq, ch.Version, ch.Type, before, after, ch.Same, ch.App != nil))
	}})
	first := app("web", "a")
	later := app("web", "b")
	later.ResourceVersion = "7"
	for _, a := range []*v1alpha1.Application{first, first, later} {
		if err := c.Upsert(a); err != nil {
			t.Fatal(err)
		}
	}
	c.Remove(catalog.Key{Namespace: "argocd", Name: "web"})
	c.Remove(catalog.Key{Namespace: "argocd", Name: "web"})
	c.Reset()
	want := []string{
		"1@1 ADDED ->a same=false app=true",
		"2@1 MODIFIED a>a same=true app=true",
		"3@7 MODIFIED a>b same=false app=true",
		"4@7 DELETED b>- same=false app=false",
		"5@7 RESET ->- same=false app=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A login in an address is neither shown nor found.
func TestLoginsStayInside(t *testing.T) {
	c := catalog.New(catalog.Options{})
	a := app("web", "shop")
	a.Spec.Source = &v1alpha1.ApplicationSource{RepoURL: "https://bob:canary-1@git.example.com/shop?token=canary-2"}
	a.Spec.Destination.Server = "https://eve:canary-3@10.0.0.1"
	a.Annotations = map[string]string{"note": "canary-4"}
	a.Spec.Source.Helm = &v1alpha1.ApplicationSourceHelm{Values: "password: canary-5"}
	a.Status.Conditions = []v1alpha1.ApplicationCondition{{Type: "SyncError", Message: "canary-6"}}
	a.Status.OperationState = &v1alpha1.OperationState{Message: "canary-7"}
	if err := c.Upsert(a); err != nil {
		t.Fatal(err)
	}
	all := catalog.Query{Eye: catalog.Eye{All: true}, Facets: catalog.Facets}
	page, err := c.Find(all)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%s %v", page.Rows[0].JSON, page.Facets); strings.Contains(shown, "canary") {
		t.Errorf("a secret is shown: %s", shown)
	}
	if !bytes.Contains(page.Rows[0].JSON, []byte(`"repoURL":"https://git.example.com/shop"`)) {
		t.Errorf("the address is not what it should be: %s", page.Rows[0].JSON)
	}
	all.Search = "canary"
	if page, err = c.Find(all); err != nil || page.Total != 0 {
		t.Errorf("%d applications were found by a secret (%v)", page.Total, err)
	}
	all.Search, all.Repo = "", a.Spec.Source.RepoURL
	if page, err = c.Find(all); err != nil || page.Total != 1 {
		t.Errorf("%d applications have the repository, want 1 (%v)", page.Total, err)
	}
}

func TestQuestionsThatMakeNoSense(t *testing.T) {
	c := catalog.New(catalog.Options{})
	for name, q := range map[string]catalog.Query{
		"an order":          {Sort: "size"},
		"a facet":           {Facets: []string{"size"}},
		"a limit":           {Limit: -1},
		"a token":           {Continue: "%%%"},
		"a token of others": {Continue: "e30"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Find(q)
			if _, ok := errors.AsType[*catalog.InvalidError](err); !ok {
				t.Errorf("the answer is %v, want what is wrong", err)
			}
		})
	}
}

// An eye that is kept follows the applications that come, go and change hands.
func TestAKeptEyeSeesWhatMoves(t *testing.T) {
	c := catalog.New(catalog.Options{})
	asked := 0
	eye := catalog.Eye{Key: "bob@1", May: func(project, _, _ string) bool { asked++; return project == "shop" }}
	find := func() int {
		page, err := c.Find(catalog.Query{Eye: eye})
		if err != nil {
			t.Fatal(err)
		}
		return page.Total
	}
	for i := range 3000 {
		if err := c.Upsert(app(fmt.Sprintf("app-%d", i), []string{"shop", "other"}[i%2])); err != nil {
			t.Fatal(err)
		}
	}
	if n := find(); n != 1500 || asked != 3000 {
		t.Fatalf("it sees %d and asked %d times, want 1500 and 3000", n, asked)
	}
	asked = 0
	if err := c.Upsert(app("app-1", "shop")); err != nil {
		t.Fatal(err)
	}
	c.Remove(catalog.Key{Namespace: "argocd", Name: "app-0"})
	c.Remove(catalog.Key{Namespace: "argocd", Name: "app-2"})
	if n := find(); n != 1499 || asked != 1 {
		t.Fatalf("it sees %d and asked %d times, want 1499 and 1", n, asked)
	}
	eye.Key, eye.May = "bob@2", func(string, string, string) bool { return false }
	if n := find(); n != 0 {
		t.Fatalf("another policy sees %d, want 0", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	c := catalog.New(catalog.Options{Changed: func(catalog.Change) {}})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				a := app(fmt.Sprintf("app-%d", i), []string{"a", "b"}[(w+i)%2])
				a.Labels = map[string]string{"w": fmt.Sprint(w)}
				if err := c.Upsert(a); err != nil {
					t.Error(err)
				}
				if i%7 == 0 {
					c.Remove(catalog.Key{Namespace: "argocd", Name: fmt.Sprintf("app-%d", i/2)})
				}
			}
		})
		wg.Go(func() {
			eyes := []catalog.Eye{{All: true}, {Projects: map[string]bool{"a": true}}, {Key: "k", May: func(p, _, _ string) bool { return p == "b" }}}
			for i := range 200 {
				q := catalog.Query{Eye: eyes[i%3], Search: "app-1", Facets: catalog.Facets, Limit: 10, Sort: catalog.Sorts[i%5]}
				page, err := c.Find(q)
				if err != nil {
					t.Error(err)
				}
				for _, r := range page.Rows {
					if i%3 == 1 && r.Project != "a" || i%3 == 2 && r.Project != "b" {
						t.Errorf("%s of %s was shown", r.Key, r.Project)
					}
				}
			}
		})
	}
	wg.Wait()
}

// What is kept does not grow with what an application has.
func TestMemoryOfARow(t *testing.T) {
	heap := func() float64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	c := catalog.New(catalog.Options{})
	before := heap()
	const n = 2000
	for i := range n {
		a := app(fmt.Sprintf("service-%05d", i), fmt.Sprintf("team-%d", i%50))
		a.Labels = map[string]string{"team": fmt.Sprint(i % 50)}
		a.Spec.Source = &v1alpha1.ApplicationSource{RepoURL: "https://git.example.com/shop", Path: "apps/" + a.Name}
		a.CreationTimestamp = metav1.Unix(int64(i), 0)
		for k := range 300 {
			a.Status.Resources = append(a.Status.Resources, v1alpha1.ResourceStatus{Kind: "ConfigMap", Name: fmt.Sprintf("%s-%d", a.Name, k)})
		}
		a.Annotations = map[string]string{"big": strings.Repeat("x", 10_000)}
		if err := c.Upsert(a); err != nil {
			t.Fatal(err)
		}
	}
	per := (heap() - before) / n
	t.Logf("%.0f bytes for each application", per)
	if per > 4096 {
		t.Errorf("an application takes %.0f bytes, want at most 4096", per)
	}
	runtime.KeepAlive(c)
}
