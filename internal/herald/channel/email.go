package channel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

type emailOptions struct {
	Host     string `json:"host"`
	Port     number `json:"port"`
	Username string `json:"username"`
	Password string `json:"password"`
	From     string `json:"from"`
	HTML     bool   `json:"html"`
	Insecure bool   `json:"insecure_skip_verify"`
}

type emailPart struct {
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

type email struct {
	options emailOptions
	ways    Options
}

// portOfTLS is where a server speaks TLS from the first byte on.
const portOfTLS = 465

func newEmail(options emailOptions, o Options) (Channel, error) {
	switch {
	case options.Host == "":
		return nil, errors.New("it has no host")
	case options.From == "":
		return nil, errors.New("it has no from, the address that messages come from")
	}
	if options.Port == 0 {
		options.Port = 587
	}
	return &email{options, o}, nil
}

// Send hands a message to the mail server.
func (e *email) Send(ctx context.Context, m Message) error {
	part, err := partOf[emailPart](m)
	if err != nil {
		return err
	}
	from, err := mail.ParseAddress(e.options.From)
	if err != nil {
		return fault.Terminalf("ServiceRefused", "from is not an address: %v", err)
	}
	to, err := mail.ParseAddressList(m.To.Recipient)
	if err != nil {
		return fault.Terminalf("RecipientRefused", "the recipient %q is not an address: %v", m.To.Recipient, err)
	}
	text, err := e.compose(m, part, from)
	if err != nil {
		return fault.Terminalf("TemplateRefused", "writing the message: %w", err)
	}
	client, err := e.dial(ctx)
	if err != nil {
		return mailFault(err)
	}
	defer func() { _ = client.Close() }()
	if err := hand(ctx, client, envelope{from, to}, text); err != nil {
		return mailFault(err)
	}
	// The message is taken; that the server does not say goodbye changes nothing.
	_ = client.Quit()
	return nil
}

// mailFault tells the errors that go away from the others: a server says so by its code.
func mailFault(err error) error {
	if said, ok := errors.AsType[*textproto.Error](err); ok && said.Code >= 500 {
		return fault.Terminalf("Refused", "the mail server says %w", err)
	}
	if _, decided := errors.AsType[*fault.Error](err); decided {
		return err
	}
	return fault.Transientf("Unreachable", "the mail server: %w", err)
}

// compose writes the message. Its id is the same each time, so that mailboxes that can tell show it once.
func (e *email) compose(m Message, part emailPart, from *mail.Address) ([]byte, error) {
	kind := "text/plain"
	if e.options.HTML {
		kind = "text/html"
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	var out bytes.Buffer
	for _, line := range [][2]string{
		{"From", from.String()},
		{"To", strings.Join(strings.Fields(m.To.Recipient), " ")},
		{"Subject", mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(part.Subject), " "))},
		{"Date", m.At.UTC().Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%s@%s>", m.ID, cmp.Or(domain, "towline"))},
		{"MIME-Version", "1.0"},
		{"Content-Type", kind + "; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&out, "%s: %s\r\n", line[0], line[1])
	}
	out.WriteString("\r\n")
	body := quotedprintable.NewWriter(&out)
	if _, err := body.Write([]byte(cmp.Or(part.Body, m.Message))); err != nil {
		return nil, err
	}
	// The last line is written by that.
	if err := body.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// dial speaks to the server, encrypted where it can, and signs in.
func (e *email) dial(ctx context.Context) (*smtp.Client, error) {
	host, port := e.options.Host, int(e.options.Port)
	dialer := &net.Dialer{Control: func(_, at string, _ syscall.RawConn) error { return within(at, e.ways.Reach) }}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	config := tlsFor(host, e.options.Insecure, e.ways)
	config.NextProtos = nil
	if port == portOfTLS {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if err := e.greet(client, config, port); err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

func (e *email) greet(client *smtp.Client, config *tls.Config, port int) error {
	if ok, _ := client.Extension("STARTTLS"); ok && port != portOfTLS {
		if err := client.StartTLS(config); err != nil {
			return err
		}
	}
	if e.options.Username == "" {
		return nil
	}
	ok, mechanisms := client.Extension("AUTH")
	if !ok {
		return fault.Terminalf("Refused", "the mail server takes no login here; take username and password out, or another port")
	}
	how := smtp.PlainAuth("", e.options.Username, e.options.Password, e.options.Host)
	if offers := " " + mechanisms + " "; !strings.Contains(offers, " PLAIN ") && strings.Contains(offers, " LOGIN ") {
		how = &loginAuth{e.options.Username, e.options.Password}
	}
	return client.Auth(how)
}

// envelope is what a mail server needs to know of a mail.
type envelope struct {
	from *mail.Address
	to   []*mail.Address
}

// hand gives a mail to the server, which has it when the line that ends it has come: until then it can be taken back.
func hand(ctx context.Context, client *smtp.Client, e envelope, text []byte) error {
	if err := client.Mail(e.from.Address); err != nil {
		return err
	}
	for _, a := range e.to {
		if err := client.Rcpt(a.Address); err != nil {
			return err
		}
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := handOver(ctx); err != nil {
		return err
	}
	return w.Close()
}

// loginAuth is how servers of Microsoft have people sign in.
type loginAuth struct{ username, password string }

// Start begins, where nobody listens in.
func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errors.New("unencrypted connection")
	}
	return "LOGIN", nil, nil
}

// Next answers what the server asks for.
func (a *loginAuth) Next(asks []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	switch {
	case strings.HasPrefix(strings.ToLower(string(asks)), "user"):
		return []byte(a.username), nil
	case strings.HasPrefix(strings.ToLower(string(asks)), "pass"):
		return []byte(a.password), nil
	}
	return nil, errors.New("the mail server asks for something else than a name and a password")
}
