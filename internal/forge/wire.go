package forge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// maxTransports bounds the pools of connections that are kept.
const maxTransports = 64

// wire is how a server is spoken to. Two that differ never share a connection.
type wire struct {
	insecure bool
	// ca are authorities beside those of the machine, as PEM.
	ca string
}

type pooled struct {
	transport *http.Transport
	turn      int64
}

// Neighbours of a link: among them are the metadata services that hand out the credentials of a machine. No forge is
// there, whoever says so; a forge of a private network is as good as any other, and what may be asked is for
// allowed.scm.providers to say.
var never = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("192.0.0.192/32"),
	// The same, written in the newer form of addresses.
	netip.MustParsePrefix("64:ff9b::a9fe:0/112"), netip.MustParsePrefix("2002:a9fe::/32"),
}

func refuseAddress(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	for _, p := range never {
		if p.Contains(addr) {
			return fault.Terminalf("AddressRefused", "%s is an address that no forge may have", addr)
		}
	}
	return nil
}

// transport is the way to a server.
func (c *client) transport(to *url.URL, w wire) (http.RoundTripper, error) {
	if addr, err := netip.ParseAddr(to.Hostname()); err == nil {
		if err := refuseAddress(addr); err != nil {
			return nil, fault.Terminalf("AddressRefused", "asking %s: %w", shown(to), err)
		}
	}
	if c.options.Transport != nil {
		return c.options.Transport, nil
	}
	if trust := c.options.Trust; trust != nil {
		w.ca += "\n" + trust().Certificates[to.Hostname()]
	}
	w.ca += "\n" + c.options.RootCA
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	if known := c.pools[w]; known != nil {
		known.turn = c.turn
		return known.transport, nil
	}
	made, err := c.newTransport(w)
	if err != nil {
		return nil, err
	}
	c.pools[w] = &pooled{transport: made, turn: c.turn}
	if len(c.pools) > maxTransports {
		c.dropOldest()
	}
	return made, nil
}

func (c *client) dropOldest() {
	var oldest wire
	turn := c.turn + 1
	for w, p := range c.pools {
		if p.turn < turn {
			oldest, turn = w, p.turn
		}
	}
	c.pools[oldest].transport.CloseIdleConnections()
	delete(c.pools, oldest)
}

func (c *client) newTransport(w wire) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: w.insecure} //nolint:gosec // only where the generator says so
	if trimmed := strings.TrimSpace(w.ca); trimmed != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(trimmed)) {
			return nil, fault.Terminalf("CertificateRefused", "the certificates that are named for the forge are not PEM; correct them")
		}
		config.RootCAs = pool
	}
	dialer := &net.Dialer{
		Timeout: 15 * time.Second, KeepAlive: 30 * time.Second,
		// Asked after the name was resolved, for the address that is about to be called.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fault.Terminalf("AddressRefused", "%q is not an address", address)
			}
			return refuseAddress(at.Addr())
		},
	}
	made := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 90 * time.Second,
		MaxIdleConnsPerHost: parallel, MaxResponseHeaderBytes: 256 << 10,
	}
	if way := c.options.Proxy; way != nil {
		made.Proxy = func(r *http.Request) (*url.URL, error) { return way(r.URL) }
	}
	return made, nil
}
