package leader

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// installation is an authority, and replicas of it.
func installation(t *testing.T) (replica func(identity string) *Peers) {
	t.Helper()
	cert, key, err := makeAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return func(identity string) *Peers {
		a, err := parseAuthority(map[string][]byte{v1alpha1.KeyPeersCACert: cert, v1alpha1.KeyPeersCAKey: key}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return &Peers{identity: identity, now: time.Now, made: a, loaded: time.Now()}
	}
}

// listen serves a replica's peers, and says where.
func listen(t *testing.T, p *Peers, h http.HandlerFunc) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, l, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// standby is a server of people that passes everything on.
func standby(t *testing.T, p *Peers, leader func() (Leader, bool)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(Forward(ForwardOptions{
		Peers: p, Leader: leader, Wait: 15 * time.Second,
		Subject: func(r *http.Request) (string, error) {
			if r.URL.Path == "/nobody" {
				return "", errors.New("nobody knows")
			}
			return `{"subject":"jane"}`, nil
		},
	}))
	t.Cleanup(s.Close)
	return s
}

func at(address string) func() (Leader, bool) {
	return func() (Leader, bool) { return Leader{Identity: "one", Address: address}, true }
}

func get(t *testing.T, url string, header http.Header) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

// The leader is told who asks by the replica that knows, and by nobody else.
func TestForwardPassesTheSubjectOn(t *testing.T) {
	replica := installation(t)
	address := listen(t, replica("one"), func(w http.ResponseWriter, r *http.Request) {
		subject, ok := Believed(r)
		fmt.Fprintf(w, "%s %s %v header=%q auth=%q cookie=%q query=%s", r.Method, r.URL.Path, ok,
			subject, r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.URL.RawQuery)
	})
	s := standby(t, replica("two"), at(address))
	header := http.Header{}
	header.Set(v1alpha1.HeaderSubject, `{"subject":"admin"}`)
	header.Set("Authorization", "Bearer hush")
	header.Set("Cookie", v1alpha1.SessionCookie+"=hush")
	code, text, _ := get(t, s.URL+"/api/v1/applications/shop/resource-tree?x=1", header)
	want := `GET /api/v1/applications/shop/resource-tree true header="{\"subject\":\"jane\"}" auth="" cookie="" query=x=1`
	if code != http.StatusOK || text != want {
		t.Errorf("%d\n%s", code, cmp.Diff(want, text))
	}
	// Somebody who does not come from a replica is not believed.
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(v1alpha1.HeaderSubject, `{"subject":"admin"}`)
	if subject, ok := Believed(r); ok {
		t.Errorf("a header of anybody is believed: %s", subject)
	}
}

func TestForwardSaysWhyItCannot(t *testing.T) {
	replica := installation(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	strangers := listen(t, installation(t)("stranger"), func(http.ResponseWriter, *http.Request) { t.Error("a stranger was asked") })
	cases := map[string]struct {
		leader func() (Leader, bool)
		path   string
		says   string
	}{
		"nobody leads":           {func() (Leader, bool) { return Leader{}, false }, "/x", "no controller leads at the moment"},
		"it is reached nowhere":  {at(""), "/x", "the leading replica one does not say where it is reached"},
		"it is gone":             {at(closed), "/x", "the leading replica one at " + closed + " does not answer"},
		"somebody else is there": {at(strangers), "/x", "certificate"},
		"who asks is not known":  {at(closed), "/nobody", "who asks cannot be passed on: nobody knows"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := standby(t, replica("two"), c.leader)
			code, text, header := get(t, s.URL+c.path, nil)
			var said struct {
				Error, Message string
				Code           int
			}
			if err := json.Unmarshal([]byte(text), &said); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if code != http.StatusServiceUnavailable || said.Code != 14 || said.Error != said.Message || !strings.Contains(said.Error, c.says) {
				t.Errorf("%d %+v, want 503 with %q", code, said, c.says)
			}
			if header.Get("Retry-After") != "15" || header.Get("Content-Type") != "application/json" {
				t.Errorf("the header is %v", header)
			}
		})
	}
}

func TestForwardStreams(t *testing.T) {
	replica := installation(t)
	proceed := make(chan struct{})
	address := listen(t, replica("one"), func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "piece %d\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-proceed:
			case <-r.Context().Done():
			}
		}
	})
	s := standby(t, replica("two"), at(address))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range 3 {
		// The next piece is sent only when this one has come.
		if !lines.Scan() || lines.Text() != fmt.Sprintf("piece %d", i) {
			t.Fatalf("piece %d: %q, %v", i, lines.Text(), lines.Err())
		}
		proceed <- struct{}{}
	}
}

func TestPeersLetNobodyElseIn(t *testing.T) {
	replica, other := installation(t), installation(t)
	address := listen(t, replica("one"), func(http.ResponseWriter, *http.Request) { t.Error("somebody came in") })
	ours, err := replica("two").clientConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other("stranger").clientConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := replica("late")
	old.now = func() time.Time { return time.Now().Add(-2 * leafLife) }
	stale, err := old.clientConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{
		"no certificate": nil, "one of another installation": theirs.Certificates, "one that has run out": stale.Certificates,
	} {
		t.Run(name, func(t *testing.T) {
			config := ours.Clone()
			config.Certificates = certificates
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err == nil {
				_ = response.Body.Close()
				t.Errorf("it was answered with %s", response.Status)
			}
		})
	}
}

func TestCertificatesAreMadeAnewInTime(t *testing.T) {
	p := installation(t)("one")
	at := time.Now()
	p.now = func() time.Time { return at }
	first, _, err := p.certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(leafLife / 3)
	if same, _, _ := p.certificate(t.Context()); same != first {
		t.Error("a fresh certificate was made anew")
	}
	at = at.Add(leafLife / 3)
	next, _, err := p.certificate(t.Context())
	if err != nil || next == first || next.Leaf.Subject.CommonName != "one" {
		t.Errorf("an old one was not: %v", err)
	}
}

func TestAuthorityThatCannotBeUsed(t *testing.T) {
	cert, key, err := makeAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, another, err := makeAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair := func(cert, key []byte) map[string][]byte {
		return map[string][]byte{v1alpha1.KeyPeersCACert: cert, v1alpha1.KeyPeersCAKey: key}
	}
	for name, c := range map[string]struct {
		data map[string][]byte
		at   time.Time
		says string
	}{
		"empty":          {nil, time.Now(), "PEM"},
		"another's key":  {pair(cert, another), time.Now(), "does not match"},
		"it has run out": {pair(cert, key), time.Now().Add(11 * 365 * 24 * time.Hour), "ran out on"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseAuthority(c.data, c.at); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
