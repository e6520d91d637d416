package channel_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/address"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/core/secret"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// handed sends a message, and answers the question whether it may leave.
func handed(t *testing.T, kind string, options o, may error, ways channel.Options) (asked int, err error) {
	t.Helper()
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	ways.Reach = address.Local
	c, err := channel.Open(notice.Service{Name: "svc", Type: kind, Options: secret.New(string(raw))}, ways)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ctx = channel.WithHanding(ctx, func(context.Context) error {
		asked++
		return may
	})
	m := channel.Message{Content: notice.Content{Message: "hello"}, To: notice.Destination{Service: "svc", Recipient: "a@example.com"}, ID: "id-1", At: due}
	err = c.Send(ctx, m)
	return asked, err
}

var errStay = errors.New("stay")

// TestHandedOverWhenAsked: a message leaves when it was asked for and not before, and what carries nothing of it goes ahead.
func TestHandedOverWhenAsked(t *testing.T) {
	login := `{"data": {"authToken": "T", "userId": "U"}}`
	for _, test := range []struct {
		kind    string
		options func(at string) o
		ahead   int
	}{
		{"webhook", func(at string) o { return o{"url": at} }, 0},
		{"slack", func(at string) o { return o{"token": "t", "apiURL": at} }, 0},
		{"telegram", func(at string) o { return o{"token": "t", "apiURL": at} }, 0},
		{"rocketchat", func(at string) o { return o{"serverUrl": at, "email": "e", "password": "p"} }, 1},
	} {
		t.Run(test.kind, func(t *testing.T) {
			h := open(t)
			h.answers["POST /api/v1/login"], h.answers["POST /api/v1/chat.postMessage"] = login, `{"success": true}`
			h.answers["POST /chat.postMessage"], h.answers["POST /bott/sendMessage"] = `{"ok": true}`, `{"ok": true}`
			asked, err := handed(t, test.kind, test.options(h.URL), errStay, channel.Options{})
			if !errors.Is(err, errStay) || asked != 1 || len(h.asked) != test.ahead {
				t.Errorf("it was asked %d times and says %v; the service got %q", asked, err, h.asked)
			}
			asked, err = handed(t, test.kind, test.options(h.URL), nil, channel.Options{})
			if err != nil || asked != 1 || len(h.asked) != 2*test.ahead+1 {
				t.Errorf("it was asked %d times and says %v; the service got %q", asked, err, h.asked)
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		if asked, err := handed(t, "webhook", o{"url": "http://127.0.0.1:1"}, nil, channel.Options{}); err == nil || asked != 0 {
			t.Errorf("it was asked %d times and says %v", asked, err)
		}
	})
}

// TestMailCanBeTakenBack: a mail server has a mail when its last line came.
func TestMailCanBeTakenBack(t *testing.T) {
	for may, want := range map[error]bool{errStay: false, nil: true} {
		p := openPost(t)
		asked, err := handed(t, "email", p.options(nil), may, channel.Options{})
		<-p.done
		if asked != 1 || (err == nil) != want || (p.mail != "") != want || !strings.Contains(strings.Join(p.said, "\n"), "RCPT TO:<a@example.com>") {
			t.Errorf("it was asked %d times and says %v; the server has %q", asked, err, p.mail)
		}
	}
}

// TestHandedOverByOtherWays goes by TLS with an authority of ours, and by a proxy.
func TestHandedOverByOtherWays(t *testing.T) {
	var got string
	take := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Host + " " + r.URL.Path + " " + string(body)
	})
	t.Run("TLS", func(t *testing.T) {
		s := httptest.NewTLSServer(take)
		t.Cleanup(s.Close)
		authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
		if asked, err := handed(t, "webhook", o{"url": s.URL + "/in"}, nil, channel.Options{}); err == nil || asked != 0 {
			t.Errorf("a server that nobody trusts: asked %d times, %v", asked, err)
		}
		trust := channel.Options{Certificates: func(string) []string { return []string{authority} }}
		asked, err := handed(t, "webhook", o{"url": s.URL + "/in"}, nil, trust)
		if want := strings.TrimPrefix(s.URL, "https://") + " /in hello"; err != nil || asked != 1 || got != want {
			t.Errorf("asked %d times, %v; it got %q, not %q", asked, err, got, want)
		}
	})
	t.Run("proxy", func(t *testing.T) {
		s := httptest.NewServer(take)
		t.Cleanup(s.Close)
		at, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		by := channel.Options{Proxy: func(*http.Request) (*url.URL, error) { return at, nil }}
		asked, err := handed(t, "webhook", o{"url": "http://hook.example.com/in"}, nil, by)
		if want := "hook.example.com /in hello"; err != nil || asked != 1 || got != want {
			t.Errorf("asked %d times, %v; it got %q, not %q", asked, err, got, want)
		}
	})
}
