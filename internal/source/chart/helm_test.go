package chart

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
)

func resolve(t *testing.T, s *Store, of manifest.Origin, maxAge time.Duration) string {
	t.Helper()
	revision, _, err := s.Resolve(t.Context(), of, maxAge)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func readTree(t *testing.T, s *Store, of manifest.Origin, revision, file string) string {
	t.Helper()
	tree, err := s.Tree(t.Context(), of, revision)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tree.(manifest.Traced); !ok {
		t.Error("the tree cannot tell what reading it depends on")
	}
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantFault checks an error's class, reason and words, and that it tells no secret.
func wantFault(t *testing.T, err error, class fault.Class, reason string, words ...string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Errorf("err = %v (%v %s), want %v %s", err, fault.ClassOf(err), fault.ReasonOf(err), class, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), password) {
		t.Errorf("the password is told: %v", err)
	}
}

// publish puts an index with two versions of a chart into a folder of the site.
func publish(s *site, folder string) {
	one, two := packed("app", "1.0.0", nil), packed("app", "1.1.0", map[string]string{"values.yaml": "a: 2\n"})
	s.write(folder+"/app-1.0.0.tgz", string(one))
	s.write(folder+"/files/app-1.1.0.tgz", string(two))
	s.write(folder+"/index.yaml", indexText(released{"app", "1.0.0", "app-1.0.0.tgz", digest(one)},
		released{"app", "1.1.0", "files/app-1.1.0.tgz", digest(two)}, released{"app", "2.0.0-rc.1", "app-2.tgz", ""}))
}

func TestHelmRepository(t *testing.T) {
	site := newSite(t)
	publish(site, "public")
	s := newStore(t, &book{}, nil)
	of := manifest.Origin{RepoURL: site.url + "/public/", Chart: "app"}
	for want, got := range map[string]string{
		"": "1.1.0", "*": "1.1.0", "1.0.0": "1.0.0", "1.*": "1.1.0", "~1.0": "1.0.0", ">=1.0.0 <2": "1.1.0", ">0.0.0-0": "2.0.0-rc.1", "v1.0.0": "1.0.0",
	} {
		of.Revision = want
		if revision := resolve(t, s, of, time.Minute); revision != got {
			t.Errorf("Resolve(%q) = %s, want %s", want, revision, got)
		}
	}
	if asked, _, _ := s.Stats(); asked != 1 {
		t.Errorf("the index was asked for %d times", asked)
	}
	if got := readTree(t, s, of, "1.1.0", "values.yaml"); got != "a: 2\n" {
		t.Errorf("values.yaml = %q", got)
	}
	if got := readTree(t, s, of, "1.0.0", "Chart.yaml"); !strings.Contains(got, "version: 1.0.0") {
		t.Errorf("Chart.yaml = %q", got)
	}
	_ = readTree(t, s, of, "1.0.0", "Chart.yaml")
	if _, _, downloads := s.Stats(); downloads != 2 {
		t.Errorf("there were %d downloads", downloads)
	}
}

func TestManyAskOnce(t *testing.T) {
	site := newSite(t)
	publish(site, "public")
	s := newStore(t, &book{}, nil)
	of := manifest.Origin{RepoURL: site.url + "/public", Chart: "app", Revision: "1.*"}
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, _, err := s.Resolve(t.Context(), of, time.Minute); err != nil {
				t.Error(err)
			}
			if _, err := s.Tree(t.Context(), of, "1.1.0"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if asked, _, downloads := s.Stats(); asked != 1 || downloads != 1 {
		t.Errorf("asked %d times, downloaded %d times", asked, downloads)
	}
	if log := site.log(2); strings.Count(log, "GET ") != 2 {
		t.Errorf("the server saw\n%s", log)
	}
}

func TestUnchangedIndex(t *testing.T) {
	site := newSite(t)
	publish(site, "public")
	s := newStore(t, &book{}, nil)
	of := manifest.Origin{RepoURL: site.url + "/public", Chart: "app", Revision: "*"}
	resolve(t, s, of, 0)
	if got, log := resolve(t, s, of, 0), site.log(2); got != "1.1.0" || !strings.Contains(log, " 304 ") {
		t.Errorf("Resolve = %s; the server says\n%s", got, log)
	}
	if asked, unchanged, _ := s.Stats(); asked != 2 || unchanged != 1 {
		t.Errorf("asked %d times, %d unchanged", asked, unchanged)
	}
	three := packed("app", "1.2.0", nil)
	site.write("public/app-1.2.0.tgz", string(three))
	site.write("public/index.yaml", indexText(released{"app", "1.2.0", "app-1.2.0.tgz", digest(three)}))
	if got := resolve(t, s, of, time.Hour); got != "1.1.0" {
		t.Errorf("within its age the index is asked for again: %s", got)
	}
	if got := resolve(t, s, of, 0); got != "1.2.0" {
		t.Errorf("the change is not noticed: %s", got)
	}
}

// A version that was published anew counts as soon as somebody asks, and one that is here needs nobody.
func TestPublishedAnew(t *testing.T) {
	site := newSite(t)
	publish(site, "public")
	dir := t.TempDir()
	s := newStore(t, &book{}, func(o *Options) { o.Dir = dir })
	of := manifest.Origin{RepoURL: site.url + "/public", Chart: "app", Revision: "1.0.0"}
	_ = readTree(t, s, of, resolve(t, s, of, time.Minute), "Chart.yaml")
	other := packed("app", "1.0.0", map[string]string{"values.yaml": "new: true\n"})
	site.write("public/app-1.0.0.tgz", string(other))
	site.write("public/index.yaml", indexText(released{"app", "1.0.0", "app-1.0.0.tgz", digest(other)}))
	resolve(t, s, of, time.Nanosecond)
	if asked, _, _ := s.Stats(); asked != 1 {
		t.Errorf("a version that is here is asked about: %d", asked)
	}
	resolve(t, s, of, 0)
	if got := readTree(t, s, of, "1.0.0", "values.yaml"); got != "new: true\n" {
		t.Errorf("values.yaml = %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := newStore(t, &book{}, func(o *Options) { o.Dir = dir })
	_ = readTree(t, again, of, resolve(t, again, of, time.Minute), "values.yaml")
	if asked, _, downloads := again.Stats(); asked != 1 || downloads != 0 {
		t.Errorf("after a restart: asked %d times, downloaded %d", asked, downloads)
	}
}

func TestPrivateRepository(t *testing.T) {
	site := newSite(t)
	publish(site, "private/charts")
	url := site.url + "/private/charts"
	of := manifest.Origin{RepoURL: url, Chart: "app", Revision: "*", Project: "shop"}

	_, _, err := newStore(t, &book{}, nil).Resolve(t.Context(), of, 0)
	wantFault(t, err, fault.Terminal, "RepositoryDenied", "401", "no login is registered")

	wrong := &book{}
	wrong.add(repository.Repository{URL: url, Username: user, Password: repository.NewSecret("wrong")})
	_, _, err = newStore(t, wrong, nil).Resolve(t.Context(), of, 0)
	wantFault(t, err, fault.Terminal, "RepositoryDenied", "401", "is not accepted")

	right := &book{}
	right.add(repository.Repository{URL: site.url + "/private", Project: "shop", Username: user, Password: repository.NewSecret(password)})
	s := newStore(t, right, nil)
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")

	// Another project has neither the login nor what was fetched with it.
	foreign := of
	foreign.Project = "other"
	_, _, err = s.Resolve(t.Context(), foreign, time.Hour)
	wantFault(t, err, fault.Terminal, "RepositoryDenied")
	foreign.Revision = "1.1.0"
	_, err = s.Tree(t.Context(), foreign, "1.1.0")
	wantFault(t, err, fault.Terminal, "RepositoryDenied")

	// A login in the URL counts where none is registered, and is not told.
	inURL := of
	inURL.RepoURL = strings.Replace(url, "://", "://"+user+":"+strings.ReplaceAll(password, " ", "%20")+"@", 1)
	s = newStore(t, &book{}, nil)
	_ = readTree(t, s, inURL, resolve(t, s, inURL, 0), "Chart.yaml")
	inURL.Chart = "none"
	_, _, err = s.Resolve(t.Context(), inURL, 0)
	wantFault(t, err, fault.Terminal, "ChartNotFound", `no chart "none"`)
}

func TestHelmFaults(t *testing.T) {
	site := newSite(t)
	publish(site, "public")
	bad := packed("app", "1.0.0", nil)
	site.write("bad/app.tgz", string(bad))
	site.write("bad/bomb.tgz", string(packed("app", "1.0.0", map[string]string{"values.yaml": strings.Repeat("a", 12<<20)})))
	site.write("bad/notchart.tgz", string(packed("app", "1.0.0", nil))[:100])
	site.write("bad/index.yaml", indexText(released{"mismatch", "1.0.0", "app.tgz", strings.Repeat("f", 64)},
		released{"gone", "1.0.0", "gone.tgz", ""}, released{"bomb", "1.0.0", "bomb.tgz", ""}, released{"broken", "1.0.0", "notchart.tgz", ""},
		released{"file", "1.0.0", "file:///etc/passwd", ""}, released{"nowhere", "1.0.0", "http://169.254.169.254/latest/meta-data", ""},
		released{"near", "1.0.0", "http://127.0.0.2:1/app.tgz", ""}))
	tests := map[string]struct {
		of     manifest.Origin
		class  fault.Class
		reason string
		words  []string
	}{
		"no such version":   {manifest.Origin{RepoURL: site.url + "/public", Chart: "app", Revision: "^3"}, fault.Terminal, "VersionNotFound", []string{"1.1.0", "targetRevision"}},
		"no such chart":     {manifest.Origin{RepoURL: site.url + "/public", Chart: "appp"}, fault.Terminal, "ChartNotFound", []string{"it has app"}},
		"no repository":     {manifest.Origin{RepoURL: site.url + "/none", Chart: "app"}, fault.Terminal, "NotFound", []string{"404"}},
		"busy":              {manifest.Origin{RepoURL: site.url + "/busy", Chart: "app"}, fault.Transient, "RepositoryFailed", []string{"503", "17"}},
		"nobody there":      {manifest.Origin{RepoURL: "http://127.0.0.1:1", Chart: "app"}, fault.Transient, "RepositoryUnreachable", nil},
		"no TLS":            {manifest.Origin{RepoURL: strings.Replace(site.url, "http:", "https:", 1), Chart: "app"}, fault.Terminal, "NotEncrypted", nil},
		"other scheme":      {manifest.Origin{RepoURL: "ftp://host/charts", Chart: "app"}, fault.Terminal, "URLRefused", nil},
		"a name that leads": {manifest.Origin{RepoURL: site.url + "/public", Chart: "../app"}, fault.Terminal, "ChartRefused", nil},
		"a name of a dot":   {manifest.Origin{RepoURL: site.url + "/public", Chart: "."}, fault.Terminal, "ChartRefused", nil},
		"digest mismatch":   {manifest.Origin{RepoURL: site.url + "/bad", Chart: "mismatch"}, fault.Terminal, "DigestMismatch", []string{digest(bad)}},
		"archive gone":      {manifest.Origin{RepoURL: site.url + "/bad", Chart: "gone"}, fault.Terminal, "NotFound", []string{"gone.tgz"}},
		"archive bomb":      {manifest.Origin{RepoURL: site.url + "/bad", Chart: "bomb"}, fault.Terminal, "ArchiveRefused", []string{"come out of"}},
		"broken archive":    {manifest.Origin{RepoURL: site.url + "/bad", Chart: "broken"}, fault.Terminal, "ArchiveRefused", nil},
		"a file of ours":    {manifest.Origin{RepoURL: site.url + "/bad", Chart: "file"}, fault.Terminal, "URLRefused", nil},
		"metadata service":  {manifest.Origin{RepoURL: site.url + "/bad", Chart: "nowhere"}, fault.Terminal, "AddressRefused", []string{"169.254.169.254"}},
		"metadata itself":   {manifest.Origin{RepoURL: "http://169.254.169.254", Chart: "x"}, fault.Terminal, "AddressRefused", nil},
		"a neighbour":       {manifest.Origin{RepoURL: site.url + "/bad", Chart: "near"}, fault.Terminal, "AddressRefused", []string{"127.0.0.2", "register"}},
		"content chose":     {manifest.Origin{RepoURL: site.url + "/public", Chart: "app", ByContent: true}, fault.Terminal, "AddressRefused", []string{"register"}},
		"alias of nobody":   {manifest.Origin{RepoURL: "@team", Chart: "app"}, fault.Terminal, "RepositoryUnknown", []string{"@team"}},
	}
	dir := t.TempDir()
	s := newStore(t, &book{}, func(o *Options) { o.Dir = dir })
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			revision, _, err := s.Resolve(t.Context(), tc.of, 0)
			if err == nil {
				_, err = s.Tree(t.Context(), tc.of, revision)
			}
			wantFault(t, err, tc.class, tc.reason, tc.words...)
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "partial", "*")); len(left) > 0 {
		t.Errorf("downloads are left behind: %v", left)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "app*")); len(found) > 0 {
		t.Errorf("something was written outside: %v", found)
	}
}

func TestDependencyPlaces(t *testing.T) {
	site := newSite(t)
	publish(site, "private/team")
	b := &book{}
	b.add(repository.Repository{URL: site.url + "/private/team", Name: "team", Username: user, Password: repository.NewSecret(password)})
	s := newStore(t, b, nil)
	for _, url := range []string{"@team", "alias:team", site.url + "/private/team"} {
		of := manifest.Origin{RepoURL: url, Chart: "app", Revision: "~1.0", ByContent: true}
		if got := resolve(t, s, of, time.Minute); got != "1.0.0" {
			t.Errorf("Resolve(%s) = %s", url, got)
		}
		_ = readTree(t, s, of, "1.0.0", "Chart.yaml")
	}
}

// Where a repository sends us must never see its login.
func TestLoginStaysHome(t *testing.T) {
	chart := packed("app", "1.0.0", nil)
	other := newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/index.yaml":
			_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", "/app.tgz", ""})))
		default:
			_, _ = w.Write(chart)
		}
	})
	var home *capture
	home = newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved/index.yaml":
			http.Redirect(w, r, other.URL+"/index.yaml", http.StatusFound)
		case "/back/index.yaml": // away and home again
			http.Redirect(w, r, other.URL+"/back", http.StatusFound)
		case "/links/index.yaml":
			_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", other.URL + "/app.tgz", digest(chart)})))
		case "/within/index.yaml":
			http.Redirect(w, r, "/real/index.yaml", http.StatusMovedPermanently)
		case "/real/index.yaml":
			_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", home.URL + "/app.tgz", ""})))
		case "/round/index.yaml":
			http.Redirect(w, r, "/round/index.yaml", http.StatusFound)
		case "/metadata/index.yaml":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		case "/file/index.yaml":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			_, _ = w.Write(chart)
		}
	})
	b := &book{}
	b.login(home.URL)
	strict := newStore(t, b, nil)
	open := newStore(t, b, func(o *Options) { o.AllowPrivate = true })
	fetch := func(s *Store, path string) error {
		of := manifest.Origin{RepoURL: home.URL + path, Chart: "app"}
		revision, _, err := s.Resolve(t.Context(), of, 0)
		if err == nil {
			_, err = s.Tree(t.Context(), of, revision)
		}
		return err
	}
	for _, path := range []string{"/moved", "/links", "/back"} {
		wantFault(t, fetch(strict, path), fault.Terminal, "AddressRefused", "register")
	}
	if said := other.said(); len(said) != 0 {
		t.Errorf("content chose a private address and it was called: %v", said)
	}
	for _, path := range []string{"/moved", "/links"} {
		_ = fetch(open, path)
	}
	if said := other.said(); len(said) != 2 || strings.Contains(strings.Join(said, ""), "Basic") {
		t.Errorf("the other host was told %q", said)
	}
	if err := fetch(strict, "/within"); err != nil {
		t.Error(err)
	}
	for _, line := range home.said() {
		if !strings.Contains(line, "Basic") {
			t.Errorf("home was asked without the login: %s", line)
		}
	}
	wantFault(t, fetch(strict, "/round"), fault.Terminal, "RedirectRefused")
	wantFault(t, fetch(open, "/metadata"), fault.Terminal, "AddressRefused")
	wantFault(t, fetch(strict, "/file"), fault.Terminal, "RedirectRefused")

	// With the wish of the application it goes to other hosts of the index.
	of := manifest.Origin{RepoURL: home.URL + "/links", Chart: "app", PassCredentials: true}
	s := newStore(t, b, func(o *Options) { o.AllowPrivate = true })
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	if said := other.said(); !strings.Contains(said[len(said)-1], "Basic") {
		t.Errorf("the login was not passed: %v", said)
	}
	// A registered host may be anywhere, and still gets no login.
	b.add(repository.Repository{URL: other.URL})
	if err := fetch(newStore(t, b, nil), "/links"); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	chart := packed("app", "1.0.0", nil)
	plain := newCapture(t, func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/index.yaml":
			_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", "app.tgz", digest(chart)})))
		case "/down/index.yaml":
			http.Redirect(w, r, plain.URL+"/index.yaml", http.StatusFound)
		default:
			_, _ = w.Write(chart)
		}
	}))
	defer server.Close()
	of := manifest.Origin{RepoURL: server.URL, Chart: "app"}
	_, _, err := newStore(t, &book{}, nil).Resolve(t.Context(), of, 0)
	wantFault(t, err, fault.Terminal, "ServerNotTrusted", "register the authority")

	trusted := &book{trust: repository.Trust{Certificates: map[string]string{"127.0.0.1": pemOf(server.Certificate().Raw)}}}
	s := newStore(t, trusted, nil)
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	down := manifest.Origin{RepoURL: server.URL + "/down", Chart: "app"}
	_, _, err = newStore(t, trusted, func(o *Options) { o.AllowPrivate = true }).Resolve(t.Context(), down, 0)
	wantFault(t, err, fault.Terminal, "RedirectRefused", "not encrypted")
	if said := plain.said(); len(said) > 0 {
		t.Errorf("the plain server was asked %v", said)
	}

	insecure := &book{}
	insecure.add(repository.Repository{URL: server.URL, Insecure: true})
	s = newStore(t, insecure, nil)
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	elsewhere := &book{}
	elsewhere.add(repository.Repository{URL: server.URL + "/other", Insecure: true})
	_, _, err = newStore(t, elsewhere, nil).Resolve(t.Context(), of, 0)
	wantFault(t, err, fault.Terminal, "ServerNotTrusted")
}

func TestProxy(t *testing.T) {
	chart := packed("app", "1.0.0", nil)
	proxy := newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "index.yaml") {
			_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", "app.tgz", ""}, released{"far", "1.0.0", "http://10.0.0.1/app.tgz", ""})))
			return
		}
		_, _ = w.Write(chart)
	})
	b := &book{}
	b.add(repository.Repository{URL: "http://charts.example.com", Proxy: proxy.URL, Username: user, Password: repository.NewSecret(password)})
	s := newStore(t, b, nil)
	of := manifest.Origin{RepoURL: "http://charts.example.com", Chart: "app"}
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	if len(proxy.said()) != 2 {
		t.Errorf("the proxy saw %v", proxy.said())
	}
	of.Chart = "far"
	_, err := s.Tree(t.Context(), of, "1.0.0")
	wantFault(t, err, fault.Terminal, "AddressRefused")
}

func TestFile(t *testing.T) {
	site := newSite(t)
	site.write("values.yaml", "a: 1\n")
	site.write("private/values.yaml", "b: 2\n")
	site.write("big.yaml", strings.Repeat("x", manifest.MaxFileBytes+1))
	_, err := newStore(t, &book{}, nil).File(t.Context(), site.url+"/values.yaml", "shop")
	wantFault(t, err, fault.Terminal, "AddressRefused")
	b := &book{}
	b.add(repository.Repository{URL: site.url})
	b.login(site.url + "/private")
	s := newStore(t, b, nil)
	for url, want := range map[string]string{"/values.yaml?x=y": "a: 1\n", "/private/values.yaml": "b: 2\n"} {
		tree, err := s.File(t.Context(), site.url+url, "shop")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(tree, "content"); string(got) != want || err != nil {
			t.Errorf("content = %q, %v", got, err)
		}
	}
	for url, reason := range map[string]string{"/none.yaml": "NotFound", "/big.yaml": "TooLarge"} {
		_, err := s.File(t.Context(), site.url+url, "shop")
		wantFault(t, err, fault.Terminal, reason)
	}
	for _, url := range []string{"file:///etc/passwd", "http://169.254.169.254/x", "http://[::ffff:169.254.169.254]/x", "gopher://x", "http://"} {
		if _, err := s.File(t.Context(), url, ""); fault.ClassOf(err) != fault.Terminal {
			t.Errorf("File(%s) = %v", url, err)
		}
	}
}

func TestEndlessIndex(t *testing.T) {
	server := newCapture(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("apiVersion: v1\nentries:\n  app:\n"))
		for {
			if _, err := w.Write([]byte(strings.Repeat("  - description: x\n", 1000))); err != nil {
				return
			}
		}
	})
	s := newStore(t, &book{}, func(o *Options) { o.MaxIndexText = 4 << 20 })
	_, _, err := s.Resolve(t.Context(), manifest.Origin{RepoURL: server.URL, Chart: "app"}, 0)
	wantFault(t, err, fault.Terminal, "IndexTooLarge", "old versions")
}

func TestClosing(t *testing.T) {
	held := make(chan struct{})
	server := newCapture(t, func(http.ResponseWriter, *http.Request) { <-held })
	defer close(held)
	dir := t.TempDir()
	s := newStore(t, &book{}, func(o *Options) { o.Dir = dir })
	if _, err := New(Options{Dir: dir, Book: &book{}}); err == nil {
		t.Error("two have the same folder")
	}
	of := manifest.Origin{RepoURL: server.URL, Chart: "app"}
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := s.Resolve(impatient, of, 0)
	wantFault(t, err, fault.Transient, "Cancelled")
	done := make(chan error)
	go func() { _, _, err := s.Resolve(context.WithoutCancel(t.Context()), of, time.Hour); done <- err }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("there was an answer after the end")
	}
	_, _, err = s.Resolve(t.Context(), of, 0)
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}
