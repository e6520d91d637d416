package repository_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/repository"
)

func TestProof(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	newer := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	older := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	now := time.Unix(1_700_000_000, 0)
	for _, text := range []string{older, newer(key)} {
		proof, err := repository.GitHubApp{ID: 11, PrivateKey: repository.NewSecret(text)}.Proof(now)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(proof.Reveal(), ".")
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
			t.Error(err)
		}
		var claims struct {
			Iss      string
			Iat, Exp int64
		}
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || json.Unmarshal(text, &claims) != nil {
			t.Fatal(err)
		}
		if claims.Iss != "11" || claims.Iat != now.Unix()-60 || claims.Exp != now.Unix()+540 {
			t.Errorf("claims %+v", claims)
		}
	}
	for _, text := range []string{"", "hunter2", strings.Replace(older, "M", "N", 1), newer(other)} {
		if _, err := (repository.GitHubApp{ID: 11, PrivateKey: repository.NewSecret(text)}).Proof(now); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a key that is none: %v", err)
		}
	}
}
