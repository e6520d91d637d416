package leader

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// subjectKey is where the subject that a peer vouches for is kept.
type subjectKey struct{}

// Believed is who asks, if a peer passed the request on and vouches for it. What
// a header says of anybody else's request is not believed.
func Believed(r *http.Request) (subject string, ok bool) {
	subject, ok = r.Context().Value(subjectKey{}).(string)
	return subject, ok
}

// Serve answers other replicas until ctx ends. The handler learns by Believed
// who asks.
func (p *Peers) Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			subject := r.Header.Get(v1alpha1.HeaderSubject)
			r.Header.Del(v1alpha1.HeaderSubject)
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), subjectKey{}, subject)))
		}),
		TLSConfig: p.serverConfig(ctx),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving peers: %w", err)
	}
	return nil
}

// ForwardOptions are what Forward is made of.
type ForwardOptions struct {
	Peers *Peers
	// Leader is who leads; false means that nobody does.
	Leader func() (Leader, bool)
	// Subject is who asks, as the leader is to be told. An error is not passed on.
	Subject func(*http.Request) (string, error)
	// Wait is how long it may take until somebody leads, which callers are told.
	Wait time.Duration
}

// Forward passes requests on to whoever leads, with the subject that they were
// made by and without their credentials. What is streamed is passed on piece
// by piece.
func Forward(o ForwardOptions) http.Handler {
	transport := &http.Transport{
		DialTLSContext: o.Peers.dial, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := r.In.Context().Value(targetKey{}).(target)
			r.SetURL(&url.URL{Scheme: "https", Host: to.leader.Address})
			r.Out.Host = r.In.Host
			r.SetXForwarded()
			for _, name := range []string{"Authorization", "Cookie"} {
				r.Out.Header.Del(name)
			}
			r.Out.Header.Set(v1alpha1.HeaderSubject, to.subject)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				// Whoever asked is gone.
				return
			}
			to, _ := r.Context().Value(targetKey{}).(target)
			unavailable(w, o.Wait, fmt.Sprintf("the leading replica %s at %s does not answer: %v; "+
				"if it is gone, another takes over within %s", to.leader.Identity, to.leader.Address, err, o.Wait))
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leader, ok := o.Leader()
		switch {
		case !ok:
			unavailable(w, o.Wait, "no controller leads at the moment, and only the leading one can answer this; "+
				"if none takes over within "+o.Wait.String()+", see the log of the controllers")
			return
		case leader.Address == "":
			unavailable(w, o.Wait, "the leading replica "+leader.Identity+
				" does not say where it is reached: see its log on --peer-listen")
			return
		}
		subject, err := o.Subject(r)
		if err != nil {
			unavailable(w, o.Wait, "who asks cannot be passed on: "+err.Error())
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, target{leader, subject})))
	})
}

type targetKey struct{}

// target is where a request goes, and for whom.
type target struct {
	leader  Leader
	subject string
}

// dial connects to another replica. If its certificate does not fit, the
// authority may be another by now.
func (p *Peers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.connect(ctx, network, address)
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); refused && p.again(ctx) {
		return p.connect(ctx, network, address)
	}
	return conn, err
}

func (p *Peers) connect(ctx context.Context, network, address string) (net.Conn, error) {
	config, err := p.clientConfig(ctx)
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: config}
	return d.DialContext(ctx, network, address)
}

// unavailable says in Argo CD's form of errors why something cannot be answered.
// 14 is gRPC's code for it.
func unavailable(w http.ResponseWriter, wait time.Duration, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(struct {
		Error   string `json:"error"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{why, 14, why})
}
