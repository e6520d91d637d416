package web

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// maxTransports bounds the pools of connections that are kept.
const maxTransports = 128

// wire is how a server is spoken to. Two that differ never share a connection.
type wire struct {
	insecure       bool
	cert, key, ca  string
	proxy, noProxy string
	reach          Reach
}

type pooled struct {
	transport *http.Transport
	turn      int64
}

// transport returns the pool of connections for a wire.
func (c *Client) transport(w wire) (*http.Transport, error) {
	name := sha256.Sum256(fmt.Appendf(nil, "%#v", w))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	if known := c.pools[name]; known != nil {
		known.turn = c.turn
		return known.transport, nil
	}
	made, err := c.newTransport(w)
	if err != nil {
		return nil, err
	}
	c.pools[name] = &pooled{transport: made, turn: c.turn}
	if len(c.pools) > maxTransports {
		oldest := name
		for other, p := range c.pools {
			if p.turn < c.pools[oldest].turn {
				oldest = other
			}
		}
		c.pools[oldest].transport.CloseIdleConnections()
		delete(c.pools, oldest)
	}
	return made, nil
}

func (c *Client) newTransport(w wire) (*http.Transport, error) {
	config, err := w.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{
		Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Resolver: c.options.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return checkAddress(address, w.reach)
		},
	}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true,
		Proxy:               func(r *http.Request) (*url.URL, error) { return c.proxyFor(w, r.URL) },
		DisableCompression:  true, // so that what is bounded is what was sent
		TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 30 * time.Second,
		ResponseHeaderTimeout: min(c.options.Timeout, 30*time.Second),
		MaxIdleConnsPerHost:   4, MaxResponseHeaderBytes: 256 << 10,
	}, nil
}

func (w wire) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: w.insecure}
	if w.ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(w.ca)) {
			return nil, fault.Terminalf("CertificateRefused", "the certificates that are registered for the host are not PEM; correct them")
		}
	}
	if w.cert != "" || w.key != "" {
		pair, err := tls.X509KeyPair([]byte(w.cert), []byte(w.key))
		if err != nil {
			// The error of the parser may quote what it could not read.
			return nil, fault.Terminalf("CertificateRefused", "the client certificate and key of the repository do not make a pair; "+
				"correct them")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// proxyFor is the proxy on the way to a URL, or nil.
func (c *Client) proxyFor(w wire, to *url.URL) (*url.URL, error) {
	if w.proxy == "" {
		if c.options.Proxy == nil {
			return nil, nil
		}
		return c.options.Proxy(to)
	}
	proxies := httpproxy.Config{HTTPProxy: w.proxy, HTTPSProxy: w.proxy, NoProxy: w.noProxy}
	found, err := proxies.ProxyFunc()(to)
	if err != nil {
		return nil, fault.Terminalf("ProxyRefused", "the proxy of the repository is not a URL; correct it")
	}
	return found, nil
}

// wireTo says how to speak with a server by what its entry says.
func (c *Client) wireTo(to *url.URL, entry repository.Repository, reach Reach) wire {
	if c.options.AllowPrivate {
		reach = Local
	}
	return wire{
		insecure: entry.Insecure, cert: entry.TLSClientCert, key: entry.TLSClientKey.Reveal(),
		ca: c.options.Book.Trust().Certificates[to.Hostname()], proxy: entry.Proxy, noProxy: entry.NoProxy, reach: reach,
	}
}
