package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a cluster's certificate authority and the folder of its keys.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// subject is whom a certificate is for.
type subject struct {
	user   string
	groups []string
	server bool
}

// openAuthority loads the authority kept in dir, or makes one, with the service account keys beside it. A folder
// that was restored from a snapshot has the service account keys but no authority.
func openAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the keys: %w", err)
	}
	if err := ensureServiceAccountKeys(dir); err != nil {
		return nil, err
	}
	a := &authority{dir: dir}
	certPEM, err := os.ReadFile(a.file("ca.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return a, a.create()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	keyPEM, err := os.ReadFile(a.file("ca.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the authority's key: %w", err)
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("reading the authority in %q: not PEM", dir)
	}
	if a.cert, err = x509.ParseCertificate(certBlock.Bytes); err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	if a.key, err = x509.ParseECPrivateKey(keyBlock.Bytes); err != nil {
		return nil, fmt.Errorf("reading the authority's key: %w", err)
	}
	return a, nil
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) create() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the authority's key: %w", err)
	}
	template, err := certificate("towline-test-ca", 10*365*24*time.Hour)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("making the authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return fmt.Errorf("making the authority: %w", err)
	}
	a.key = key
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	return writePair(a.file("ca"), encodeCert(der), keyPEM)
}

// issue makes a certificate for a client, or for a server on loopback.
func (a *authority) issue(s subject) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key for %q: %w", s.user, err)
	}
	template, err := certificate(s.user, 365*24*time.Hour)
	if err != nil {
		return nil, nil, err
	}
	template.Subject.Organization = s.groups
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if s.server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceIP)}
		template.DNSNames = []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a certificate for %q: %w", s.user, err)
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(der), keyPEM, err
}

// issueFiles makes a certificate as <name>.crt and <name>.key beside the authority.
func (a *authority) issueFiles(name string, s subject) error {
	certPEM, keyPEM, err := a.issue(s)
	if err != nil {
		return err
	}
	return writePair(a.file(name), certPEM, keyPEM)
}

func ensureServiceAccountKeys(dir string) error {
	private, public := filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	if _, err := os.Stat(private); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the service account key: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the service account key: %w", err)
	}
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing the service account key: %w", err)
	}
	if err := os.WriteFile(private, keyPEM, 0o600); err != nil {
		return fmt.Errorf("writing the service account key: %w", err)
	}
	return nil
}

func certificate(name string, valid time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(valid),
	}, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func writePair(base string, certPEM, keyPEM []byte) error {
	if err := os.WriteFile(base+".key", keyPEM, 0o600); err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	if err := os.WriteFile(base+".crt", certPEM, 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}
