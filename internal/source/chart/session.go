package chart

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/source/web"
)

// session is the token that a registry let us have for one repository.
type session struct {
	mu      sync.Mutex
	header  string
	expires time.Time
}

func (l *session) get(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.header != "" && now.Before(l.expires) {
		return l.header
	}
	return ""
}

func (l *session) set(header string, expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.header, l.expires = header, expires
}

// caller speaks with the registry of a place. It is the HTTP client that oras uses: signing in is ours, because where a
// password may go is.
type caller struct {
	store *Store
	place place
	login *session
}

// Do sends a request, and again if the registry wants to know who asks.
func (c *caller) Do(request *http.Request) (*http.Response, error) {
	if request.Body != nil && request.Body != http.NoBody {
		return nil, errors.New("a registry is only read")
	}
	ask := web.Request{
		Method: request.Method, URL: request.URL.String(), Header: request.Header, NoLogin: true,
		Authorization: c.login.get(c.store.now()),
	}
	if ask.Authorization == "" {
		ask.Authorization = c.first()
	}
	answer, err := c.store.client.Do(request.Context(), c.place.party, ask)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusUnauthorized {
		if ask.Authorization, err = c.answerTo(request.Context(), answer); err != nil {
			return nil, err
		}
		if ask.Authorization != "" {
			_ = answer.Body.Close()
			if answer, err = c.store.client.Do(request.Context(), c.place.party, ask); err != nil {
				return nil, err
			}
		}
	}
	answer.Request = request
	if answer.StatusCode == http.StatusNotFound {
		return answer.Response, nil
	}
	return answer.Response, web.Check("asking "+c.place.shown, c.place.party, answer)
}

// first is a login that is sent without having been asked for.
func (c *caller) first() string {
	entry := c.place.party.Entry
	if !entry.BearerToken.Empty() {
		return web.Login(entry)
	}
	if entry.ForceBasicAuth {
		return web.Basic(entry)
	}
	return ""
}

// answerTo gets what a registry wants to see; "" if there is nothing to show.
func (c *caller) answerTo(ctx context.Context, refusal web.Answer) (string, error) {
	scheme, parameters := challenge(refusal.Header.Values("WWW-Authenticate"))
	if scheme == "basic" {
		header := web.Basic(c.place.party.Entry)
		if header != "" {
			c.login.set(header, c.store.now().Add(time.Hour))
		}
		return header, nil
	}
	if scheme != "bearer" {
		return "", nil
	}
	return c.token(ctx, refusal.Reach, parameters)
}

// token asks the service that the registry names for a token. Many registries have theirs on another host. The password
// goes there encrypted, or to the host of a registry that is itself not encrypted; and not to an address that is nearer
// to us than the registry is.
func (c *caller) token(ctx context.Context, registry web.Reach, parameters map[string]string) (string, error) {
	realm, err := web.Parse(parameters["realm"])
	if err != nil {
		return "", fault.Terminalf("RealmRefused", "signing in to %s: the registry names no service to sign in with", c.place.shown)
	}
	home := c.place.party.URL
	entry, plain := c.place.party.Entry, realm.Scheme == "http"
	party := web.Party{URL: realm, Reach: registry, Entry: repository.Repository{
		URL: entry.URL, Project: entry.Project, Username: entry.Username, Password: entry.Password,
		Proxy: entry.Proxy, NoProxy: entry.NoProxy,
	}}
	sameHost := strings.EqualFold(realm.Hostname(), home.Hostname())
	if plain && (home.Scheme == "https" || !sameHost && web.Basic(entry) != "") {
		return "", fault.Terminalf("RealmRefused", "signing in to %s: the registry wants the login sent to %s, which is not encrypted",
			c.place.shown, web.Shown(realm))
	}
	other, registered := c.store.client.Entry(parameters["realm"], entry.Project)
	switch {
	case sameHost:
		party.Reach = c.place.party.Reach
		party.Entry.Insecure, party.Entry.TLSClientCert, party.Entry.TLSClientKey = entry.Insecure, entry.TLSClientCert, entry.TLSClientKey
	case registered:
		party.Reach, party.Entry.Insecure = web.Local, other.Insecure
	}
	query := realm.Query()
	if service := parameters["service"]; service != "" {
		query.Set("service", service)
	}
	scope := parameters["scope"]
	if scope == "" {
		scope = "repository:" + c.place.ref.Repository + ":pull"
	}
	query.Set("scope", scope)
	realm.RawQuery = query.Encode()
	return c.askForToken(ctx, party, realm)
}

func (c *caller) askForToken(ctx context.Context, party web.Party, realm *url.URL) (string, error) {
	ask := web.Request{URL: realm.String(), Authorization: web.Basic(party.Entry), NoLogin: true}
	data, err := c.store.get(ctx, party, ask, "signing in to "+c.place.shown+" at "+web.Shown(realm), 1<<20)
	if err != nil {
		return "", err
	}
	var got struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Token == "" && got.AccessToken == "" {
		return "", fault.Transientf("RepositoryFailed", "signing in to %s: %s gave no token", c.place.shown, web.Shown(realm))
	}
	if got.Token == "" {
		got.Token = got.AccessToken
	}
	header := "Bearer " + got.Token
	// A token that says nothing of its end is good for a minute; one is let go of a little before.
	lasts := time.Duration(min(max(got.ExpiresIn, 60), 3600)) * time.Second
	c.login.set(header, c.store.now().Add(lasts-10*time.Second))
	return header, nil
}

// challenge reads what a server wants: a scheme in small letters and its parameters. A token is preferred.
func challenge(headers []string) (scheme string, parameters map[string]string) {
	for _, header := range headers {
		name, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
		name = strings.ToLower(name)
		if name == "bearer" {
			return name, challengeParameters(rest)
		}
		if name == "basic" {
			scheme = name
		}
	}
	return scheme, nil
}

func challengeParameters(text string) map[string]string {
	found := map[string]string{}
	for text = strings.TrimLeft(text, ", "); text != ""; text = strings.TrimLeft(text, ", ") {
		key, rest, ok := strings.Cut(text, "=")
		if !ok {
			break
		}
		var value string
		if quoted, isQuoted := strings.CutPrefix(rest, `"`); isQuoted {
			value, text, _ = strings.Cut(quoted, `"`)
		} else {
			value, text, _ = strings.Cut(rest, ",")
		}
		found[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	return found
}
