package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/towline-cd/towline/test/workshop"
)

// chromium is a real browser, spoken to by its DevTools protocol.
type chromium struct {
	*stage
	conn *websocket.Conn

	mu      sync.Mutex
	next    int
	answers map[int]chan json.RawMessage
	// loaded gets the address of each page that was loaded.
	loaded chan string
}

// newChromium starts a browser that takes the certificate which towline made for itself.
func (s *stage) newChromium() *chromium {
	s.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		s.Skip("there is no chromium on this machine; the same is done by plain HTTP in TestSignOnByDex")
	}
	// It leaves files behind for a moment when it ends, so that the test's own folder could not be removed.
	dir, err := os.MkdirTemp("", "towline-chromium-")
	s.must(err)
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	log := &journal{lines: make(chan struct{})}
	cmd := exec.CommandContext(context.Background(), program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--ignore-certificate-errors", "--no-first-run", "--remote-debugging-port=0", "--remote-allow-origins=*", "--user-data-dir="+filepath.Join(dir, "data"),
		"about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.Stderr, cmd.SysProcAttr = log, workshop.Bound()
	s.must(cmd.Start())
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	host := log.await(s.T, regexp.MustCompile(`DevTools listening on ws://([^/]+)/`))[1]
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPut, "http://"+host+"/json/new?about:blank", nil)
	s.must(err)
	got, err := http.DefaultClient.Do(r)
	s.must(err)
	defer func() { _ = got.Body.Close() }()
	var page struct{ WebSocketDebuggerURL string }
	s.must(json.NewDecoder(got.Body).Decode(&page))
	c := &chromium{stage: s, answers: map[int]chan json.RawMessage{}, loaded: make(chan string, 100)}
	c.conn, err = websocket.Dial(page.WebSocketDebuggerURL, "", "http://"+host)
	s.must(err)
	s.Cleanup(func() { _ = c.conn.Close() })
	go c.listen()
	c.call("Page.enable", nil)
	return c
}

// listen takes answers and events until the browser ends.
func (c *chromium) listen() {
	for {
		var said struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  json.RawMessage
			Params struct {
				Frame struct{ ParentID, URL string }
			}
		}
		if websocket.JSON.Receive(c.conn, &said) != nil {
			return
		}
		if said.Method == "Page.frameNavigated" && said.Params.Frame.ParentID == "" {
			c.loaded <- said.Params.Frame.URL
		}
		c.mu.Lock()
		to := c.answers[said.ID]
		delete(c.answers, said.ID)
		c.mu.Unlock()
		if to != nil {
			to <- append(said.Result, said.Error...)
		}
	}
}

func (c *chromium) call(method string, params any) json.RawMessage {
	c.Helper()
	c.mu.Lock()
	c.next++
	id, answer := c.next, make(chan json.RawMessage, 1)
	c.answers[id] = answer
	c.mu.Unlock()
	c.must(websocket.JSON.Send(c.conn, map[string]any{"id": id, "method": method, "params": params}))
	select {
	case a := <-answer:
		return a
	case <-time.After(patience):
		c.Fatalf("the browser does not answer %s", method)
		return nil
	}
}

// at waits until the browser is at a page whose address has something.
func (c *chromium) at(part string) {
	c.Helper()
	var seen []string
	late := time.After(patience)
	for {
		select {
		case address := <-c.loaded:
			if seen = append(seen, address); strings.Contains(address, part) {
				return
			}
		case <-late:
			c.Fatalf("the browser did not come to %s; it was at %q: %s", part, seen, c.run("document.documentElement.outerHTML"))
		}
	}
}

// run is the value of a script on the page, which is awaited.
func (c *chromium) run(script string) string {
	c.Helper()
	// A page may not be ready when its address is.
	script = "(async()=>{while(document.readyState!=='complete')await new Promise(r=>addEventListener('load',r,{once:true}));return String(await (" + script + "))})()"
	var out struct {
		Result           struct{ Value string }
		ExceptionDetails json.RawMessage
	}
	answer := c.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	c.must(json.Unmarshal(answer, &out))
	if out.ExceptionDetails != nil {
		c.Fatalf("%s: %s", script, answer)
	}
	return out.Result.Value
}

// click goes by something on the page.
func (c *chromium) click(selector string) {
	c.Helper()
	c.run(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// TestABrowserSignsOn does it with a real one: its rules on cookies, forms and redirects hold.
func TestABrowserSignsOn(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	c := s.newChromium()
	s.withDex("1h")
	status := func(path string) string { return c.run("fetch(" + fmt.Sprintf("%q", path) + ").then(r=>r.status)") }
	c.call("Page.navigate", map[string]any{"url": s.base + "/auth/login?return_url=/api/v1/session/userinfo"})
	c.at("/api/dex/auth")
	c.click(`a[href*="/auth/mock"]`)
	c.at("/api/v1/session/userinfo")
	if page := c.run("document.body.innerText"); !strings.Contains(page, `"groups":["authors"]`) {
		t.Errorf("the browser ends with %s", page)
	}
	if got := status("/api/v1/applications/shop"); got != "200" {
		t.Errorf("what authors may see: %s", got)
	}
	if got := status("/api/v1/applications/vault"); got != "403" {
		t.Errorf("what authors may not see: %s", got)
	}
	if got := c.run("document.cookie"); got != "" {
		t.Errorf("a script of the page can read %s", got)
	}
	c.call("Page.navigate", map[string]any{"url": s.base + "/auth/logout"})
	c.at(s.base + "/")
	if got := status("/api/v1/applications/shop"); got != "401" {
		t.Errorf("after signing out: %s", got)
	}
	// Somebody in no group, by a form.
	c.call("Page.navigate", map[string]any{"url": s.base + "/auth/login?return_url=/api/v1/session/userinfo"})
	c.at("/api/dex/auth")
	c.click(`a[href*="/auth/stranger"]`)
	c.at("/login")
	c.run(`(document.querySelector('input[name=login]').value='stranger',document.querySelector('input[name=password]').value='open-sesame',` +
		`document.querySelector('form').submit())`)
	c.at("/api/v1/session/userinfo")
	if page := c.run("document.body.innerText"); !strings.Contains(page, `"loggedIn":true`) || strings.Contains(page, "authors") {
		t.Errorf("a stranger ends with %s", page)
	}
	if got := status("/api/v1/applications/shop"); got != "403" {
		t.Errorf("a stranger sees an application: %s", got)
	}
	// The command line, with this browser: it comes back to a port of this machine, which the form must not be held from.
	p := s.newPlayer("towline")
	p.signed()
	login := p.background("login", p.vars["SERVER"], "--sso", "--sso-port", s.freePort(), "--sso-launch-browser=false", "--insecure")
	c.call("Page.navigate", map[string]any{"url": login.address()})
	c.at("/api/dex/auth")
	c.click(`a[href*="/auth/mock"]`)
	c.at("localhost")
	login.ends()
	out, code := p.sh("towline account get-user-info")
	if code != 0 || !strings.Contains(out, "Groups: authors") {
		t.Errorf("the command line is %s", out)
	}
}
