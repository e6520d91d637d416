package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// eventually waits for something that nothing tells of.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it does not come: %s", what)
		}
	}
}

// surfer goes from page to page as a browser does.
type surfer struct {
	*stage
	jar    http.CookieJar
	client *http.Client
	// at is where it is, and page what it sees.
	at     *url.URL
	page   string
	status int
	header http.Header
}

func (s *stage) newSurfer() *surfer {
	s.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	return &surfer{stage: s, jar: jar, client: &http.Client{Jar: jar, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is made at each start
	}}}
}

func (b *surfer) do(r *http.Request, err error) {
	b.Helper()
	b.must(err)
	got, err := b.client.Do(r)
	b.must(err)
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	b.must(err)
	b.at, b.page, b.status, b.header = got.Request.URL, string(body), got.StatusCode, got.Header
}

func (b *surfer) open(address string) {
	b.Helper()
	b.do(http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil))
}

// follow goes by the link to an address that begins so.
func (b *surfer) follow(path string) {
	b.Helper()
	for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(b.page, -1) {
		to, err := b.at.Parse(html.UnescapeString(m[1]))
		if err == nil && strings.HasPrefix(to.Path, path) {
			b.open(to.String())
			return
		}
	}
	b.Fatalf("there is no link to %s at %s:\n%s", path, b.at, b.page)
}

// submit sends the form of the page.
func (b *surfer) submit(fields url.Values) {
	b.Helper()
	to := b.at
	if m := regexp.MustCompile(`<form[^>]* action="([^"]*)"`).FindStringSubmatch(b.page); m != nil && m[1] != "" {
		next, err := b.at.Parse(html.UnescapeString(m[1]))
		b.must(err)
		to = next
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, to.String(), strings.NewReader(fields.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
	}
	b.do(r, err)
}

// cookie is one that the browser has for the server.
func (b *surfer) cookie(name string) string {
	b.Helper()
	base, err := url.Parse(b.base)
	b.must(err)
	for _, c := range b.jar.Cookies(base) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// who is whom the server takes the browser for.
func (b *surfer) who() (who struct {
	LoggedIn bool
	Username string
	Issuer   string `json:"iss"`
	Groups   []string
},
) {
	b.Helper()
	b.open(b.base + "/api/v1/session/userinfo")
	b.must(json.Unmarshal([]byte(b.page), &who))
	return who
}

// may asks the server whether the browser may do something, and does it.
func (b *surfer) may(app string) int {
	b.Helper()
	b.open(b.base + "/api/v1/applications/" + app)
	return b.status
}

// TestSignOnByDex signs in at a real Dex that runs beside, with a browser that is plain HTTP.
func TestSignOnByDex(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.withDex("1h")
	b := s.newSurfer()
	b.open(s.base + "/auth/login?return_url=" + url.QueryEscape(s.base+"/api/v1/session/userinfo"))
	b.follow("/api/dex/auth/mock")
	if b.at.Path != "/api/v1/session/userinfo" || !strings.Contains(b.page, `"authors"`) {
		t.Fatalf("signing in ended at %s with %s", b.at, b.page)
	}
	who := b.who()
	if !who.LoggedIn || who.Username != "kilgore@kilgore.trout" || who.Issuer != s.base+"/api/dex" || !slices.Equal(who.Groups, []string{"authors"}) {
		t.Errorf("the server takes them for %+v", who)
	}
	if got := b.may("shop"); got != http.StatusOK {
		t.Errorf("what authors may see: %d %s", got, b.page)
	}
	if got := b.may("vault"); got != http.StatusForbidden {
		t.Errorf("what authors may not see: %d %s", got, b.page)
	}
	token := b.cookie("argocd.token")
	if code, body := s.ask(http.MethodGet, "/api/v1/applications/shop", token, ""); code != http.StatusOK {
		t.Errorf("the same token in a header: %d %s", code, body)
	}
	if code, body := s.ask(http.MethodPost, "/api/v1/applications/shop/sync", token, "{}"); code != http.StatusForbidden {
		t.Errorf("what authors may not do: %d %s", code, body)
	}
	s.t(t).strangers()
	s.t(t).replays(b)

	// A right that is taken away is gone for those who are in.
	s.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-rbac-cm, namespace: " + s.control + "}\ndata: {policy.csv: 'g, others, role:admin'}\n")
	eventually(t, "the group has no rights any more", func() bool { return b.may("shop") == http.StatusForbidden })

	sealed := b.cookie("towline.refresh")
	b.open(s.base + "/auth/logout")
	if b.cookie("argocd.token") != "" || b.cookie("towline.refresh") != "" || b.who().LoggedIn {
		t.Errorf("after signing out the browser has a session: %+v", b.who())
	}
	if code, _ := s.ask(http.MethodGet, "/api/v1/applications", token, ""); code != http.StatusUnauthorized {
		t.Errorf("after signing out the token is good: %d", code)
	}
	if sealed == "" {
		t.Error("there was nothing for the session to go on by")
	}
	for _, text := range []string{token, sealed, "open-sesame"} {
		if strings.Contains(s.log.String(), text) {
			t.Errorf("the log has %s", text)
		}
	}
}

// t is the stage for another test.
func (s *stage) t(t *testing.T) *stage {
	here := *s
	here.T = t
	return &here
}

// strangers: somebody whom Dex knows, and who is in no group, sees nothing; and who has no password does not come in.
func (s *stage) strangers() {
	s.Helper()
	b := s.newSurfer()
	b.open(s.base + "/auth/login")
	b.follow("/api/dex/auth/stranger")
	b.submit(url.Values{"login": {"stranger"}, "password": {"guess"}})
	if b.cookie("argocd.token") != "" {
		s.Fatal("somebody came in with a wrong password")
	}
	b.submit(url.Values{"login": {"stranger"}, "password": {"open-sesame"}})
	if who := b.who(); !who.LoggedIn || len(who.Groups) != 0 {
		s.Errorf("a stranger is taken for %+v; the last page was %s", who, b.at)
	}
	if got := b.may("shop"); got != http.StatusForbidden {
		s.Errorf("a stranger sees an application: %d %s", got, b.page)
	}
}

// replays: an answer of the provider takes one browser in, once.
func (s *stage) replays(in *surfer) {
	s.Helper()
	for _, bad := range []string{"https://evil.example.com/", "//evil.example.com", "javascript:alert(1)"} {
		b := s.newSurfer()
		b.open(s.base + "/auth/login?return_url=" + url.QueryEscape(bad))
		if b.status != http.StatusBadRequest || b.cookie("argocd.oauthstate") != "" {
			s.Errorf("return_url=%s: %d at %s", bad, b.status, b.at)
		}
	}
	b := s.newSurfer()
	var answer *url.URL
	b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/auth/callback" {
			answer = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.open(s.base + "/auth/login")
	b.follow("/api/dex/auth/mock")
	if answer == nil {
		s.Fatalf("nobody came back: %s", b.at)
	}
	thief := s.newSurfer()
	thief.open(s.base + "/auth/login")
	thief.open(answer.String())
	if thief.status != http.StatusBadRequest && thief.status != http.StatusUnauthorized || thief.cookie("argocd.token") != "" {
		s.Errorf("another browser with the same answer: %d %s", thief.status, thief.page)
	}
	base, err := url.Parse(s.base)
	s.must(err)
	kept := b.jar.Cookies(base)
	b.client.CheckRedirect = nil
	b.open(answer.String())
	if b.cookie("argocd.token") == "" {
		s.Fatalf("the browser that asked: %d %s", b.status, b.page)
	}
	again := s.newSurfer()
	again.jar.SetCookies(base, kept)
	again.open(answer.String())
	if again.cookie("argocd.token") != "" || again.status == http.StatusOK {
		s.Errorf("the same answer again: %d %s", again.status, again.page)
	}
	_ = in
}

// TestSessionsOfDexGoOn has tokens that end within seconds: a browser does not notice.
func TestSessionsOfDexGoOn(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.withDex("4s")
	b := s.newSurfer()
	b.open(s.base + "/auth/login")
	b.follow("/api/dex/auth/mock")
	first := b.cookie("argocd.token")
	if first == "" {
		t.Fatalf("signing in ended at %s: %s", b.at, b.page)
	}
	eventually(t, "the token ends", func() bool {
		code, _ := s.ask(http.MethodGet, "/api/v1/applications", first, "")
		return code == http.StatusUnauthorized
	})
	if who := b.who(); !who.LoggedIn || !slices.Equal(who.Groups, []string{"authors"}) || b.cookie("argocd.token") == first {
		t.Errorf("after the end of the token the browser is %+v", who)
	}
	// What was ended does not go on, whoever kept the cookie.
	base, err := url.Parse(s.base)
	s.must(err)
	kept := b.jar.Cookies(base)
	b.open(s.base + "/auth/logout")
	thief := s.newSurfer()
	thief.jar.SetCookies(base, kept)
	eventually(t, "the token ends", func() bool { return !thief.who().LoggedIn })
	time.Sleep(4 * time.Second)
	if who := thief.who(); who.LoggedIn {
		t.Errorf("an ended session goes on as %+v", who)
	}
}

// cli is a command of somebody with a home of their own.
type cli struct {
	*player
	out *journal
	in  io.WriteCloser
	cmd *exec.Cmd
}

// background starts a command.
func (p *player) background(args ...string) *cli {
	p.Helper()
	c := &cli{player: p, out: &journal{lines: make(chan struct{})}}
	c.cmd = exec.CommandContext(p.Context(), binary, args...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.Dir = c.out, c.out, p.dir
	for k, v := range p.vars {
		c.cmd.Env = append(c.cmd.Env, k+"="+v)
	}
	var err error
	c.in, err = c.cmd.StdinPipe()
	p.must(err)
	p.must(c.cmd.Start())
	return c
}

// address is where the command sends somebody.
func (c *cli) address() string {
	c.Helper()
	return c.out.await(c.T, regexp.MustCompile(`(https://\S+/api/dex/auth\?\S+)`))[1]
}

func (c *cli) ends() {
	c.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	select {
	case err := <-done:
		if err != nil {
			c.Fatalf("%s: %v\n%s", c.cmd, err, c.out)
		}
	case <-ctx.Done():
		c.Fatalf("%s does not end:\n%s", c.cmd, c.out)
	}
}

// TestCommandLineSignsOn signs in with the command line: by a browser on the same machine, and by what is pasted from
// one elsewhere; and goes on when the token ends.
func TestCommandLineSignsOn(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	s.withDex("4s")
	p := s.newPlayer("towline")
	p.signed()
	says := func(line string, want ...string) {
		t.Helper()
		out, code := p.sh(line)
		for _, w := range want {
			if code != 0 || !regexp.MustCompile("(?m)"+w).MatchString(out) {
				t.Errorf("%s: %d, without %s:\n%s", line, code, w, out)
			}
		}
	}
	config := func() string { out, _ := p.sh("cat $HOME/.config/argocd/config"); return out }
	for _, way := range []string{"browser", "paste"} {
		login := p.background("login", p.vars["SERVER"], "--sso", "--sso-port", s.freePort(), "--sso-launch-browser=false", "--insecure")
		b := s.newSurfer()
		if way == "paste" {
			b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
				if r.URL.Hostname() == "localhost" {
					_, _ = io.WriteString(login.in, "nonsense?code=x&state=y\n"+r.URL.String()+"\n")
					return http.ErrUseLastResponse
				}
				return nil
			}
		}
		b.open(login.address())
		b.follow("/api/dex/auth/mock")
		login.ends()
		if text := login.out.String(); !strings.Contains(text, "'kilgore@kilgore.trout' logged in successfully") {
			t.Errorf("%s: %s", way, text)
		}
		says("towline account get-user-info", "^Username: kilgore@kilgore.trout$", "^Groups: authors$", "^Issuer: "+regexp.QuoteMeta(s.base)+"/api/dex$")
		says("towline account can-i get applications web/shop", "^yes$")
		says("towline account can-i sync applications web/shop", "^no$")
		says("towline app get shop", "shop")
	}
	before := config()
	if !strings.Contains(before, "refresh-token: ") {
		t.Errorf("the file has nothing for the login to go on by:\n%s", before)
	}
	time.Sleep(4 * time.Second)
	says("towline account get-user-info", "^Groups: authors$")
	if bytes.Equal([]byte(before), []byte(config())) {
		t.Error("the login did not go on")
	}
	relogin := p.background("relogin", "--sso-port", s.freePort(), "--sso-launch-browser=false")
	b := s.newSurfer()
	b.open(relogin.address())
	b.follow("/api/dex/auth/mock")
	relogin.ends()
	says("towline account get-user-info", "^Groups: authors$")
	says("towline logout "+p.vars["SERVER"], "Logged out")
	if after := config(); strings.Contains(after, "token:") {
		t.Errorf("after signing out the file has a login:\n%s", after)
	}
}
