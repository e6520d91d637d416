package channel_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/internal/herald/channel"
)

// post is a mail server: it speaks SMTP, with STARTTLS and logins, and keeps what it takes.
type post struct {
	listener net.Listener
	config   *tls.Config
	offers   []string
	// refuses is what it says to a command in place of yes.
	refuses map[string]string

	said []string
	mail string
	done chan struct{}
}

func openPost(t *testing.T, offers ...string) *post {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certified.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{
		listener: l, config: &tls.Config{Certificates: certified.TLS.Certificates}, offers: offers, refuses: map[string]string{},
		done: make(chan struct{}),
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		defer close(p.done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.serve(conn)
	}()
	return p
}

func (p *post) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 post")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		p.said = append(p.said, line)
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		if no, ok := p.refuses[verb]; ok {
			say("%s", no)
			continue
		}
		switch verb {
		case "EHLO":
			say("250-post")
			for _, o := range p.offers {
				say("250-%s", o)
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go on")
			secured := tls.Server(conn, p.config)
			conn, in = secured, bufio.NewReader(secured)
		case "AUTH":
			if strings.HasSuffix(line, "LOGIN") {
				for _, asks := range []string{"Username:", "Password:"} {
					say("334 %s", base64.StdEncoding.EncodeToString([]byte(asks)))
					answer, _ := in.ReadString('\n')
					text, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(answer))
					p.said = append(p.said, string(text))
				}
			}
			say("235 welcome")
		case "DATA":
			say("354 go on")
			var text bytes.Buffer
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					// Without its last line a mail is none.
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(strings.TrimPrefix(line, "."))
			}
			p.mail = text.String()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (p *post) options(more o) o {
	out := o{"host": "127.0.0.1", "port": fmt.Sprint(p.listener.Addr().(*net.TCPAddr).Port), "from": "Towline <towline@example.com>", "insecure_skip_verify": true}
	maps.Copy(out, more)
	return out
}

// TestMail hands a mail over, encrypted and signed in, in a form that mail programs read.
func TestMail(t *testing.T) {
	p := openPost(t, "STARTTLS", "AUTH LOGIN")
	body := "grüße – line one\n.\n" + strings.Repeat("long ", 40)
	m := channel.Message{Content: notice.Content{Message: "not this", Part: o{"subject": "Ümläut\r\nBcc: x@example.com", "body": body}}}
	m.To.Recipient = "a@example.com, Bea <b@example.com>"
	if err := send(t, "email", p.options(o{"username": "u", "password": "p", "html": true}), m); err != nil {
		t.Fatal(err)
	}
	<-p.done
	heard := strings.Join(p.said, "\n")
	for _, want := range []string{
		"STARTTLS", "AUTH LOGIN\nu\np", "MAIL FROM:<towline@example.com>", "RCPT TO:<a@example.com>", "RCPT TO:<b@example.com>",
	} {
		if !strings.Contains(heard, want) {
			t.Errorf("it did not say %q:\n%s", want, heard)
		}
	}
	read, err := mail.ReadMessage(strings.NewReader(p.mail))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.mail)
	}
	for name, want := range map[string]string{
		"Message-Id": "<id-1@example.com>", "Content-Type": "text/html; charset=utf-8", "Date": "Thu, 01 Jan 2026 12:00:00 +0000", "Bcc": "",
	} {
		if got := read.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if list, err := read.Header.AddressList("To"); err != nil || len(list) != 2 {
		t.Errorf("it is to %v: %v", list, err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(read.Body))
	if got := strings.ReplaceAll(strings.TrimRight(string(text), "\r\n"), "\r\n", "\n"); err != nil || got != body {
		t.Errorf("it says %q, not %q: %v", got, body, err)
	}
}

// TestMailRefusals tells a server that is busy from one that does not want the mail, and gives no password to anybody who
// listens.
func TestMailRefusals(t *testing.T) {
	tests := map[string]struct {
		offers  []string
		refuses map[string]string
		more    o
		class   fault.Class
		want    string
	}{
		"busy":              {refuses: map[string]string{"RCPT": "451 later"}, class: fault.Transient, want: "451 \"later\""},
		"unwanted":          {refuses: map[string]string{"RCPT": "550 no such user"}, class: fault.Terminal, want: "550 \"no such user\""},
		"wrong password":    {offers: []string{"AUTH PLAIN"}, refuses: map[string]string{"AUTH": "535 no"}, more: o{"username": "u", "password": "hush"}, class: fault.Terminal, want: "535 \"no\""},
		"in the open":       {offers: []string{"AUTH LOGIN"}, more: o{"username": "u", "password": "hush"}, class: fault.Transient, want: "unencrypted"},
		"takes no login":    {more: o{"username": "u", "password": "hush"}, class: fault.Terminal, want: "takes no login"},
		"unknown authority": {offers: []string{"STARTTLS"}, more: o{"insecure_skip_verify": false}, class: fault.Transient, want: "certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := openPost(t, test.offers...)
			p.refuses = test.refuses
			m := channel.Message{To: notice.Destination{Recipient: "a@example.com"}}
			err := send(t, "email", p.options(test.more), m)
			if err == nil || !strings.Contains(err.Error(), test.want) || fault.ClassOf(err) != test.class || strings.Contains(err.Error(), "hush") {
				t.Errorf("it says %v (%v)", err, fault.ClassOf(err))
			}
			_ = p.listener.Close()
			<-p.done
			if heard := strings.Join(p.said, "\n"); strings.Contains(heard, "hush") || p.mail != "" {
				t.Errorf("the server heard %s", heard)
			}
		})
	}
}
