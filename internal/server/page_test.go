package server_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/towline-cd/towline/internal/server"
)

// site is a UI of three files.
func site(t *testing.T) fstest.MapFS {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte("let script = 1")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"index.html":                  {Data: []byte(`<!doctype html><base href="/" /><title>Towline</title>`)},
		"assets/index-Ab3_-9xZ.js.gz": {Data: z.Bytes()},
		"assets/theme.js":             {Data: []byte("let theme = 1")},
	}
}

func withPages(t *testing.T, in server.Settings) http.Handler {
	t.Helper()
	o := options(newWorld())
	o.Pages = site(t)
	o.Settings = func() server.Settings { return in }
	return newServer(t, o).Handler()
}

// Every state of the UI has a link, and strangers get the page too: it asks them to sign in.
func TestDeepLinksAreThePage(t *testing.T) {
	h := withPages(t, server.Settings{})
	for _, link := range []string{"/", "/login", "/applications", "/applications/argocd/web", "/settings/clusters", "/projects/default"} {
		w := ask(t, h, http.MethodGet, link, "")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<title>Towline") {
			t.Errorf("%s: %d %s", link, w.Code, w.Body)
		}
		if got := w.Header().Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s may be kept: %q", link, got)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s lets scripts in: %q", link, policy)
		}
	}
	for _, path := range []string{"/nothing", "/api/v1/nothing", "/assets/nothing.js", "/assets/..%2findex.html"} {
		if w := ask(t, h, http.MethodGet, path, ""); w.Code != http.StatusNotFound && w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestAssetsAreKeptAndCompressed(t *testing.T) {
	h := withPages(t, server.Settings{})
	w := ask(t, h, http.MethodGet, "/assets/index-Ab3_-9xZ.js", "", "Accept-Encoding", "gzip")
	if w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
		w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the headers are %v", w.Header())
	}
	again := ask(t, h, http.MethodGet, "/assets/index-Ab3_-9xZ.js", "", "If-None-Match", w.Header().Get("Etag"))
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("what is known already is told again: %d", again.Code)
	}
	if plain := ask(t, h, http.MethodGet, "/assets/index-Ab3_-9xZ.js", ""); plain.Body.String() != "let script = 1" {
		t.Errorf("whoever cannot unzip gets %q", plain.Body)
	}
	if theme := ask(t, h, http.MethodGet, "/assets/theme.js", ""); theme.Header().Get("Cache-Control") != "no-cache" {
		t.Error("a file whose name says nothing of its content may be kept for ever")
	}
}

// Behind a proxy the page knows where it lives.
func TestThePageKnowsItsPlace(t *testing.T) {
	for _, c := range []struct {
		in         server.Settings
		path, want string
	}{
		{server.Settings{RootPath: "/cd"}, "/cd/applications", `<base href="/cd/" />`},
		{server.Settings{RootPath: "/cd"}, "/cd", `<base href="/cd/" />`},
		{server.Settings{BaseHref: "/shown/"}, "/applications", `<base href="/shown/" />`},
		{server.Settings{BaseHref: `/"><script>`}, "/", `<base href="/&#34;&gt;&lt;script&gt;/" />`},
	} {
		if w := ask(t, withPages(t, c.in), http.MethodGet, c.path, ""); !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %s", c.path, w.Body)
		}
	}
}

func TestWithoutPagesThereAreNone(t *testing.T) {
	if w := ask(t, newServer(t, options(newWorld())).Handler(), http.MethodGet, "/applications", ""); w.Code != http.StatusNotFound {
		t.Errorf("the answer is %d", w.Code)
	}
}
