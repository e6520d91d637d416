package channel

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
)

// handing is the key of a context for what is asked before a message leaves us.
type handing struct{}

// WithHanding has ask called once, when the way to the service is open and before anything of a message leaves us. Its error
// keeps the message here. So whoever sends can tell a service that nobody could reach from one that may have the message.
func WithHanding(ctx context.Context, ask func(context.Context) error) context.Context {
	return context.WithValue(ctx, handing{}, sync.OnceValue(func() error { return ask(ctx) }))
}

// aside is for requests that carry nothing of the message: a login, a search.
func aside(ctx context.Context) context.Context { return context.WithValue(ctx, handing{}, nil) }

// handOver asks whether the message may leave.
func handOver(ctx context.Context) error {
	ask, ok := ctx.Value(handing{}).(func() error)
	if !ok {
		return nil
	}
	return ask()
}

// opener opens a connection of its own for a message that must not leave unasked: what a pool does between the dial and the
// first byte nobody can hold up.
type opener struct{ *http.Transport }

// RoundTrip sends a request.
func (o opener) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, host := r.Context(), r.URL.Hostname()
	if _, asked := ctx.Value(handing{}).(func() error); !asked {
		return o.Transport.RoundTrip(r)
	}
	if !plain(host) {
		// Only the pool knows how such a name is looked up.
		if err := handOver(ctx); err != nil {
			return nil, shut(r, err)
		}
		return o.Transport.RoundTrip(r)
	}
	conn, err := o.NewClientConn(ctx, r.URL.Scheme, net.JoinHostPort(host, r.URL.Port()))
	if err != nil {
		return nil, shut(r, err)
	}
	if err := handOver(ctx); err != nil {
		_ = conn.Close()
		return nil, shut(r, err)
	}
	response, err := conn.RoundTrip(r)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	response.Body = lastBody{response.Body, conn}
	return response, nil
}

// shut closes the body of a request that is not sent, as whoever takes one has to.
func shut(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// plain says that a host is written in ASCII.
func plain(host string) bool {
	for _, c := range []byte(host) {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// lastBody is that of the only answer of a connection.
type lastBody struct {
	io.ReadCloser
	conn *http.ClientConn
}

// Close closes both.
func (b lastBody) Close() error {
	err := b.ReadCloser.Close()
	_ = b.conn.Close()
	return err
}
