package listing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/listing"
)

// hub has the whole applications.
type hub map[string]*v1alpha1.Application

func (h hub) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	if app := h[name]; app != nil {
		return app, nil
	}
	return nil, errors.New("not found")
}

type answer struct {
	Metadata struct{ ResourceVersion, Continue string }
	Items    []v1alpha1.Application
	Total    *int
	Cursor   string
	Facets   []catalog.Facet
	Error    string
	Code     int
}

func newServer(t *testing.T) (get func(query string) (answer, int), h hub) {
	t.Helper()
	c := catalog.New(catalog.Options{})
	h = hub{}
	for i, name := range []string{"web", "api", "db", "team-a/web"} {
		a := &v1alpha1.Application{}
		namespace, bare, found := strings.Cut(name, "/")
		if !found {
			namespace, bare = "argocd", name
		}
		a.Name, a.Namespace, a.ResourceVersion = bare, namespace, fmt.Sprint(i+1)
		a.Spec.Project = []string{"shop", "shop", "data", "secret"}[i]
		a.Annotations = map[string]string{"whole": "yes"}
		a.Status.Health.Status = v1alpha1.HealthStatusHealthy
		h[name] = a
		if err := c.Upsert(a); err != nil {
			t.Fatal(err)
		}
	}
	l := listing.New(listing.Options{
		Catalog: c, Applications: h, Namespace: "argocd",
		Eye: func(r *http.Request) catalog.Eye {
			if r.Header.Get("Caller") == "bob" {
				return catalog.Eye{Projects: map[string]bool{"shop": true, "data": true}}
			}
			return catalog.Eye{All: true}
		},
		Encode: func(app *v1alpha1.Application) ([]byte, error) { return json.Marshal(app) },
		Cursor: func(seq uint64) string { return fmt.Sprint("e-", seq) },
	})
	return func(query string) (answer, int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/applications?"+strings.TrimPrefix(query, "bob:"), nil)
		if strings.HasPrefix(query, "bob:") {
			r.Header.Set("Caller", "bob")
		}
		w := httptest.NewRecorder()
		l.Applications(w, r)
		var a answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatalf("reading %q: %v", w.Body, err)
		}
		return a, w.Code
	}, h
}

func (a answer) names() string {
	var out []string
	for _, app := range a.Items {
		out = append(out, app.Namespace+"/"+app.Name)
	}
	return strings.Join(out, " ")
}

// A client of Argo CD sends what it knows and gets whole applications.
func TestWhatOldClientsGet(t *testing.T) {
	get, _ := newServer(t)
	for query, want := range map[string]string{
		"":                                 "argocd/api argocd/db argocd/web team-a/web",
		"projects=shop&projects=data":      "argocd/api argocd/db argocd/web",
		"project=shop":                     "argocd/api argocd/web",
		"name=web":                         "argocd/web team-a/web",
		"name=web&appNamespace=team-a":     "team-a/web",
		"bob:":                             "argocd/api argocd/db argocd/web",
		"bob:projects=secret":              "",
		"resourceVersion=1&refresh=normal": "argocd/api argocd/db argocd/web team-a/web",
	} {
		t.Run(query, func(t *testing.T) {
			a, code := get(query)
			if diff := cmp.Diff(want, a.names()); diff != "" || code != http.StatusOK {
				t.Fatalf("%d\n%s", code, diff)
			}
			if a.Total != nil || a.Facets != nil || a.Cursor != "" || a.Metadata.ResourceVersion != "4" {
				t.Errorf("the answer has more than Argo CD's: %+v", a)
			}
			for _, app := range a.Items {
				if app.Annotations["whole"] != "yes" {
					t.Errorf("%s is not whole", app.Name)
				}
			}
		})
	}
}

func TestPagesOfRows(t *testing.T) {
	get, _ := newServer(t)
	first, _ := get("bob:limit=2&facets=project,health&sort=-name")
	if first.names() != "argocd/web argocd/db" || *first.Total != 3 || first.Cursor != "e-4" || first.Metadata.Continue == "" {
		t.Errorf("the first page is %+v", first)
	}
	if first.Items[0].Annotations != nil {
		t.Error("a row is a whole application")
	}
	want := []catalog.Facet{
		{Name: "project", Values: []catalog.Count{{Value: "shop", Count: 2}, {Value: "data", Count: 1}}},
		{Name: "health", Values: []catalog.Count{{Value: "Healthy", Count: 3}}},
	}
	if diff := cmp.Diff(want, first.Facets); diff != "" {
		t.Error(diff)
	}
	second, _ := get("bob:limit=2&sort=-name&continue=" + first.Metadata.Continue)
	if second.names() != "argocd/api" || second.Metadata.Continue != "" {
		t.Errorf("the second page is %+v", second)
	}
	if a, _ := get("limit=1&view=full"); len(a.Items) != 1 || a.Items[0].Annotations == nil || a.Metadata.Continue == "" {
		t.Errorf("a page of whole applications is %+v", a)
	}
}

func TestFieldsOfLists(t *testing.T) {
	get, _ := newServer(t)
	a, _ := get("fields=items.metadata.name")
	if len(a.Items) != 4 || a.Items[0].Name != "api" || a.Items[0].Spec.Project != "" || a.Metadata.ResourceVersion != "" {
		t.Errorf("the answer is %+v", a)
	}
	a, _ = get("fields=-items.metadata.annotations&limit=1")
	if len(a.Items) != 1 || a.Items[0].Spec.Project != "shop" || a.Total == nil || a.Metadata.ResourceVersion != "4" {
		t.Errorf("the answer is %+v", a)
	}
}

func TestParametersThatCannotBeRead(t *testing.T) {
	get, _ := newServer(t)
	for _, query := range []string{
		"limit=many", "selector=a%3D%3D%3Db", "autosync=maybe", "view=half", "sort=size", "facets=size", "continue=x", "limit=-1",
	} {
		t.Run(query, func(t *testing.T) {
			a, code := get(query)
			if code != http.StatusBadRequest || a.Code != 3 || a.Error == "" {
				t.Errorf("the answer is %d %+v", code, a)
			}
		})
	}
}

// An application that goes while the list is written is left out.
func TestWhatIsGoneMeanwhile(t *testing.T) {
	get, h := newServer(t)
	delete(h, "db")
	if a, code := get(""); code != http.StatusOK || a.names() != "argocd/api argocd/web team-a/web" {
		t.Errorf("the answer is %d %s", code, a.names())
	}
}
