// Package signature says who signed a commit or a tag of git, by OpenPGP or by SSH. It works on bytes and keys alone: it
// must not fetch anything, and whether a signer is one that counts is for others to decide.
//
// It is strict where git is lenient. What is signed must be read by everybody in the same way, so an object with a
// header twice, out of order or cut short is refused before its signature is looked at.
package signature

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Signature is what is known of who signed something.
type Signature struct {
	// Good says that one of the keys signed exactly this.
	Good bool
	// Keys are the names of the key that signed: fingerprints and ids of OpenPGP in upper case, those of the subkey and
	// of its primary key, or an SSH fingerprint like SHA256:…; and the name that the key is kept under.
	Keys []string
	// Signer is for people.
	Signer string
	// Reason says why it is not good, for people.
	Reason string
}

// By reports whether one of the named keys signed. Ids of OpenPGP may be written short, but not below 16 digits, which
// anybody can make a key for.
func (s Signature) By(names []string) bool {
	if !s.Good {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if slices.Contains(s.Keys, name) {
			return true
		}
		id := strings.ToUpper(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(name), " ", ""), "0x"))
		if _, err := hex.DecodeString(id); err != nil || len(id) < 16 {
			return false
		}
		return slices.ContainsFunc(s.Keys, func(key string) bool { return key == id })
	})
}

func bad(format string, args ...any) Signature {
	return Signature{Reason: fmt.Sprintf(format, args...)}
}

// Beginnings of signatures.
const (
	beginPGP  = "-----BEGIN PGP SIGNATURE-----"
	beginPGPm = "-----BEGIN PGP MESSAGE-----"
	beginSSH  = "-----BEGIN SSH SIGNATURE-----"
	beginX509 = "-----BEGIN SIGNED MESSAGE-----"
)

// Check says who signed a payload. keys are armoured OpenPGP keys, or SSH keys as authorized_keys has them, by the names
// that they are kept under.
func Check(payload []byte, signature string, keys map[string]string, now time.Time) (found Signature) {
	// The parsers see what strangers wrote: what they stumble over is no signature.
	defer func() {
		if recover() != nil {
			found = bad("the signature cannot be read")
		}
	}()
	text := strings.TrimSpace(signature)
	if text != "" && !whole(text) {
		return bad("its signature is cut short, or more follows it")
	}
	switch {
	case text == "":
		return bad("it is not signed")
	case strings.HasPrefix(text, beginPGP), strings.HasPrefix(text, beginPGPm):
		return checkPGP(payload, text, keys, now)
	case strings.HasPrefix(text, beginSSH):
		return checkSSH(payload, text, keys)
	case strings.HasPrefix(text, beginX509):
		return bad("it is signed by X.509, which is not supported")
	}
	return bad("its signature is of an unknown kind")
}

// whole says that a signature ends where its text does: what follows it is not signed, and must not look as if it was.
func whole(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	_, rest, found := strings.Cut(text, strings.Replace(strings.TrimSpace(first), "BEGIN", "END", 1))
	return found && strings.TrimSpace(rest) == ""
}

func checkPGP(payload []byte, text string, keys map[string]string, now time.Time) Signature {
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		return bad("its OpenPGP signature cannot be read")
	}
	body, err := io.ReadAll(io.LimitReader(block.Body, 1<<20))
	if err != nil {
		return bad("its OpenPGP signature cannot be read")
	}
	var ring openpgp.EntityList
	names := map[uint64]string{}
	for name, key := range keys {
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key))
		if err != nil {
			continue // an SSH key, or none
		}
		for _, entity := range entities {
			names[entity.PrimaryKey.KeyId] = name
		}
		ring = append(ring, entities...)
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	signed, signer, err := openpgp.VerifyDetachedSignature(ring, bytes.NewReader(payload), bytes.NewReader(body), config)
	if err != nil || signer == nil {
		if signed != nil && signed.IssuerKeyId != nil {
			return bad("its signature by the key %016X is not valid: %v", *signed.IssuerKeyId, err)
		}
		if id, ok := issuer(body); ok && len(ring.KeysById(id)) == 0 {
			return bad("it is signed by the key %016X, which is not known; add it to the config map argocd-gpg-keys-cm", id)
		}
		return bad("its OpenPGP signature is not valid: %v", err)
	}
	out := Signature{Good: true, Keys: []string{names[signer.PrimaryKey.KeyId]}}
	for _, key := range ring.KeysById(*signed.IssuerKeyId) {
		for _, public := range []*packet.PublicKey{key.PublicKey, key.Entity.PrimaryKey} {
			out.Keys = append(out.Keys, strings.ToUpper(hex.EncodeToString(public.Fingerprint)), fmt.Sprintf("%016X", public.KeyId))
		}
	}
	out.Signer = fmt.Sprintf("%016X", signer.PrimaryKey.KeyId)
	if identity := signer.PrimaryIdentity(); identity != nil {
		out.Signer = identity.Name
	}
	return out
}

// issuer is the key that a signature says it is from.
func issuer(body []byte) (uint64, bool) {
	next, err := packet.NewReader(bytes.NewReader(body)).Next()
	if err != nil {
		return 0, false
	}
	signed, ok := next.(*packet.Signature)
	if !ok || signed.IssuerKeyId == nil {
		return 0, false
	}
	return *signed.IssuerKeyId, true
}

// sshNamespace is what git signs for; a signature of a file or a login is for something else.
const sshNamespace = "git"

func checkSSH(payload []byte, text string, keys map[string]string) Signature {
	signed, err := sshsig.Unarmor([]byte(text))
	if err != nil {
		return bad("its SSH signature cannot be read")
	}
	wanted := ssh.FingerprintSHA256(signed.PublicKey)
	for name, key := range keys {
		known, comment, _, _, err := ssh.ParseAuthorizedKey([]byte(key))
		if err != nil || ssh.FingerprintSHA256(known) != wanted {
			continue
		}
		if err := sshsig.Verify(bytes.NewReader(payload), signed, known, signed.HashAlgorithm, sshNamespace); err != nil {
			return bad("its signature by the key %s is not valid: %v", wanted, err)
		}
		if comment == "" {
			comment = name
		}
		return Signature{Good: true, Keys: []string{name, wanted}, Signer: comment}
	}
	return bad("it is signed by the SSH key %s, which is not known; add it to the config map argocd-gpg-keys-cm", wanted)
}
