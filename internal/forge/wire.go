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

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/address"
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

// refuseAddress refuses what nobody may be at, whoever says so. A forge of a private network is as good as any other, and
// what may be asked is for allowed.scm.providers to say.
func refuseAddress(addr netip.Addr) error {
	if address.ReachOf(addr) == address.Nowhere {
		return fault.Terminalf("AddressRefused", "%s is an address that no forge may have", addr)
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
	if more := c.options.RootCA; more != nil {
		authorities, err := more()
		if err != nil {
			return nil, fault.Transientf("CertificateRefused", "asking %s: reading the authorities of forges: %w; correct %s in "+
				"argocd-cmd-params-cm, or put the file there", shown(to), err, v1alpha1.KeyParamAppSetRootCAPath)
		}
		w.ca += "\n" + authorities
	}
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
