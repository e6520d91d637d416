package forge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/forge"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

func TestPages(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7} {
			f.Do(func() { f.Page, f.Repos = 2, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(n)}} })
			got, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope)
			if err != nil || len(got.Sets) != n || got.Sets == nil {
				t.Errorf("%d: %d, %v", n, len(got.Sets), err)
			}
		}
	})
}

// A server that speaks of totals alone is read on to its end, and so is one that says nothing, as long as pages are full.
func TestPagesWithoutLinks(t *testing.T) {
	for _, kind := range []forgetest.Kind{forgetest.Gitea, forgetest.GitHub} {
		f := start(t, kind)
		f.NoLinks, f.Repos = true, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(200)}}
		got, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope)
		if err != nil || len(got.Sets) != 200 {
			t.Errorf("%s: %d, %v", kind, len(got.Sets), err)
		}
	}
}

// What did not change is not sent again, whoever else asks in between.
func TestUnchanged(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		f.Page, f.Repos = 2, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(3)}}
		forges := newForges(t)
		first, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
		if err != nil {
			t.Fatal(err)
		}
		statuses := func() string {
			var out []string
			for _, a := range f.Asked() {
				out = append(out, fmt.Sprint(a.Status))
			}
			return strings.Join(out, " ")
		}
		if got := statuses(); got != "200 200 304" { // two pages, and a second look at the first
			t.Errorf("first: %s", got)
		}
		second, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
		if err != nil {
			t.Fatal(err)
		}
		if got := statuses(); got != "304 304 304" {
			t.Errorf("second: %s", got)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		f.Do(func() { f.Repos[0].Pulls = open(4) })
		third, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
		if err != nil || len(third.Sets) != 4 {
			t.Errorf("third: %d, %v", len(third.Sets), err)
		}
		// Another login is another question: nobody is told what he may not see.
		f.Do(func() { f.Token = "another" })
		f.Asked()
		gen := pullsOf(f)
		another := &v1alpha1.SecretRef{SecretName: "another", Key: "token"}
		switch f.Kind {
		case forgetest.GitHub:
			gen.Github.TokenRef = another
		case forgetest.GitLab:
			gen.Gitlab.TokenRef = another
		case forgetest.Gitea:
			gen.Gitea.TokenRef = another
		}
		if _, err := forges.PullRequests(t.Context(), gen, scope); err != nil {
			t.Error(err)
		}
		if first := f.Asked()[0]; first.Mark != "" || first.Status != http.StatusOK {
			t.Errorf("another login was answered for: %+v", first)
		}
	})
}

// The mark of a page says nothing of pages after it, which come and go.
func TestPagesBehindUnchangedOnes(t *testing.T) {
	for _, bare := range []bool{false, true} {
		eachForge(t, func(t *testing.T, f *forgetest.Forge) {
			f.Page, f.BareMarks = 2, bare
			if bare && f.Kind == forgetest.GitHub {
				f.Page = 100 // it says nothing at all of a page that has no other
			}
			forges := newForges(t)
			for _, n := range []int{2, 3, 4, 5, 6, 4, 3, 2, 2, 1, 0, 4} {
				f.Do(func() { f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(n)}} })
				got, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
				if err != nil || len(got.Sets) != n {
					t.Errorf("bare %v, %d: %d, %v", bare, n, len(got.Sets), err)
				}
			}
		})
	}
	// Without any headers, only asking tells.
	f := start(t, forgetest.GitHub)
	f.BareMarks = true
	forges := newForges(t)
	for _, n := range []int{100, 101, 100, 99, 101} {
		f.Do(func() { f.Repos = []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(n)}} })
		got, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
		if err != nil || len(got.Sets) != n {
			t.Errorf("%d: %d, %v", n, len(got.Sets), err)
		}
	}
}

// Each of these would look like pull requests that were closed.
func TestNotWhole(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		page := func(r *http.Request) string { return r.URL.Query().Get("page") }
		status := func(code int, body string) func(*http.Request, *forgetest.Answer) {
			return func(r *http.Request, a *forgetest.Answer) {
				if page(r) == "2" {
					a.Status, a.Body = code, []byte(body)
				}
			}
		}
		body := func(text string) func(*http.Request, *forgetest.Answer) {
			return func(_ *http.Request, a *forgetest.Answer) { a.Body = []byte(text) }
		}
		drop := func(a *forgetest.Answer) {
			var items []json.RawMessage
			_ = json.Unmarshal(a.Body, &items)
			a.Body, _ = json.Marshal(items[1:])
		}
		seen := 0
		tests := map[string]struct {
			after  func(*http.Request, *forgetest.Answer)
			reason string
			class  fault.Class
		}{
			"a page that fails":       {status(500, `{"message":"oops"}`), "ForgeFailed", fault.Transient},
			"a page of a proxy":       {status(502, `<html>bad gateway</html>`), "ForgeFailed", fault.Transient},
			"a page not to be seen":   {status(403, `{"message":"no"}`), "ForgeDenied", fault.Terminal},
			"a page that is unknown":  {status(404, `{"message":"Not Found"}`), "NotFound", fault.Terminal},
			"an unknown by a proxy":   {status(404, `default backend - 404`), "ForgeFailed", fault.Transient},
			"a page that breaks off":  {status(200, `[{"number":3,"iid":3,`), "AnswerIncomplete", fault.Transient},
			"a page with nothing":     {status(200, ""), "AnswerIncomplete", fault.Transient},
			"a page that is empty":    {status(200, "[]"), "AnswerIncomplete", fault.Transient},
			"a page that is null":     {status(200, "null"), "AnswerIncomplete", fault.Transient},
			"an entry that is null":   {status(200, "[null]"), "AnswerIncomplete", fault.Transient},
			"a page for people":       {body("<html>sign in</html>"), "AnswerIncomplete", fault.Transient},
			"an object for a list":    {body(`{"message":"hello"}`), "AnswerNotUnderstood", fault.Transient},
			"an entry without a name": {body(`[{"title":"x"}]`), "AnswerIncomplete", fault.Transient},
			"the first page again": {func(r *http.Request, a *forgetest.Answer) {
				if page(r) == "2" {
					a.Body = bytes.ReplaceAll(a.Body, []byte(`:3,`), []byte(`:1,`))
				}
			}, "AnswerIncomplete", fault.Transient},
			"pages in a circle": {func(r *http.Request, a *forgetest.Answer) {
				if page(r) == "2" {
					a.Header.Set("Link", `<https://x/y?page=2>; rel="next"`)
				}
			}, "AnswerIncomplete", fault.Transient},
			"a list that shrinks while it is read": {func(r *http.Request, a *forgetest.Answer) {
				if seen++; page(r) == "" && seen > 1 {
					drop(a)
				}
			}, "AnswerIncomplete", fault.Transient},
		}
		total := func(at, said string) func(*http.Request, *forgetest.Answer) {
			return func(r *http.Request, a *forgetest.Answer) {
				if page(r) == at || at == "all" {
					a.Header.Set("X-Total", said)
					a.Header.Set("X-Total-Count", said)
				}
			}
		}
		for name, after := range map[string]func(*http.Request, *forgetest.Answer){
			"pages that are short of the total": func(_ *http.Request, a *forgetest.Answer) { drop(a) },
			"a total that grows":                total("2", "9"),
			"a total that shrinks":              total("2", "2"),
			"a total that is too high":          total("all", "4"),
			"a total that is too low":           total("all", "2"),
		} {
			one := tests["a page that is empty"]
			one.after = after
			if f.Kind != forgetest.GitHub || strings.HasPrefix(name, "a total that is") { // it says none by itself
				tests[name] = one
			}
		}
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				seen = 0
				f.Do(func() {
					f.Page, f.Repos, f.After = 2, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(3)}}, tc.after
				})
				got, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope)
				if err == nil {
					t.Fatalf("an answer: %v", got)
				}
				if fault.ReasonOf(err) != tc.reason || fault.ClassOf(err) != tc.class || len(got.Sets) != 0 {
					t.Errorf("%v %s: %v", fault.ClassOf(err), fault.ReasonOf(err), err)
				}
				if strings.Contains(err.Error(), token) {
					t.Errorf("the login is told: %v", err)
				}
			})
		}
	})
}

// Gitea counts repositories that it does not show. One that shows none of them is no empty organisation.
func TestHiddenRepositories(t *testing.T) {
	f := start(t, forgetest.Gitea)
	f.Page = 2
	repo := func(id int64, hidden bool) forgetest.Repo {
		return forgetest.Repo{ID: id, Name: fmt.Sprint("r", id), Default: "main", Commits: map[string]string{"main": sha1}, Hidden: hidden}
	}
	f.Repos = []forgetest.Repo{repo(1, true), repo(2, true), repo(3, false), repo(4, true), repo(5, true), repo(6, true), repo(7, false)}
	got, err := newForges(t).Repositories(t.Context(), reposOf(f), scope)
	if diff := cmp.Diff([]string{"r3", "r7"}, values(got.Sets, "repository")); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.Do(func() { f.Repos[2].Hidden, f.Repos[6].Hidden = true, true })
	if got, err := newForges(t).Repositories(t.Context(), reposOf(f), scope); fault.ReasonOf(err) != "ForgeDenied" {
		t.Errorf("%v, %v", got, err)
	}
	f.Do(func() { f.Repos = nil })
	if got, err := newForges(t).Repositories(t.Context(), reposOf(f), scope); err != nil || got.Sets == nil || len(got.Sets) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// A link that names a last page is held to it.
func TestFewerPagesThanAnnounced(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Page, f.Repos = 2, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(5)}}
	f.After = func(r *http.Request, a *forgetest.Answer) {
		if r.URL.Query().Get("page") == "2" {
			a.Header.Del("Link")
		}
	}
	if got, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "AnswerIncomplete" {
		t.Errorf("%v, %v", got, err)
	}
}

// An answer that is shorter than its own length says is no answer, and neither is one that is too long.
func TestBrokenConnections(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("[]"))
		return true
	}
	if _, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "AnswerIncomplete" {
		t.Error(err)
	}
	f.Do(func() {
		f.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("[" + strings.Repeat(" ", 17<<20) + "]"))
			return true
		}
	})
	if _, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "AnswerTooLarge" {
		t.Error(err)
	}
	f.Do(func() {
		f.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	})
	if _, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "AnswerIncomplete" {
		t.Error(err)
	}
	address := f.URL
	f.Close()
	gen := pullsOf(f)
	gen.Github.API = address
	if _, err := newForges(t).PullRequests(t.Context(), gen, scope); fault.ReasonOf(err) != "ForgeUnreachable" || fault.ClassOf(err) != fault.Transient {
		t.Error(err)
	}
}

func TestPatience(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}
	forges := newForges(t, func(o *forge.Options) { o.Timeout = 50 * time.Millisecond })
	if _, err := forges.PullRequests(t.Context(), pullsOf(f), scope); fault.ClassOf(err) != fault.Transient || fault.ReasonOf(err) != "ForgeUnreachable" {
		t.Error(err)
	}
}

func TestTooManyPages(t *testing.T) {
	f := start(t, forgetest.GitHub)
	f.Page, f.NoMarks, f.Repos = 1, true, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(201)}}
	if _, err := newForges(t).PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "ListTooLong" {
		t.Error(err)
	}
}

func TestRepositoryNotFound(t *testing.T) {
	eachForge(t, func(t *testing.T, f *forgetest.Forge) {
		gen := pullsOf(f)
		if _, err := newForges(t).PullRequests(t.Context(), gen, scope); fault.ReasonOf(err) != "NotFound" || fault.ClassOf(err) != fault.Terminal {
			t.Error(err)
		}
		gen.ContinueOnRepoNotFoundError = true
		if got, err := newForges(t).PullRequests(t.Context(), gen, scope); err != nil || got.Sets == nil || len(got.Sets) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		// Only if it is the forge that says so.
		f.Do(func() { f.After = func(_ *http.Request, a *forgetest.Answer) { a.Body = []byte("not found") } })
		if got, err := newForges(t).PullRequests(t.Context(), gen, scope); err == nil {
			t.Errorf("%v", got)
		}
		f.Do(func() { f.After, f.Token = nil, "another" })
		if got, err := newForges(t).PullRequests(t.Context(), gen, scope); err == nil {
			t.Errorf("%v", got)
		}
	})
}

func TestLimits(t *testing.T) {
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	there := now.Add(-7 * time.Minute) // clocks differ
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		want   time.Duration
	}{
		"the limit of GitHub":  {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(there.Add(20 * time.Minute).Unix())}, "{}", 20 * time.Minute},
		"the second one":       {403, map[string]string{"Retry-After": "90"}, "{}", 90 * time.Second},
		"the second, unsaid":   {403, nil, `{"message":"You have exceeded a secondary rate limit"}`, time.Minute},
		"too many":             {429, nil, "", time.Minute},
		"too many of GitLab":   {429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": fmt.Sprint(there.Add(time.Minute).Unix())}, "", time.Minute},
		"a date":               {429, map[string]string{"Retry-After": there.Add(5 * time.Minute).Format(http.TimeFormat)}, "", 5 * time.Minute},
		"a time in the past":   {429, map[string]string{"Retry-After": "-5"}, "", time.Second},
		"a time far too late":  {429, map[string]string{"Retry-After": "99999999"}, "", time.Hour},
		"nonsense for a time":  {429, map[string]string{"Retry-After": "soon"}, "", time.Minute},
		"a limit that is full": {200, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(there.Add(20 * time.Minute).Unix())}, "", 20 * time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, forgetest.GitHub)
			f.Page, f.Repos = 2, []forgetest.Repo{{ID: 1, Name: "shop", Pulls: open(3)}}
			f.After = func(_ *http.Request, a *forgetest.Answer) {
				a.Status = tc.status
				a.Header.Set("Date", there.Format(http.TimeFormat))
				for key, value := range tc.header {
					a.Header.Set(key, value)
				}
				if tc.status != 200 {
					a.Body = []byte(tc.body)
				}
			}
			at := now
			forges := newForges(t, func(o *forge.Options) { o.Now = func() time.Time { return at } })
			_, err := forges.PullRequests(t.Context(), pullsOf(f), scope)
			until, ok := forge.Until(err)
			if fault.ReasonOf(err) != "RateLimited" || fault.ClassOf(err) != fault.Transient || !ok || !until.Equal(now.Add(tc.want)) {
				t.Fatalf("%v, until %v (%v)", err, until, ok)
			}
			if !strings.Contains(err.Error(), until.Format(time.RFC3339)) {
				t.Errorf("the time is not told: %v", err)
			}
			// Nobody is asked before that time, and with another login at once.
			if got := len(f.Asked()); got != 1 {
				t.Errorf("asked %d times", got)
			}
			if _, err := forges.PullRequests(t.Context(), pullsOf(f), scope); fault.ReasonOf(err) != "RateLimited" || len(f.Asked()) != 0 {
				t.Errorf("asked again: %v", err)
			}
			other := pullsOf(f)
			other.Github.TokenRef = nil
			f.Do(func() { f.After = nil })
			if _, err := forges.PullRequests(t.Context(), other, scope); fault.ReasonOf(err) != "ForgeDenied" {
				t.Errorf("another login: %v", err)
			}
			at = until
			if _, err := forges.PullRequests(t.Context(), pullsOf(f), scope); err != nil {
				t.Errorf("after it: %v", err)
			}
		})
	}
}
