package object

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
)

// Digest names content. It is stable across processes and machines, so it may
// be kept on disk.
type Digest [16]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// DigestOf names everything that an object says.
func DigestOf(u *unstructured.Unstructured) Digest {
	h := sha256.New()
	field.HashValue(h, u.Object)
	return sum(h)
}

// DigestOfText names a text.
func DigestOfText(text string) Digest {
	h := sha256.New()
	field.HashValue(h, text)
	return sum(h)
}

// Combine names two things together.
func Combine(a, b Digest) Digest {
	h := sha256.New()
	_, _ = h.Write(a[:])
	_, _ = h.Write(b[:])
	return sum(h)
}

// LiveDigest is the gate: it names the fields that the manager owns through
// Apply, their values and the order of the list items among them. Two readings
// with the same digest get the same answer from a dry-run of the same manifest
// that was confirmed for the first. Status churn and what others own do not
// move it. It is zero, and the gate is off, where the manager owns nothing, or
// where its entry is about another version of the kind and does not fit this
// body.
func LiveDigest(u *unstructured.Unstructured, manager string) Digest {
	entries := field.Applied(u, manager)
	if len(entries) == 0 {
		return Digest{}
	}
	h := sha256.New()
	for _, e := range entries {
		field.HashValue(h, e.APIVersion)
		if !field.Hash(h, e.Fields, u.Object, e.APIVersion == u.GetAPIVersion()) {
			return Digest{}
		}
	}
	return sum(h)
}

func sum(h hash.Hash) Digest {
	var full [sha256.Size]byte
	h.Sum(full[:0])
	var d Digest
	copy(d[:], full[:])
	return d
}
