package repository_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/repository"
)

// The names are those that Argo CD gives: an installation has them already.
func TestSecretNames(t *testing.T) {
	one := repository.Repository{URL: "https://github.com/argoproj/argo-cd.git"}
	if got := repository.SecretName(one, false); got != "repo-821842295" {
		t.Errorf("got %s", got)
	}
	if a, b := repository.SecretName(one, true), repository.SecretName(one, false); !strings.HasPrefix(a, "creds-") || a == b {
		t.Errorf("%s %s", a, b)
	}
	of := one
	of.Project = "web"
	if repository.SecretName(of, false) == repository.SecretName(one, false) {
		t.Error("an entry of a project has the name of the one for all")
	}
}

func TestWriteKeepsWhatNobodyKnows(t *testing.T) {
	data := map[string][]byte{"password": []byte("old"), "gcpServiceAccountKey": []byte("{}"), "depth": []byte("3")}
	got := repository.Write(data, repository.Repository{
		URL: "https://x/a.git", Username: "jane", BearerToken: repository.NewSecret("t"), EnableLFS: true,
	}, false)
	want := map[string][]byte{
		"url": []byte("https://x/a.git"), "username": []byte("jane"), "bearerToken": []byte("t"), "enableLfs": []byte("true"),
		"gcpServiceAccountKey": []byte("{}"),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if string(data["password"]) != "old" {
		t.Error("what was given is changed")
	}
}

const (
	edType = "ssh-ed25519"
	edKey  = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
)

func otherKey() string {
	blob, _ := base64.StdEncoding.DecodeString(edKey)
	blob[len(blob)-1]++
	return base64.StdEncoding.EncodeToString(blob)
}

func TestHostKeys(t *testing.T) {
	const before = "# a note\nother,github.com ssh-rsa AAAA note\n@cert-authority * ssh-rsa AAAA"
	github := repository.HostKey{Host: "github.com", Type: edType, Key: edKey}
	text, err := repository.PutHostKey(before, github, false)
	if err != nil || text != before+"\ngithub.com "+edType+" "+edKey+"\n" {
		t.Fatalf("%q %v", text, err)
	}
	if again, err := repository.PutHostKey(text, github, false); err != nil || again != text {
		t.Errorf("%q %v", again, err)
	}
	github.Key = otherKey()
	if _, err := repository.PutHostKey(text, github, false); !errors.Is(err, repository.ErrOther) {
		t.Errorf("another key takes the place unasked: %v", err)
	}
	if next, err := repository.PutHostKey(text, github, true); err != nil || strings.Contains(next, edKey) || !strings.Contains(next, github.Key) {
		t.Errorf("%q %v", next, err)
	}
	rest, dropped := repository.DropHostKeys(text, func(host, _ string) bool { return host == "github.com" })
	if len(dropped) != 2 || rest != "# a note\nother ssh-rsa AAAA note\n@cert-authority * ssh-rsa AAAA\n" {
		t.Errorf("%q %v", rest, dropped)
	}
	for _, bad := range []repository.HostKey{
		{Host: "a b", Type: edType, Key: edKey},
		{Host: "a\nevil ssh-rsa AAAA", Type: edType, Key: edKey},
		{Host: "*", Type: edType, Key: edKey},
		{Host: "a,b", Type: edType, Key: edKey},
		{Host: "@cert-authority", Type: edType, Key: edKey},
		{Host: "", Type: edType, Key: edKey},
		{Host: "a", Type: "ssh-rsa", Key: edKey},
		{Host: "a", Type: edType + " x", Key: edKey},
		{Host: "a", Type: edType, Key: "AA=="},
		{Host: "a", Type: edType, Key: "no base64"},
	} {
		if text, err := repository.PutHostKey("", bad, true); err == nil {
			t.Errorf("%+v is taken: %q", bad, text)
		}
	}
}

func TestCheckAuthority(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	good := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := repository.CheckAuthority(good + good); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "words": "hello", "a key": good + string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})),
		"rest": good + "hello", "broken": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der[:20]})),
	} {
		if repository.CheckAuthority(text) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
