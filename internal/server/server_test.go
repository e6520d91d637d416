package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/server"
)

func login() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name": "login", "namespace": "shop",
			"annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"password":"` + canary + `-old"}}`,
			},
			"managedFields": []any{map[string]any{"manager": canary}},
		},
		"data": map[string]any{"password": "aHVudGVyMi1jYW5hcnk=", "same": "aHVudGVyMi1jYW5hcnktc2FtZQ=="},
	}}
}

func withSecret() *world {
	w := newWorld()
	w.objects[object.Key{Kind: "Secret", Namespace: "shop", Name: "login"}] = login()
	return w
}

// path fills the parameters of a pattern.
func path(pattern string) string {
	fill := map[string]string{"name": "shop", "repo": "https%3A%2F%2Fexample.com%2Fshop.git", "id": "https%3A%2F%2Fprod.example.com"}
	return regexp.MustCompile(`\{([a-zA-Z]+)(\.\.\.)?\}`).ReplaceAllStringFunc(pattern, func(m string) string {
		name := strings.Trim(strings.TrimSuffix(m, "...}"), "{}")
		if v, ok := fill[name]; ok {
			return v
		}
		return "x"
	})
}

// TestEveryRouteSaysWhoMayUseIt: a route that does not is refused when the server is made, and every other one when it is
// asked by a stranger.
func TestEveryRouteSaysWhoMayUseIt(t *testing.T) {
	s := newServer(t, options(withSecret()))
	bad := map[string][]string{
		"none":     nil,
		"bad":      {"Authorization", "Bearer nonsense"},
		"no word":  {"Authorization", "admin-token"},
		"basic":    {"Authorization", "Basic YWRtaW46YWRtaW4="},
		"cookie":   {"Cookie", "argocd.token=nonsense"},
		"cut":      {"Cookie", "argocd.token=2:admin-"},
		"both":     {"Authorization", "Bearer nonsense", "Cookie", "argocd.token=admin-token"},
		"a header": {"Towline-Subject", `{"sub":"admin"}`},
	}
	seen := 0
	for _, r := range s.Routes() {
		if r.Open {
			continue
		}
		seen++
		for name, headers := range bad {
			for _, at := range []string{path(r.Pattern), "/" + path(r.Pattern)} {
				w := ask(t, s.Handler(), r.Method, at, "{}", headers...)
				want := http.StatusUnauthorized
				if strings.HasPrefix(at, "//") {
					want = http.StatusNotFound
				}
				if w.Code != want {
					t.Errorf("%s %s with %s: %d %s", r.Method, at, name, w.Code, w.Body)
				}
				if want == http.StatusUnauthorized && w.Body.String() != `{"error":"no session information","code":16,"message":"no session information"}`+"\n" {
					t.Errorf("%s %s with %s says %s", r.Method, at, name, w.Body)
				}
			}
		}
	}
	if seen < 50 {
		t.Fatalf("there are only %d routes", seen)
	}
}

func TestARouteWithoutADeclarationIsRefused(t *testing.T) {
	handle := func(*server.Request) (any, error) { return nil, nil }
	find := func(*server.Request) (server.Target, error) { return server.Target{}, nil }
	for name, r := range map[string]server.Route{
		"nothing":                {Handle: handle, Summary: "x"},
		"no verb":                {Handle: handle, Summary: "x", Find: find, Resource: "applications"},
		"open, and not on list":  {Handle: handle, Summary: "x", Open: true},
		"no handler":             {Summary: "x", Without: "x"},
		"nobody knows what for":  {Handle: handle, Without: "x"},
		"an object, no resource": {Handle: handle, Summary: "x", Find: find, Verb: "get"},
	} {
		r.Method, r.Pattern = http.MethodGet, "/api/v1/new"
		if server.Check(&r) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// TestAbsentAndForbiddenAreTheSame: who may not see something cannot find out whether it is there.
func TestAbsentAndForbiddenAreTheSame(t *testing.T) {
	s := newServer(t, options(newWorld()))
	for _, r := range s.Routes() {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Pattern, "/api/v1/applications/{name}") {
			continue
		}
		for _, query := range []string{"", "?project=bank", "?appNamespace=argocd"} {
			there := strings.ReplaceAll(path(r.Pattern), "shop", "vault") + query
			gone := strings.ReplaceAll(path(r.Pattern), "shop", "nobody") + query
			a, b := ask(t, s.Handler(), http.MethodGet, there, "", bearer("dev")...), ask(t, s.Handler(), http.MethodGet, gone, "", bearer("dev")...)
			if a.Code != http.StatusForbidden || a.Code != b.Code || a.Body.String() != b.Body.String() {
				t.Errorf("%s: %d %s, and %d %s", there, a.Code, a.Body, b.Code, b.Body)
			}
			ha, hb := a.Header().Clone(), b.Header().Clone()
			ha.Del("X-Request-Id")
			hb.Del("X-Request-Id")
			if d := cmp.Diff(ha, hb); d != "" {
				t.Errorf("%s: the headers differ: %s", there, d)
			}
		}
	}
	for query, want := range map[string]int{"": http.StatusForbidden, "?project=web": http.StatusNotFound, "?project=bank": http.StatusForbidden} {
		if w := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/nobody"+query, "", bearer("dev")...); w.Code != want {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestListsShowWhatTheCallerMaySee(t *testing.T) {
	s := newServer(t, options(newWorld()))
	names := func(w *httptest.ResponseRecorder) string {
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		var out []string
		for _, i := range list.Items {
			out = append(out, i.Metadata.Name)
		}
		return strings.Join(out, " ")
	}
	for target, want := range map[string]string{
		"/api/v1/applications":                     "cart shop",
		"/api/v1/applications?projects=bank":       "",
		"/api/v1/applications?name=shop":           "shop",
		"/api/v1/applications?selector=team%3Dweb": "cart shop",
		"/api/v1/applications?selector=team%3Dno":  "",
		"/api/v1/applications?repo=https://nobody": "",
		"/api/v1/projects":                         "web",
	} {
		if got := names(ask(t, s.Handler(), http.MethodGet, target, "", bearer("dev")...)); got != want {
			t.Errorf("%s has %q, want %q", target, got, want)
		}
	}
	if got := names(ask(t, s.Handler(), http.MethodGet, "/api/v1/applications", "", bearer("admin")...)); got != "cart shop vault" {
		t.Errorf("an administrator sees %q", got)
	}
	w := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications?fields=items.metadata.name,metadata", "", bearer("dev")...)
	if got := w.Body.String(); got != `{"items":[{"metadata":{"name":"cart"}},{"metadata":{"name":"shop"}}],"metadata":{"resourceVersion":"7"}}`+"\n" {
		t.Errorf("with fields it is %s", got)
	}
}

// TestNoSecretComesOut walks every route as an administrator in a world that is full of secrets.
func TestNoSecretComesOut(t *testing.T) {
	s := newServer(t, options(withSecret()))
	answered := 0
	for _, r := range s.Routes() {
		body := "{}"
		if strings.HasSuffix(r.Pattern, "/generate") {
			body = `{"applicationSet":{"metadata":{"name":"x"},"spec":{"template":{"spec":{"project":"web"}}}}}`
		}
		at := path(r.Pattern) + "?kind=Secret&namespace=shop&resourceName=login"
		w := ask(t, s.Handler(), r.Method, at, body, bearer("admin")...)
		if w.Code == http.StatusOK {
			answered++
		}
		if strings.Contains(w.Body.String(), canary) || strings.Contains(w.Body.String(), "aHVudGVyMi1jYW5hcnk") {
			t.Errorf("%s %s tells: %s", r.Method, at, w.Body)
		}
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Errorf("%s %s: %d %s", r.Method, at, w.Code, w.Body)
		}
	}
	if answered < 30 {
		t.Errorf("only %d routes answered", answered)
	}
}

// TestSecretsCanBeCompared: values that differ look different, those that are the same look the same.
func TestSecretsCanBeCompared(t *testing.T) {
	s := newServer(t, options(withSecret()))
	w := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/shop/managed-resources", "", bearer("dev")...)
	var got struct {
		Items []struct{ TargetState, LiveState string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Items) != 1 {
		t.Fatalf("%v in %s", err, w.Body)
	}
	data := func(text string) map[string]string {
		var o struct{ Data map[string]string }
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		return o.Data
	}
	live, target := data(got.Items[0].LiveState), data(got.Items[0].TargetState)
	if live["same"] != target["same"] || live["password"] == target["password"] || live["same"] != object.Masked {
		t.Errorf("live is %v, and target %v", live, target)
	}
}

func TestForgedRequestsAreRefused(t *testing.T) {
	s := newServer(t, options(newWorld()))
	cookie := []string{"Cookie", "argocd.token=admin-token"}
	with := func(headers ...string) []string { return append(append([]string{}, cookie...), headers...) }
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"from our own page":   {with("Origin", "http://example.com"), http.StatusOK},
		"by fetch metadata":   {with("Sec-Fetch-Site", "same-origin"), http.StatusOK},
		"a form":              {with("Origin", "http://example.com", "Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		"plain text":          {with("Origin", "http://example.com", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"nothing":             {cookie, http.StatusForbidden},
		"another site":        {with("Origin", "https://evil.example"), http.StatusForbidden},
		"a sibling subdomain": {with("Origin", "http://evil.example.com"), http.StatusForbidden},
		"null":                {with("Origin", "null"), http.StatusForbidden},
		"no cookie, no page":  {bearer("admin"), http.StatusOK},
		"a form that deletes": {append(bearer("admin"), "Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"charset":             {append(bearer("admin"), "Content-Type", "application/json; charset=utf-8"), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if w := ask(t, s.Handler(), http.MethodDelete, "/api/v1/session", "", c.headers...); w.Code != c.want {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	// Another site may have a page fetched, but cannot read it: it changes nothing.
	if w := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications", "", with("Origin", "https://evil.example")...); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("another site may read answers")
	}
}

func TestCookies(t *testing.T) {
	long := strings.Repeat("x", 5000)
	o := options(newWorld())
	o.Sessions = sessions{token: long}
	o.Settings = func() server.Settings { return server.Settings{URL: "https://cd.example.com"} }
	s := newServer(t, o)
	w := ask(t, s.Handler(), http.MethodPost, "/api/v1/session", `{"username":"admin","password":"right"}`)
	set := w.Result().Cookies()
	if w.Code != http.StatusOK || len(set) != 2 || set[0].Name != "argocd.token" || set[1].Name != "argocd.token-1" {
		t.Fatalf("%d %s with %v", w.Code, w.Body, set)
	}
	for _, c := range set {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			t.Errorf("the cookie is %v", c)
		}
	}
	var got string
	o.Verifier = verifier(func(token string) { got = token })
	s = newServer(t, o)
	ask(t, s.Handler(), http.MethodGet, "/api/v1/applications", "", "Cookie", set[0].Name+"="+set[0].Value+"; "+set[1].Name+"="+set[1].Value)
	if got != long {
		t.Errorf("the token came back with %d characters", len(got))
	}
	w = ask(t, s.Handler(), http.MethodPost, "/api/v1/session", `{"username":"admin","password":"wrong"}`)
	if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "because") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestStrangersGetAnswersTheyCanUse: the stock client speaks gRPC, and must not hang.
func TestStrangersGetAnswersTheyCanUse(t *testing.T) {
	s := newServer(t, options(newWorld()))
	for _, kind := range []string{"application/grpc", "application/grpc+proto", "application/grpc-web+proto"} {
		w := ask(t, s.Handler(), http.MethodPost, "/version.VersionService/Version", "", "Content-Type", kind)
		if w.Code != http.StatusOK || w.Header().Get("Grpc-Status") != "12" || !strings.Contains(w.Header().Get("Grpc-Message"), "towline") ||
			w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %v", kind, w.Code, w.Header())
		}
	}
	for target, want := range map[string]string{
		"/api/v1/write-repositories":                 "hydrator",
		"/api/v1/applications/shop/server-side-diff": "managed-resources",
	} {
		w := ask(t, s.Handler(), http.MethodGet, target, "", bearer("admin")...)
		if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	w := ask(t, s.Handler(), http.MethodPut, "/api/v1/applications/shop/events", "{}", bearer("admin")...)
	if w.Code != http.StatusNotImplemented || w.Header().Get("Allow") != "GET" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w := ask(t, s.Handler(), http.MethodGet, "/api/version", ""); w.Body.String() != `{"Version":"v1.2.3"}`+"\n" {
		t.Errorf("strangers are told %s", w.Body)
	}
	if w := ask(t, s.Handler(), http.MethodGet, "/api/version", "", bearer("dev")...); !strings.Contains(w.Body.String(), "GoVersion") {
		t.Errorf("others are told %s", w.Body)
	}
}

func TestHeaders(t *testing.T) {
	s := newServer(t, options(newWorld()))
	w := ask(t, s.Handler(), http.MethodGet, "/api/version", "")
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "sameorigin", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Type": "application/json",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %q", csp)
	}
	large := ask(t, s.Handler(), http.MethodPut, "/api/v1/account/password", `{"newPassword":"`+strings.Repeat("x", 20<<10)+`"}`, bearer("admin")...)
	if large.Code != http.StatusNotImplemented && large.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", large.Code, large.Body)
	}
	zipped := ask(t, s.Handler(), http.MethodGet, "/swagger.json", "", "Accept-Encoding", "gzip")
	if zipped.Header().Get("Content-Encoding") != "" && zipped.Body.Len() > 200_000 {
		t.Errorf("it is not compressed: %d", zipped.Body.Len())
	}
}

func TestRefresh(t *testing.T) {
	w := newWorld()
	s := newServer(t, options(w))
	got := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/shop?refresh=hard", "", bearer("dev")...)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"resourceVersion":"9"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if len(w.patched) != 1 || !strings.Contains(w.patched[0], `"argocd.argoproj.io/refresh":"hard"`) {
		t.Errorf("it was patched with %q", w.patched)
	}
	ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/vault?refresh=hard", "", bearer("dev")...)
	if len(w.patched) != 1 {
		t.Error("who may not see an application has it refreshed")
	}
}

func TestLogs(t *testing.T) {
	s := newServer(t, options(newWorld()))
	w := ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/shop/pods/web-1/logs?container=main", "", bearer("dev")...)
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		var e struct{ Result server.LogEntry }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		got = append(got, fmt.Sprintf("%s %q %t", e.Result.TimeStampStr, e.Result.Content, e.Result.Last))
	}
	want := []string{` "no time" false`, `2026-01-02T15:04:05Z "first" false`, `2026-01-02T15:04:06Z "second" false`}
	if len(got) != 4 || !cmp.Equal(got[:3], want) || !strings.HasSuffix(got[3], `"" true`) {
		t.Errorf("the lines are %q", got)
	}
	w = ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/shop/logs?filter=FIRST", "", bearer("dev")...)
	if strings.Contains(w.Body.String(), "second") || !strings.Contains(w.Body.String(), "first") {
		t.Errorf("filtered: %s", w.Body)
	}
}

// TestAStreamEndsWithTheRight: who is let in for long is looked at again.
func TestAStreamEndsWithTheRight(t *testing.T) {
	v := &switched{}
	o := options(newWorld())
	o.Verifier = v
	s := newServer(t, o)
	s.SetRecheck(time.Millisecond)
	done := make(chan *httptest.ResponseRecorder)
	go func() {
		done <- ask(t, s.Handler(), http.MethodGet, "/api/v1/applications/shop/logs?follow=true", "", bearer("dev")...)
	}()
	time.Sleep(20 * time.Millisecond)
	select {
	case w := <-done:
		t.Fatalf("the stream ended by itself: %s", w.Body)
	default:
	}
	v.down.Store(true)
	select {
	case w := <-done:
		if !strings.Contains(w.Body.String(), `"grpc_code":16`) {
			t.Errorf("it ended with %s", w.Body)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stream goes on")
	}
}

func TestOpenAPI(t *testing.T) {
	s := newServer(t, options(newWorld()))
	w := ask(t, s.Handler(), http.MethodGet, "/swagger.json", "")
	var doc struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Routes() {
		at := strings.ReplaceAll(r.Pattern, "...}", "}")
		if doc.Paths[at][strings.ToLower(r.Method)] == nil {
			t.Errorf("the document lacks %s %s", r.Method, r.Pattern)
		}
	}
	refs := regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	for _, m := range refs {
		if doc.Components.Schemas[m[1]] == nil {
			t.Errorf("the document refers to %s and lacks it", m[1])
		}
	}
	if len(refs) == 0 {
		t.Error("there are no schemas")
	}
}
