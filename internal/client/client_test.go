package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/client"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/roster"
	"github.com/towline-cd/towline/internal/core/secret"
)

func dial(t *testing.T, handler http.HandlerFunc, change func(*client.Options)) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := client.Options{UserAgent: "test", Target: login.Target{Server: login.Server{Server: server.URL}, Token: secret.New("token")}}
	if change != nil {
		change(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatIsAsked(t *testing.T) {
	var got []string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{}`))
	}, func(o *client.Options) { o.Target.Server.RootPath = "/cd" })
	apps, ctx := client.Apps{Client: c, Namespace: "team"}, t.Context()
	_, _ = apps.Application(ctx, "shop")
	_, _ = apps.Applications(ctx, metav1.ListOptions{LabelSelector: "tier=web", FieldSelector: "metadata.name=shop"})
	_, _ = c.CanI(ctx, "sync", "applications", "retail/*")
	_, _ = c.Project(ctx, "../accounts")
	_ = c.DeleteToken(ctx, "ci", "a b")
	_, _ = apps.Manifests(ctx, "shop", nil)
	_, _ = apps.Manifests(ctx, "shop", []string{"v1"})
	_, _ = apps.Manifests(ctx, "shop", []string{"v1", "v2"})
	_, _ = apps.Tree(ctx, "shop")
	_, _ = apps.ActionsOf(ctx, &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, object.Key{Group: "apps", Kind: "Deployment", Name: "web"})
	_ = apps.Refreshed(ctx, "shop", true)
	want := []string{
		"GET /cd/api/v1/applications/shop?appNamespace=team Bearer token",
		"GET /cd/api/v1/applications?appNamespace=team&name=shop&selector=tier%3Dweb Bearer token",
		"GET /cd/api/v1/account/can-i/applications/sync/retail%2F%2A Bearer token",
		"GET /cd/api/v1/projects/..%2Faccounts Bearer token",
		"DELETE /cd/api/v1/account/ci/token/a%20b Bearer token",
		"GET /cd/api/v1/applications/shop/manifests?appNamespace=team Bearer token",
		"GET /cd/api/v1/applications/shop/manifests?appNamespace=team&revision=v1 Bearer token",
		"GET /cd/api/v1/applications/shop/manifests?appNamespace=team&revisions=v1&revisions=v2&sourcePositions=1&sourcePositions=2 Bearer token",
		"GET /cd/api/v1/applications/shop/resource-tree?appNamespace=team Bearer token",
		"GET /cd/api/v1/applications/shop/resource/actions?appNamespace=team&group=apps&kind=Deployment&namespace=&resourceName=web Bearer token",
		"GET /cd/api/v1/applications/shop?appNamespace=team&fields=metadata.name&refresh=hard Bearer token",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// What a command does about an error depends on its kind, so they are the hub's.
func TestErrorsAreOfTheKindsOfTheHub(t *testing.T) {
	for status, is := range map[int]func(error) bool{
		401: apierrors.IsUnauthorized, 403: apierrors.IsForbidden, 404: apierrors.IsNotFound, 409: apierrors.IsConflict,
		429: apierrors.IsTooManyRequests, 503: apierrors.IsServiceUnavailable,
	} {
		c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":"said so","code":7,"message":"said so"}`))
		}, nil)
		_, err := client.Apps{Client: c}.Application(t.Context(), "shop")
		if !is(err) || !strings.Contains(err.Error(), "said so") {
			t.Errorf("%d is %v", status, err)
		}
	}
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, nil)
	if _, err := c.Version(t.Context()); fault.ReasonOf(err) != "NotAnAPI" {
		t.Errorf("a page is %v", err)
	}
	gone, err := client.New(client.Options{Target: login.Target{Server: login.Server{Server: "127.0.0.1:1", PlainText: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Version(t.Context()); fault.ReasonOf(err) != "Unreachable" {
		t.Errorf("nobody there is %v", err)
	}
}

func TestTokenDoesNotFollow(t *testing.T) {
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, nil)
	if _, err := c.Version(t.Context()); err == nil || !strings.Contains(err.Error(), elsewhere.URL) {
		t.Errorf("a redirect is %v", err)
	}
	if len(seen) > 0 {
		t.Errorf("it was followed with %q", seen)
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"Version":"v1"}`)) }))
	defer server.Close()
	for _, insecure := range []bool{false, true} {
		c, err := client.New(client.Options{Target: login.Target{Server: login.Server{Server: strings.TrimPrefix(server.URL, "https://"), Insecure: insecure}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Version(t.Context())
		if insecure && (err != nil || v.Version != "v1") || !insecure && fault.ReasonOf(err) != "Untrusted" {
			t.Errorf("insecure %t: %v, %v", insecure, v, err)
		}
	}
}

func TestWatch(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		for _, version := range []string{"1", "2"} {
			app := v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: r.URL.Query().Get("name"), ResourceVersion: version}}
			_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"type": watch.Modified, "application": app}})
			_, _ = w.Write([]byte("\n"))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}, nil)
	w, err := client.Apps{Client: c}.WatchApplications(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=shop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2"} {
		ev := <-w.ResultChan()
		if app, ok := ev.Object.(*v1alpha1.Application); !ok || app.Name != "shop" || app.ResourceVersion != want || ev.Type != watch.Modified {
			t.Errorf("got %+v, want version %s", ev, want)
		}
	}
	w.Stop()
	for range w.ResultChan() {
		t.Error("something came after the end")
	}
}

func TestLogs(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"result":{"content":"one","podName":"p"}}` + "\n" + `{"result":{"content":"two","podName":"p"}}` + "\n" + `{"result":{"last":true}}` + "\n"))
	}, nil)
	var got []string
	err := client.Apps{Client: c}.Logs(t.Context(), "shop", client.LogOptions{Tail: 2}, func(l client.LogLine) error {
		got = append(got, l.Content)
		return nil
	})
	if diff := cmp.Diff([]string{"one", "two"}, got); err != nil || diff != "" {
		t.Errorf("lines: %v\n%s", err, diff)
	}
	stop := errors.New("enough")
	if err := (client.Apps{Client: c}).Logs(t.Context(), "shop", client.LogOptions{}, func(client.LogLine) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the reader's error is %v", err)
	}
}

// What a server says of a cluster is kept with its entry; it says nothing of a login.
func TestClusters(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"items":[{"server":"https://a","name":"a","config":{"tlsClientConfig":{"insecure":true}},"shard":2,
			"connectionState":{"status":"Failed","message":"no route","attemptedAt":null},"serverVersion":"1.35","info":{"applicationsCount":3}}]}`))
	}, nil)
	all, err := client.Clusters{Client: c}.Entries(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d entries: %v", len(all), err)
	}
	e := all[0]
	want := roster.Report{Status: "Failed", Message: "no route", Version: "1.35", Applications: 3}
	if diff := cmp.Diff(want, *e.Report); diff != "" || e.Server != "https://a" || !e.Config.TLS.Insecure || *e.Shard != 2 {
		t.Errorf("the entry is %+v\n%s", e, diff)
	}
	gone := roster.Edit{Labels: map[string]*string{"old": nil}}
	if err := (client.Clusters{Client: c}).Edit(t.Context(), "https://a", gone); err == nil || !strings.Contains(err.Error(), "--core") {
		t.Errorf("taking a label away is %v", err)
	}
}

// The problems of a set come as texts, with the application that each is about.
func TestGenerate(t *testing.T) {
	var asked string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = r.URL.Path + " " + string(text)
		_, _ = w.Write([]byte(`{"applications":[{"metadata":{"name":"shop-one"}}],"problems":["shop-two: no cluster","the list is empty"]}`))
	}, nil)
	apps, problems, err := client.Apps{Client: c}.Generate(t.Context(), &v1alpha1.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Name: "shops"}})
	want := []appset.Problem{{Name: "shop-two", Message: "no cluster"}, {Message: "the list is empty"}}
	if diff := cmp.Diff(want, problems); err != nil || diff != "" || len(apps) != 1 || apps[0].Name != "shop-one" {
		t.Errorf("%v, %v\n%s", apps, err, diff)
	}
	if !strings.HasPrefix(asked, `/api/v1/applicationsets/generate {"applicationSet":{"metadata":{"name":"shops","namespace":""}`) {
		t.Errorf("it asks %s", asked)
	}
}
