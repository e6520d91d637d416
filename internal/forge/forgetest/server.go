// Package forgetest is a forge in memory, for tests: a server that speaks as much of the documented API of GitHub, GitLab
// or Gitea as generators use, in pages, with marks, totals and logins. It must not be part of the product.
package forgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kind is whose API is spoken.
type Kind string

// The forges.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea"
)

// Owner is the organisation, or the group, that all repositories are of.
const Owner = "acme"

// Pull is a pull request.
type Pull struct {
	Number                                    int64
	Title, Branch, Target, SHA, Author, State string
	Labels                                    []string
}

// Repo is a repository. Paths are the files of a branch, by its name.
type Repo struct {
	ID       int64
	Name     string
	Default  string
	Labels   []string
	Archived bool
	Commits  map[string]string   // by branch
	Paths    map[string][]string // by branch
	Pulls    []Pull
	// Group is where it is in GitLab, if not directly with the owner.
	Group string
	// Hidden says that the login may not see it.
	Hidden bool
	// Shared says that it is of others, who share it with the owner.
	Shared bool
}

// Asked is a request that came.
type Asked struct {
	Method, Path, Query, Login, Mark string
	Status                           int
}

// Forge is a server. Its fields may change between requests, through Do.
type Forge struct {
	*httptest.Server
	Kind Kind
	// Token is the login that is needed; empty is none.
	Token string
	// Page is the most entries that a page has.
	Page int
	// NoMarks leaves ETags out, NoLinks the links to other pages, and BareMarks all other headers where nothing changed.
	NoMarks, NoLinks, BareMarks bool
	Repos                       []Repo
	// Before may answer a request in place of the forge; true is that it did.
	Before func(http.ResponseWriter, *http.Request) bool
	// After may change an answer before it is sent.
	After func(*http.Request, *Answer)

	mu    sync.Mutex
	asked []Asked
}

// Answer is what the forge is about to send.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// New starts a forge; whoever starts it closes it.
func New(kind Kind) *Forge { return start(kind, httptest.NewServer) }

// NewTLS starts a forge that proves itself by a certificate of its own.
func NewTLS(kind Kind) *Forge { return start(kind, httptest.NewTLSServer) }

func start(kind Kind, serve func(http.Handler) *httptest.Server) *Forge {
	f := &Forge{Kind: kind, Page: 100}
	if kind == Gitea {
		f.Page = 50
	}
	f.Server = serve(f)
	return f
}

// Do changes the forge while nobody is being answered.
func (f *Forge) Do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// Asked are the requests since it was last called.
func (f *Forge) Asked() []Asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.asked
	f.asked = nil
	return out
}

// ServeHTTP answers one request after another.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	noted := &noting{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		f.asked = append(f.asked, Asked{
			Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Login: f.login(r), Mark: r.Header.Get("If-None-Match"),
			Status: noted.status,
		})
	}()
	if f.Before != nil && f.Before(noted, r) {
		return
	}
	answer := f.answer(r)
	if f.After != nil {
		f.After(r, &answer)
	}
	if answer.Status == http.StatusOK && !f.NoMarks {
		// It is a mark of the body alone, as most servers make them.
		mark := fmt.Sprintf(`W/"%x"`, sha256.Sum256(answer.Body))
		answer.Header.Set("ETag", mark)
		if r.Header.Get("If-None-Match") == mark {
			answer.Status, answer.Body = http.StatusNotModified, nil
			if f.BareMarks {
				answer.Header = http.Header{"Etag": {mark}}
			}
		}
	}
	maps.Copy(noted.Header(), answer.Header)
	noted.Header().Set("Content-Type", "application/json; charset=utf-8")
	noted.WriteHeader(answer.Status)
	_, _ = noted.Write(answer.Body)
}

type noting struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (n *noting) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

func (f *Forge) login(r *http.Request) string {
	if f.Kind == GitLab {
		return r.Header.Get("PRIVATE-TOKEN")
	}
	return r.Header.Get("Authorization")
}

func (f *Forge) wanted() string {
	switch {
	case f.Token == "":
		return ""
	case f.Kind == GitHub:
		return "Bearer " + f.Token
	case f.Kind == Gitea:
		return "token " + f.Token
	}
	return f.Token
}

func (f *Forge) answer(r *http.Request) Answer {
	if want := f.wanted(); want != "" && f.login(r) != want {
		return refuse(http.StatusUnauthorized, "Bad credentials")
	}
	prefix := map[Kind]string{GitHub: "/api/v3/", GitLab: "/api/v4/", Gitea: "/api/v1/"}[f.Kind]
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	if !ok || r.Method != http.MethodGet {
		return refuse(http.StatusNotFound, "Not Found")
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i], _ = url.PathUnescape(name)
	}
	if f.Kind == GitLab {
		return f.gitlab(r, names)
	}
	return f.hub(r, names)
}

func refuse(status int, message string) Answer {
	body, _ := json.Marshal(map[string]any{"message": message, "documentation_url": "https://docs.example.com"})
	return Answer{Status: status, Header: http.Header{}, Body: body}
}

func one(value any) Answer {
	body, _ := json.Marshal(value)
	return Answer{Status: http.StatusOK, Header: http.Header{}, Body: body}
}

// list answers with the page that is asked for.
func (f *Forge) list(r *http.Request, all []any, noLinks bool) Answer {
	query := r.URL.Query()
	size := f.Page
	for _, key := range []string{"per_page", "limit"} {
		if n, err := strconv.Atoi(query.Get(key)); err == nil && n > 0 {
			size = min(size, n)
		}
	}
	at, _ := strconv.Atoi(query.Get("page"))
	at = max(at, 1)
	last := max((len(all)+size-1)/size, 1)
	from, to := min((at-1)*size, len(all)), min(at*size, len(all))
	shown := slices.DeleteFunc(append([]any{}, all[from:to]...), func(entry any) bool { return entry == nil })
	answer := one(shown)
	if f.Kind == Gitea && len(all) == 0 {
		answer.Body = []byte("null") // as it does for some lists
	}
	total := strconv.Itoa(len(all))
	switch f.Kind {
	case GitLab:
		answer.Header.Set("X-Total", total)
		answer.Header.Set("X-Page", strconv.Itoa(at))
		answer.Header.Set("X-Next-Page", "")
		if at < last {
			answer.Header.Set("X-Next-Page", strconv.Itoa(at+1))
		}
	case Gitea:
		answer.Header.Set("X-Total-Count", total)
	case GitHub:
	}
	if last > 1 && !f.NoLinks && !noLinks {
		answer.Header.Set("Link", links(r, at, last))
	}
	return answer
}

// links are those of a server that does not know by which name it is reached.
func links(r *http.Request, at, last int) string {
	link := func(page int, relation string) string {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(page))
		return fmt.Sprintf(`<https://inside.example.com:8443%s?%s>; rel="%s"`, r.URL.EscapedPath(), query.Encode(), relation)
	}
	var out []string
	if at < last {
		out = append(out, link(at+1, "next"), link(last, "last"))
	}
	if at > 1 {
		out = append(out, link(1, "first"), link(at-1, "prev"))
	}
	return strings.Join(out, ", ")
}
