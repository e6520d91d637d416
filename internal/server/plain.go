package server

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// tlsHandshake is the first byte of every client that speaks TLS.
const tlsHandshake = 0x16

// acceptPause is how long no connection is taken after one could not be.
const acceptPause = 50 * time.Millisecond

// sorter takes connections and sorts them by what the client speaks: a Service has port 80 and port 443, and both lead to the
// one port of the pod.
type sorter struct {
	net.Listener
	secure, plain chan net.Conn
	done          chan struct{}
	close         func()
}

func newSorter(l net.Listener) *sorter {
	s := &sorter{Listener: l, secure: make(chan net.Conn), plain: make(chan net.Conn), done: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.done) })
	return s
}

// run takes connections until the listener is closed.
func (s *sorter) run() {
	defer s.close()
	for {
		c, err := s.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Too many files are open, say; that passes.
			select {
			case <-time.After(acceptPause):
				continue
			case <-s.done:
				return
			}
		}
		go s.sort(c)
	}
}

func (s *sorter) sort(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(headerTime))
	peeked := &peekedConn{Conn: c, r: bufio.NewReaderSize(c, 1)}
	first, err := peeked.r.Peek(1)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	to := s.plain
	if first[0] == tlsHandshake {
		to = s.secure
	}
	select {
	case to <- peeked:
	case <-s.done:
		_ = c.Close()
	}
}

// side is one of the two kinds, as a listener.
type side struct {
	*sorter
	of <-chan net.Conn
}

// Accept gives the next connection of the kind.
func (l side) Accept() (net.Conn, error) {
	select {
	case c := <-l.of:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close closes both.
func (l side) Close() error {
	l.close()
	return l.Listener.Close()
}

// peekedConn gives again what was looked at.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

// Read reads what was looked at first.
func (c *peekedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// redirecting sends whoever speaks plain HTTP to the same place over TLS. Nothing else is told to them, and nothing is taken.
func redirecting(ctx context.Context) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host := r.Host
			if name, port, err := net.SplitHostPort(host); err == nil && port == "80" {
				host = name
			}
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}),
	}
}
