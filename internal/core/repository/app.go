package repository

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Proof is the signed claim of being the app, as RFC 7519 and GitHub have it. It begins a minute ago, for clocks that
// differ. What is said of a key that is none does not repeat it.
func (a GitHubApp) Proof(now time.Time) (Secret, error) {
	key, err := a.key()
	if err != nil {
		return Secret{}, err
	}
	claims, err := json.Marshal(map[string]any{
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix(), "iss": fmt.Sprint(a.ID),
	})
	if err != nil {
		return Secret{}, fmt.Errorf("writing the claims: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	// This form of signature has nothing random in it.
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		return Secret{}, errors.New("githubAppPrivateKey cannot sign")
	}
	return NewSecret(text + "." + encode(signature)), nil
}

func (a GitHubApp) key() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(a.PrivateKey.Reveal()))
	if block == nil {
		return nil, errors.New("githubAppPrivateKey is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("githubAppPrivateKey is not a private key")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("githubAppPrivateKey is not an RSA key")
	}
	return key, nil
}
