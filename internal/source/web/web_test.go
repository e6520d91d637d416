package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

func TestNamesBehindAProxy(t *testing.T) {
	for host, reach := range map[string]Reach{"localhost": Local, "LOCALHOST.": Local, "a.localhost": Local, "10.0.0.1": Private, "::1": Local} {
		if checkName(host, Public) == nil {
			t.Errorf("content may choose %s", host)
		}
		if err := checkName(host, reach); err != nil {
			t.Errorf("checkName(%s) = %v", host, err)
		}
	}
	if err := checkName("charts.example.com", Public); err != nil {
		t.Error(err)
	}
	if checkName("169.254.169.254", Local) == nil {
		t.Error("the metadata service is called")
	}
}

type emptyBook struct {
	entries map[string]repository.Repository
}

func (b emptyBook) For(url, _ string) repository.Repository {
	for prefix, entry := range b.entries {
		if strings.HasPrefix(url, prefix) {
			return entry
		}
	}
	return repository.Repository{}
}
func (emptyBook) Trust() repository.Trust { return repository.Trust{} }

// names answers questions for any name, with the next of the addresses each time.
func names(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var asked atomic.Int64
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:n]) != nil {
				continue
			}
			message.Response, message.Additionals = true, nil
			for _, q := range message.Questions {
				if q.Type == dnsmessage.TypeA {
					at := netip.MustParseAddr(addresses[int(asked.Add(1)-1)%len(addresses)]).As4()
					message.Answers = append(message.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: at},
					})
				}
			}
			if packed, err := message.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name that is public when it is looked at and private when it is called is refused: what counts is the address that
// is called.
func TestRebinding(t *testing.T) {
	called := atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	c := New(Options{Book: emptyBook{}, Resolver: names(t, "127.0.0.1", "169.254.169.254", "10.0.0.1")})
	for range 3 {
		party, err := c.Party("http://charts.example.com"+port, "", true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), party, Request{URL: "http://charts.example.com" + port})
		if fault.ReasonOf(err) != "AddressRefused" || fault.ClassOf(err) != fault.Terminal {
			t.Errorf("Do = %v", err)
		}
	}
	if called.Load() != 0 {
		t.Error("it was called")
	}
	// An application may name what is near, but content may not use the connection that is left over from that.
	here := New(Options{Book: emptyBook{}, Resolver: names(t, "127.0.0.1")})
	for i, byContent := range []bool{false, true} {
		party, err := here.Party("http://charts.example.com"+port, "", byContent)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := here.Do(t.Context(), party, Request{URL: "http://charts.example.com" + port})
		if (err == nil) != (i == 0) {
			t.Errorf("by content = %v: %v", byContent, err)
		}
		if err == nil {
			if answer.Reach != Local {
				t.Errorf("reach = %v", answer.Reach)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
}

// An entry that does not cover a URL is none, whatever the book says.
func TestLoginIsBound(t *testing.T) {
	var heard []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	entry := repository.Repository{URL: server.URL + "/org", BearerToken: repository.NewSecret("token")}
	c := New(Options{Book: emptyBook{entries: map[string]repository.Repository{server.URL: entry}}})
	for _, path := range []string{"/org/charts", "/organisation"} {
		party, err := c.Party(server.URL+path, "", false)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(t.Context(), party, Request{URL: server.URL + path, Header: http.Header{"Authorization": {"smuggled"}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	// Nor does one that was given for this request go to another server.
	party, err := c.Party("https://charts.example.com", "", false)
	if err != nil {
		t.Fatal(err)
	}
	party.Reach, c.options.AllowPrivate = Local, true
	answer, err := c.Do(t.Context(), party, Request{URL: server.URL, Authorization: "Bearer other"})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if len(heard) != 3 || heard[0] != "Bearer token" || heard[1] != "" || heard[2] != "" {
		t.Errorf("heard %q", heard)
	}
}

func TestLimit(t *testing.T) {
	if data, err := io.ReadAll(Limit(strings.NewReader("12345"), 5)); string(data) != "12345" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := io.ReadAll(Limit(strings.NewReader("123456"), 5)); string(data) != "12345" || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestCertificates(t *testing.T) {
	c := New(Options{Book: emptyBook{}})
	if _, err := c.transport(wire{ca: "nonsense"}); fault.ReasonOf(err) != "CertificateRefused" {
		t.Error(err)
	}
	if _, err := c.transport(wire{cert: "nonsense", key: "secret"}); fault.ReasonOf(err) != "CertificateRefused" || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	for i := range 2 * maxTransports {
		if _, err := c.transport(wire{proxy: strings.Repeat("x", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.pools) > maxTransports {
		t.Errorf("%d pools are kept", len(c.pools))
	}
}
