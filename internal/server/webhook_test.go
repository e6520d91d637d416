package server_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/internal/server"
)

// ear hears what is passed on.
type ear struct {
	mu      sync.Mutex
	secrets map[string]secret.Text
	heard   []webhook.Hint
}

func (e *ear) Secrets() *webhook.Secrets {
	s, _ := webhook.ReadSecrets(e.secrets, nil)
	return s
}

func (e *ear) Told(h webhook.Hint) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, h)
	return 0
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

const (
	pushed = `{"ref":"refs/heads/main","repository":{"html_url":"https://github.com/org/repo","default_branch":"main"}}`
	spring = 1_800_000_000
)

func signed(key, body string) []string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return []string{"X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

func listening() (*ear, server.Options) {
	e := &ear{secrets: map[string]secret.Text{"webhook.github.secret": secret.New("s3cret")}}
	o := options(newWorld())
	o.Hooks = e
	return e, o
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestWebhooksAreProvedFirst(t *testing.T) {
	e, o := listening()
	h := newServer(t, o).Handler()
	post := func(body io.Reader, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/webhook", body)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for name, c := range map[string]struct {
		body    io.Reader
		headers []string
		want    int
	}{
		"no signature":      {unread{t}, []string{"X-GitHub-Event", "push"}, http.StatusUnauthorized},
		"an old signature":  {unread{t}, []string{"X-GitHub-Event", "push", "X-Hub-Signature", "sha1=00"}, http.StatusUnauthorized},
		"half a signature":  {unread{t}, []string{"X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256=00"}, http.StatusUnauthorized},
		"another secret":    {strings.NewReader(pushed), signed("another", pushed), http.StatusUnauthorized},
		"another body":      {strings.NewReader(pushed + " "), signed("s3cret", pushed), http.StatusUnauthorized},
		"nobody knows whom": {unread{t}, nil, http.StatusBadRequest},
		"no JSON":           {strings.NewReader("{{"), signed("s3cret", "{{"), http.StatusBadRequest},
		"wrong types":       {strings.NewReader(`{"ref":1}`), signed("s3cret", `{"ref":1}`), http.StatusBadRequest},
	} {
		if w := post(c.body, c.headers...); w.Code != c.want || !strings.Contains(w.Body.String(), `"message":`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if n := e.count(); n != 0 {
		t.Fatalf("%d were passed on", n)
	}
	// A token of a person is asked for by nobody, and a form that GitHub sends is taken.
	if w := post(strings.NewReader(pushed), append(signed("s3cret", pushed), "Content-Type", "text/plain")...); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	want := []webhook.Hint{{
		Provider: webhook.GitHub, Kind: webhook.Push, Proved: true, Places: []string{"github.com/org/repo"},
		Refs: []string{"refs/heads/main"}, Default: "main",
	}}
	if d := cmp.Diff(want, e.heard); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestWebhooksThatComeAgain are passed on once in a while.
func TestWebhooksThatComeAgain(t *testing.T) {
	e, o := listening()
	now := time.Unix(spring, 0)
	o.Now = func() time.Time { return now }
	h := newServer(t, o).Handler()
	for range 500 {
		if w := ask(t, h, http.MethodPost, "/api/webhook", pushed, signed("s3cret", pushed)...); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if n := e.count(); n != 1 {
		t.Errorf("%d were passed on", n)
	}
	now = now.Add(time.Minute)
	ask(t, h, http.MethodPost, "/api/webhook", pushed, signed("s3cret", pushed)...)
	if n := e.count(); n != 2 {
		t.Errorf("%d were passed on", n)
	}
	// What is remembered is bounded, and the newest are.
	for i := range 5000 {
		body := fmt.Sprintf(`{"n":%d,%s`, i, pushed[1:])
		ask(t, h, http.MethodPost, "/api/webhook", body, signed("s3cret", body)...)
		ask(t, h, http.MethodPost, "/api/webhook", body, signed("s3cret", body)...)
	}
	if n := e.count(); n != 5002 {
		t.Errorf("%d were passed on", n)
	}
}

func TestWebhooksAreBounded(t *testing.T) {
	e, o := listening()
	o.Settings = func() server.Settings { return server.Settings{MaxWebhook: 100 << 10} }
	h := newServer(t, o).Handler()
	for size, want := range map[int]int{80 << 10: http.StatusOK, 100 << 10: http.StatusOK, 100<<10 + 1: http.StatusRequestEntityTooLarge} {
		body := pushed + strings.Repeat(" ", size-len(pushed))
		if w := ask(t, h, http.MethodPost, "/api/webhook", body, signed("s3cret", body)...); w.Code != want {
			t.Errorf("%d bytes: %d %s", size, w.Code, w.Body)
		}
		// One that does not say how large it is.
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/webhook", io.MultiReader(strings.NewReader(body)))
		r.ContentLength = -1
		for pair := range strings.SplitSeq("X-GitHub-Event=push,X-Hub-Signature-256="+signed("s3cret", body)[3], ",") {
			name, value, _ := strings.Cut(pair, "=")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%d bytes, unsaid: %d %s", size, w.Code, w.Body)
		}
	}
	if n := e.count(); n != 2 {
		t.Errorf("%d were passed on", n)
	}
}

// TestSlowWebhooksAreDropped: whoever sends bit by bit, or nothing, has his connection closed.
func TestSlowWebhooksAreDropped(t *testing.T) {
	e, o := listening()
	s := newServer(t, o)
	s.SetHookTime(50 * time.Millisecond)
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	for name, headers := range map[string][]string{"signed": signed("s3cret", pushed), "unsigned": {"X-GitHub-Event", "push"}} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", len(pushed))
		for i := 0; i < len(headers); i += 2 {
			fmt.Fprintf(conn, "%s: %s\r\n", headers[i], headers[i+1])
		}
		fmt.Fprint(conn, "\r\n{")
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		reader := bufio.NewReader(conn)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil || answer.StatusCode < 400 || answer.StatusCode >= 500 {
			t.Fatalf("%s: %v %v", name, answer, err)
		}
		defer answer.Body.Close()
		// Nothing that comes later is taken for another request.
		if n, err := io.Copy(io.Discard, io.MultiReader(answer.Body, reader)); err != nil || n == 0 || !answer.Close {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
	if n := e.count(); n != 0 {
		t.Errorf("%d were passed on", n)
	}
}

// TestWebhooksReachTheLeader: another replica proves them, and passes on what they say and not how that was proved.
func TestWebhooksReachTheLeader(t *testing.T) {
	e, o := listening()
	peers := newServer(t, o).Peers(func(r *http.Request) (string, bool) { return "", r.Header.Get("Peer") == "yes" })
	behind, other := listening()
	other.Leading = func() bool { return false }
	passed := 0
	other.Forward = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passed++
		if r.Header.Get("X-Hub-Signature-256") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("the proof is passed on: %v", r.Header)
		}
		r.Header.Set("Peer", "yes")
		peers.ServeHTTP(w, r)
	})
	h := newServer(t, other).Handler()
	for range 3 {
		if w := ask(t, h, http.MethodPost, "/api/webhook", pushed, signed("s3cret", pushed)...); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := ask(t, h, http.MethodPost, "/api/webhook", pushed, signed("another", pushed)...); w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if e.count() != 1 || behind.count() != 0 || passed != 1 || !e.heard[0].Proved {
		t.Errorf("the leader heard %+v, the other %+v, %d were passed on", e.heard, behind.heard, passed)
	}
	// Whoever is no replica is not believed.
	for _, handler := range []http.Handler{peers, h} {
		w := ask(t, handler, http.MethodPost, "/api/webhook", `{"provider":"github","kind":"push","proved":true,"places":["github.com/org/repo"]}`)
		if w.Code != http.StatusBadRequest || e.count() != 1 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// TestAStrangerWhoFloodsDoesNotSilenceOthers, though all come from one address.
func TestAStrangerWhoFloodsDoesNotSilenceOthers(t *testing.T) {
	e, o := listening()
	h := newServer(t, o).Handler()
	for range 2000 {
		if w := ask(t, h, http.MethodPost, "/api/webhook", pushed, "X-GitHub-Event", "push"); w.Code != http.StatusUnauthorized {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := ask(t, h, http.MethodPost, "/api/webhook", pushed, signed("s3cret", pushed)...); w.Code != http.StatusOK || e.count() != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestStrangersAreCounted: where nobody can prove anything, those who come too often wait.
func TestStrangersAreCounted(t *testing.T) {
	_, o := listening()
	e := &ear{}
	o.Hooks = e
	h := newServer(t, o).Handler()
	codes := map[int]int{}
	for i := range 400 {
		codes[ask(t, h, http.MethodPost, "/api/webhook", fmt.Sprintf(`{"n":%d,%s`, i, pushed[1:]), "X-GitHub-Event", "push").Code]++
	}
	if d := cmp.Diff(map[int]int{http.StatusOK: 300, http.StatusTooManyRequests: 100}, codes); d != "" || e.count() != 300 || e.heard[0].Proved {
		t.Errorf("%d were passed on (-want +got)\n%s", e.count(), d)
	}
}

// TestWebhooksOfPanickingReaders do not end the process.
func TestWebhooksOfPanickingReaders(t *testing.T) {
	_, o := listening()
	o.Hooks = exploding{}
	w := ask(t, newServer(t, o).Handler(), http.MethodPost, "/api/webhook", pushed, signed("s3cret", pushed)...)
	if w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type exploding struct{}

func (exploding) Secrets() *webhook.Secrets { return nil }
func (exploding) Told(webhook.Hint) int     { panic("poison") }

func BenchmarkWebhooks(b *testing.B) {
	e := &ear{secrets: map[string]secret.Text{"webhook.github.secret": secret.New("s3cret")}}
	secrets := e.Secrets()
	s, err := server.New(server.Options{Hooks: fixed{secrets}, Verifier: tokens{}, Decider: rules{}})
	if err != nil {
		b.Fatal(err)
	}
	body := pushed + strings.Repeat(" ", 8<<10)
	for name, headers := range map[string][]string{"unsigned": {"X-GitHub-Event", "push"}, "repeated": signed("s3cret", body)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/api/webhook", strings.NewReader(body))
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				s.Handler().ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

type fixed struct{ secrets *webhook.Secrets }

func (f fixed) Secrets() *webhook.Secrets { return f.secrets }
func (fixed) Told(webhook.Hint) int       { return 0 }
