package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// ear listens to a stream and remembers what it heard.
type ear struct {
	*stage
	path string

	mu    sync.Mutex
	lines []string
	more  chan struct{}
	ended time.Time
}

// listen opens a stream and waits until it has said something.
func (s *stage) listen(path, token string) *ear {
	s.Helper()
	e := &ear{stage: s, path: path, more: make(chan struct{})}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+path, nil)
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := s.client.Do(r) //nolint:bodyclose // who reads it closes it
	s.must(err)
	if response.StatusCode != http.StatusOK {
		s.Fatalf("GET %s: %s", path, response.Status)
	}
	go func() {
		defer response.Body.Close()
		lines := bufio.NewReaderSize(response.Body, 1<<20)
		for {
			line, err := lines.ReadString('\n')
			e.hear(line, err != nil)
			if err != nil {
				return
			}
		}
	}()
	e.await("something", func(lines []string, _ bool) bool { return len(lines) > 0 })
	return e
}

func (e *ear) hear(line string, last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, strings.TrimSpace(line))
	if last {
		e.ended = time.Now()
	}
	close(e.more)
	e.more = make(chan struct{})
}

// await waits until what was heard is as it should be.
func (e *ear) await(what string, holds func(lines []string, ended bool) bool) {
	e.Helper()
	late := time.After(patience)
	for {
		e.mu.Lock()
		ok, more := holds(e.lines, !e.ended.IsZero()), e.more
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-late:
			e.Fatalf("%s did not say %s; it said:\n%s", e.path, what, e.heard())
		}
	}
}

func (e *ear) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.lines, "\n")
}

// says waits for a line with all of the words.
func (e *ear) says(words ...string) {
	e.Helper()
	e.await(fmt.Sprint(words), func(lines []string, _ bool) bool {
		for _, line := range lines {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return true
			}
		}
		return false
	})
}

// devToken makes a token of dev that can be taken away.
func (s *stage) devToken(id string, seconds int) string {
	s.Helper()
	code, body := s.ask(http.MethodPost, "/api/v1/account/dev/token", s.token, fmt.Sprintf(`{"name":"dev","id":%q,"expiresIn":%d}`, id, seconds))
	var out struct{ Token string }
	if code != http.StatusOK || json.Unmarshal(body, &out) != nil || out.Token == "" {
		s.Fatalf("a token for dev: %d %s", code, body)
	}
	return out.Token
}

// giveDev gives dev a password, and signs in with it.
func (s *stage) giveDev() string {
	s.Helper()
	password := "a-password-of-dev"
	code, body := s.ask(http.MethodPut, "/api/v1/account/password", s.token,
		fmt.Sprintf(`{"name":"dev","currentPassword":%q,"newPassword":%q}`, s.initialPassword(), password))
	if code != http.StatusOK {
		s.Fatalf("giving dev a password: %d %s", code, body)
	}
	return s.login("dev", password)
}

// The streams that a caller may have open.
var streams = []string{
	"/api/v1/stream/applications",
	"/api/v1/stream/applications?name=shop",
	"/api/v1/stream/applications/shop/resource-tree",
	"/api/v1/stream/events",
	"/api/v1/applications/shop/logs?follow=true",
	"/api/v1/applications/shop/logs?follow=true&kind=Deployment&resourceName=web",
}

// soon is within which time a stream ends whose caller has no right to it any more.
const soon = 10 * time.Second

// TestStreamsEndWithTheRight: whatever a right to listen rests on, the streams end when it is taken away.
func TestStreamsEndWithTheRight(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.await("shop")
	session := s.giveDev()
	patch := func(name, text string) {
		s.kubectl("", "-n", s.control, "patch", "configmap", name, "--type=merge", "-p", text)
	}
	for _, end := range []struct {
		what  string
		token string
		do    func()
		// restore undoes what was done to others.
		restore func()
	}{
		{
			what: "the right is taken away", token: session,
			do: func() {
				patch("argocd-rbac-cm", `{"data":{"policy.csv":"p, role:other, applications, get, web/*, allow"}}`)
			},
			restore: func() {
				patch("argocd-rbac-cm", `{"data":{"policy.csv":"p, role:web, applications, get, web/*, allow\np, role:web, logs, get, web/*, allow\ng, dev, role:web"}}`)
			},
		},
		{
			what: "the account is disabled", token: s.devToken("disabled", 0),
			do:      func() { patch("argocd-cm", `{"data":{"accounts.dev.enabled":"false"}}`) },
			restore: func() { patch("argocd-cm", `{"data":{"accounts.dev.enabled":null}}`) },
		},
		{
			what: "the token is taken away", token: s.devToken("revoked", 0),
			do: func() {
				if code, body := s.ask(http.MethodDelete, "/api/v1/account/dev/token/revoked", s.token, ""); code != http.StatusOK {
					t.Fatalf("taking the token away: %d %s", code, body)
				}
			},
		},
		{what: "the token expires", do: func() {}},
		{
			what: "the session is ended", token: session,
			do: func() {
				if code, body := s.ask(http.MethodDelete, "/api/v1/session", session, ""); code != http.StatusOK {
					t.Fatalf("signing out: %d %s", code, body)
				}
			},
		},
	} {
		t.Run(end.what, func(t *testing.T) {
			here := *s
			here.T = t
			if end.restore != nil {
				defer end.restore()
			}
			from := time.Now()
			if end.token == "" {
				const lasts = 12
				end.token, from = here.devToken("short", lasts), from.Add(lasts*time.Second)
			}
			here.open(end.token)
			var ears []*ear
			for _, path := range streams {
				ears = append(ears, here.listen(path, end.token))
			}
			end.do()
			if now := time.Now(); now.After(from) {
				from = now
			}
			var slowest time.Duration
			for _, e := range ears {
				e.await("that it ends", func(_ []string, ended bool) bool { return ended })
				took := e.ended.Sub(from)
				slowest = max(slowest, took)
				if took > soon {
					t.Errorf("%s ends after %s", e.path, took)
				}
				if strings.Contains(e.heard(), "vault") {
					t.Errorf("%s tells of what dev may not see:\n%s", e.path, e.heard())
				}
			}
			t.Logf("the last of %d streams ends after %s", len(ears), slowest.Round(time.Millisecond))
		})
	}
}

// open waits until a caller is let in: what was undone before counts a moment later.
func (s *stage) open(token string) {
	s.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		code, body := s.ask(http.MethodGet, "/api/v1/applications/shop", token, "")
		if code == http.StatusOK {
			return
		}
		if time.Now().After(until) {
			s.Fatalf("dev is not let in: %d %s", code, body)
		}
	}
}

// TestStreamsShowWhatOneMaySee: an application that moves out of sight goes away, and comes back when it returns.
func TestStreamsShowWhatOneMaySee(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.await("shop")
	dev := s.giveDev()
	apps, events := s.listen("/api/v1/stream/applications", dev), s.listen("/api/v1/stream/events", dev)
	tree, admin := s.listen("/api/v1/stream/applications/shop/resource-tree", dev), s.listen("/api/v1/stream/applications", s.token)
	apps.says(`"ADDED"`, `"name":"shop"`)
	admin.says(`"ADDED"`, `"name":"vault"`)
	project := func(name string) {
		s.kubectl("", "-n", s.control, "patch", "application", "shop", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"project":%q}}`, name))
	}
	project("default")
	apps.says(`"DELETED"`, `"name":"shop"`)
	events.says(`"DELETED"`, `"name":"shop"`)
	admin.says(`"MODIFIED"`, `"name":"shop"`, `"project":"default"`)
	tree.await("that it ends", func(_ []string, ended bool) bool { return ended })
	s.kubectl("", "-n", s.control, "annotate", "application", "shop", "out-of-sight=yes")
	admin.says("out-of-sight")
	project("web")
	apps.await("that it is back", func(lines []string, _ bool) bool {
		at := len(lines)
		for i, line := range lines {
			if strings.Contains(line, `"DELETED"`) {
				at = i
			}
			if i > at && strings.Contains(line, `"ADDED"`) && strings.Contains(line, `"name":"shop"`) {
				return true
			}
		}
		return false
	})
	for _, e := range []*ear{apps, events, tree} {
		if text := e.heard(); strings.Contains(text, "vault") || strings.Contains(text, `"project":"default"`) {
			t.Errorf("%s tells of what dev may not see:\n%s", e.path, text)
		}
	}
}
