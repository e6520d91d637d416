package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listening is how the server is reached.
type Listening struct {
	Address string
	// Insecure speaks plain HTTP, for those who have something in front that does not.
	Insecure bool
	// Certificate is the one that is shown to a client now; nil, or none, is one that we made ourselves.
	Certificate func() *tls.Certificate
	// Names are those that our own certificate is for.
	Names []string
}

const (
	// headerTime is how long a client may take to say what it wants, and idleTime how long a connection is kept.
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	// lastWords is how long those may go on that are being answered when the process ends.
	lastWords = 10 * time.Second
	// ownYears is how long our own certificate is good for; it is another one with every start.
	ownYears = 1
)

// Serve answers at an address until ctx ends, and then lets those finish who are being answered.
func Serve(ctx context.Context, l Listening, handler http.Handler) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", l.Address)
	if err != nil {
		return fmt.Errorf("listening for requests: %w; choose another --listen", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		Protocols: new(http.Protocols),
		ErrorLog:  slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		// Work for a request ends with the process; Shutdown waits for it before that.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	server.Protocols.SetHTTP1(true)
	if l.Insecure {
		server.Protocols.SetUnencryptedHTTP2(true)
	} else {
		server.Protocols.SetHTTP2(true)
		if server.TLSConfig, err = l.tls(time.Now()); err != nil {
			return err
		}
	}
	slog.InfoContext(ctx, "serving the API", "address", listener.Addr().String(), "tls", !l.Insecure)
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	if l.Insecure {
		err = server.Serve(listener)
	} else {
		err = serveTLS(ctx, server, listener)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serving the API: %w", err)
	}
	<-done
	return nil
}

// serveTLS answers those who speak TLS, and sends the others there.
func serveTLS(ctx context.Context, server *http.Server, listener net.Listener) error {
	sorted := newSorter(listener)
	plain := redirecting(ctx)
	var wg sync.WaitGroup
	wg.Go(sorted.run)
	wg.Go(func() { _ = plain.Serve(side{sorted, sorted.plain}) })
	err := server.ServeTLS(side{sorted, sorted.secure}, "", "")
	sorted.close()
	_ = listener.Close()
	_ = plain.Close()
	wg.Wait()
	return err
}

func (l Listening) tls(now time.Time) (*tls.Config, error) {
	own, err := selfSigned(l.Names, now)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if l.Certificate != nil {
				if c := l.Certificate(); c != nil {
					return c, nil
				}
			}
			return own, nil
		},
	}, nil
}

// selfSigned makes a certificate that nobody vouches for: it keeps those out who only listen.
func selfSigned(names []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Towline"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(ownYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: append([]string{"localhost"}, names...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
