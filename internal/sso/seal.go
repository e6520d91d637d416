package sso

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/towline-cd/towline/internal/core/secret"
)

// What is sealed. One is never taken for the other: each has a key of its own.
const (
	forVisit   = "towline single sign-on: away"
	forSession = "towline single sign-on: session"
)

var errSeal = errors.New("it was not sealed here, or by another key")

// seal hides a value from whoever carries it, and from changes.
func seal(key secret.Text, purpose string, value any) (string, error) {
	box, err := open(key, purpose)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("sealing: %w", err)
	}
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce) // random bytes never fail to come
	return base64.RawURLEncoding.EncodeToString(box.Seal(nonce, nonce, text, []byte(purpose))), nil
}

// unseal is what was sealed.
func unseal(key secret.Text, purpose, sealed string, into any) error {
	box, err := open(key, purpose)
	if err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(text) < box.NonceSize() {
		return errSeal
	}
	text, err = box.Open(nil, text[:box.NonceSize()], text[box.NonceSize():], []byte(purpose))
	if err != nil {
		return errSeal
	}
	if json.Unmarshal(text, into) != nil {
		return errSeal
	}
	return nil
}

func open(key secret.Text, purpose string) (cipher.AEAD, error) {
	if key.Empty() {
		return nil, errors.New("there is no key to seal with")
	}
	own, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return cipher.NewGCM(block)
}
