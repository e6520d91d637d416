package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/server"
)

// TestPlainHTTPIsSentToTLS: a Service has port 80 and port 443, and both lead to the one port of the server.
func TestPlainHTTPIsSentToTLS(t *testing.T) {
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(ctx, server.Listening{Address: address}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.URL.RequestURI())
		}))
	}()
	client := &http.Client{Transport: &http.Transport{
		//nolint:gosec // the certificate is of our own making
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
	}}
	// Somebody who connects and says nothing holds up nobody.
	silent := dial(t, address)
	defer silent.Close()
	for _, scheme := range []string{"https://", "http://"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+address+"/applications?search=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if string(text) != "/applications?search=a" || answer.TLS == nil || answer.ProtoMajor != 2 {
			t.Errorf("%s: %d %s, TLS %t, HTTP/%d", scheme, answer.StatusCode, text, answer.TLS != nil, answer.ProtoMajor)
		}
	}
	client.CloseIdleConnections()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server did not end")
	}
}

// dial connects once the server listens.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			return c
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}
