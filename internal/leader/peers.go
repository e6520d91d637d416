package leader

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// peerName is what every replica's certificate is for. They find each other by
// address, and addresses change.
const peerName = "towline-peer"

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 24 * time.Hour
	// skew is how far clocks may be apart.
	skew = 5 * time.Minute
	// reload is how often the secret is read again at most because a certificate
	// does not fit.
	reload = 10 * time.Second
)

// Peers knows the replicas of an installation from everybody else: by
// certificates of an authority whose key is in a secret. Each process makes
// its own certificate, in memory, for a day.
type Peers struct {
	secrets  typed.SecretInterface
	identity string
	now      func() time.Time

	mu     sync.Mutex
	made   *authority
	leaf   *tls.Certificate
	loaded time.Time
}

// authority signs the certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pool *x509.CertPool
}

// NewPeers makes one. Nothing is read before it is needed.
func NewPeers(config *rest.Config, namespace, identity string) (*Peers, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the peers' secret: %w", err)
	}
	return &Peers{secrets: client.Secrets(namespace), identity: identity, now: time.Now}, nil
}

// Load reads the authority, and makes it if nobody has yet.
func (p *Peers) Load(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.load(ctx)
}

// load does so; the caller holds the lock.
func (p *Peers) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p.loaded = p.now()
	s, err := p.secrets.Get(ctx, v1alpha1.SecretPeers, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s, err = p.create(ctx)
	}
	if err != nil {
		return fmt.Errorf("reading secret %q, which replicas know each other by: %w", v1alpha1.SecretPeers, err)
	}
	a, err := parseAuthority(s.Data, p.now())
	if err != nil {
		return fmt.Errorf("secret %q, which replicas know each other by, cannot be used: %w; delete it, and restart them",
			v1alpha1.SecretPeers, err)
	}
	if p.made == nil || !p.made.cert.Equal(a.cert) {
		p.made, p.leaf = a, nil
	}
	return nil
}

// create makes the secret, unless another replica is faster.
func (p *Peers) create(ctx context.Context) (*corev1.Secret, error) {
	cert, key, err := makeAuthority(p.now())
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	s, err := p.secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.SecretPeers,
			Labels: map[string]string{
				"app.kubernetes.io/name": v1alpha1.SecretPeers, "app.kubernetes.io/part-of": v1alpha1.PartOfLabelValue,
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{v1alpha1.KeyPeersCACert: cert, v1alpha1.KeyPeersCAKey: key},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return p.secrets.Get(ctx, v1alpha1.SecretPeers, metav1.GetOptions{})
	}
	return s, err
}

func makeAuthority(now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "towline peers"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

func parseAuthority(data map[string][]byte, now time.Time) (*authority, error) {
	pair, err := tls.X509KeyPair(data[v1alpha1.KeyPeersCACert], data[v1alpha1.KeyPeersCAKey])
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("its key cannot sign")
	}
	switch {
	case !pair.Leaf.IsCA:
		return nil, errors.New("its certificate is not that of an authority")
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("its certificate ran out on %s", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	return &authority{cert: pair.Leaf, key: key, pool: pool}, nil
}

// certificate is our own. It is made anew long before it runs out.
func (p *Peers) certificate(ctx context.Context) (*tls.Certificate, *x509.CertPool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		if err := p.load(ctx); err != nil {
			return nil, nil, err
		}
	}
	if p.leaf == nil || p.now().After(p.leaf.Leaf.NotAfter.Add(-leafLife/2)) {
		leaf, err := p.made.issue(p.identity, p.now())
		if err != nil {
			return nil, nil, fmt.Errorf("making a certificate for this replica: %w", err)
		}
		p.leaf = leaf
	}
	return p.leaf, p.made.pool, nil
}

// issue makes a certificate for a replica, for either end of a connection.
func (a *authority) issue(identity string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: identity}, DNSNames: []string{peerName},
		NotBefore: now.Add(-skew), NotAfter: now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// again reads the secret anew after a certificate that did not fit: the
// authority may be another by now.
func (p *Peers) again(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now().Sub(p.loaded) < reload {
		return false
	}
	if err := p.load(ctx); err != nil {
		slog.WarnContext(ctx, "the authority of the peers cannot be read", "error", err)
		return false
	}
	return true
}

// serverConfig lets replicas in and nobody else.
func (p *Peers) serverConfig(ctx context.Context) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			leaf, _, err := p.certificate(ctx)
			return leaf, err
		},
		// It is verified below, against the authority of the moment.
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			err := p.verify(ctx, state)
			if err != nil && p.again(ctx) {
				err = p.verify(ctx, state)
			}
			return err
		},
	}
}

// verify says whether the other end is a replica.
func (p *Peers) verify(ctx context.Context, state tls.ConnectionState) error {
	_, pool, err := p.certificate(ctx)
	if err != nil {
		return err
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: pool, CurrentTime: p.now(), DNSName: peerName, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// clientConfig is for a connection to another replica.
func (p *Peers) clientConfig(ctx context.Context) (*tls.Config, error) {
	leaf, pool, err := p.certificate(ctx)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}, ServerName: peerName, RootCAs: pool, Time: p.now,
		Certificates: []tls.Certificate{*leaf},
	}, nil
}
