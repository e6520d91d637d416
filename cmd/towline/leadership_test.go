package main

import (
	"net"
	"strings"
	"testing"
)

func TestPeerAddress(t *testing.T) {
	everywhere := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8083}
	for name, c := range map[string]struct {
		listener *net.TCPAddr
		told     string
		server   string
		want     string
	}{
		"one address":           {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, "", "https://10.0.0.1", "127.0.0.1:4711"},
		"told":                  {everywhere, "10.1.2.3", "https://10.0.0.1", "10.1.2.3:8083"},
		"told, by IPv6":         {everywhere, "fd00::1", "https://10.0.0.1", "[fd00::1]:8083"},
		"told with a port":      {everywhere, "towline.example.com:443", "https://10.0.0.1", "towline.example.com:443"},
		"by the way that it is": {everywhere, "", "https://127.0.0.1:6443", "127.0.0.1:8083"},
		"a server without more": {everywhere, "", "127.0.0.1", "127.0.0.1:8083"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := peerAddress(t.Context(), c.listener, c.told, c.server)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	if _, err := peerAddress(t.Context(), everywhere, "", "https://no such host"); err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("got %v", err)
	}
}
