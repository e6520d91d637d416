package sso

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/sso"
)

// maxForm bounds what is sent to Dex.
const maxForm = 1 << 20

// ServeDex passes a request on to the Dex that runs beside. It does not get to see the sessions of those who ask, and its
// pages have rules of their own: a form there may end at the command line of whoever signs in.
func (p *Provider) ServeDex(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("Content-Security-Policy")
	c := p.o.Config()
	if c == nil || c.Dex == nil {
		http.Error(w, "there is no Dex: "+v1alpha1.KeyDexConfig+" of "+v1alpha1.ConfigMapSettings+" does not say how to sign in by it",
			http.StatusNotFound)
		return
	}
	proxy, err := p.dex.of(c)
	if err != nil {
		slog.WarnContext(r.Context(), "Dex cannot be reached", "error", err)
		http.Error(w, "Dex cannot be reached", http.StatusBadGateway)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	proxy.ServeHTTP(w, r)
}

// newProxy makes the way to Dex.
func newProxy(way *way) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: way.next,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = way.dex.Scheme, way.dex.Host, r.In.Host
			r.SetXForwarded()
			kept := r.In.Cookies()
			r.Out.Header.Del("Cookie")
			for _, c := range kept {
				if !own(c.Name) {
					r.Out.AddCookie(c)
				}
			}
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.Header.Get("Content-Security-Policy") == "" {
				answer.Header.Set("Content-Security-Policy", "frame-ancestors 'none'; object-src 'none'; base-uri 'self'")
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			slog.WarnContext(r.Context(), "Dex does not answer", "address", way.dex.String(), "error", err)
			http.Error(w, "Dex does not answer; the log has more", http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// own says that a cookie is one of ours.
func own(name string) bool {
	for _, ours := range []string{v1alpha1.SessionCookie, v1alpha1.RefreshCookie, v1alpha1.SignOnCookie} {
		if name == ours || strings.HasPrefix(name, ours+"-") {
			return true
		}
	}
	return false
}

// dexWay is the way to Dex as the configuration has it now.
type dexWay struct {
	mu     sync.Mutex
	config *sso.Config
	proxy  *httputil.ReverseProxy
}

func (d *dexWay) of(c *sso.Config) (*httputil.ReverseProxy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.config == c {
		return d.proxy, nil
	}
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	w, is := client.Transport.(*way)
	if !is || w.dex == nil {
		return nil, errOff
	}
	d.config, d.proxy = c, newProxy(w)
	return d.proxy, nil
}
