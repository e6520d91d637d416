package object

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	hashValue(h, u.Object)
	return sum(h)
}

// LiveDigest names what an apply could meet in a live object: all of it except
// what the server alone writes, plus the fields that manager owns through
// Apply. Two readings of an object with the same digest get the same answer
// from a dry-run of the same manifest: its answer depends on the values and on
// what we own, and on nothing else. Status churn does not move it.
func LiveDigest(u *unstructured.Unstructured, manager string) Digest {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(u.Object)) {
		switch k {
		case "status":
		case "metadata":
			hashMetadata(h, u.Object[k])
		default:
			hashString(h, k)
			hashValue(h, u.Object[k])
		}
	}
	for _, e := range managedBy(u, manager) {
		hashValue(h, e["operation"])
		hashValue(h, e["apiVersion"])
		hashValue(h, e["fieldsV1"])
	}
	return sum(h)
}

// managedBy picks the manager's entries out of managedFields without the
// conversion that GetManagedFields makes of every entry.
func managedBy(u *unstructured.Unstructured, manager string) []map[string]any {
	meta, _ := u.Object["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	var out []map[string]any
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if ok && m["manager"] == manager && m["subresource"] == nil {
			out = append(out, m)
		}
	}
	return out
}

func hashMetadata(h hash.Hash, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		hashValue(h, v)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch k {
		case "managedFields", "resourceVersion", "generation", "selfLink":
		default:
			hashString(h, k)
			hashValue(h, m[k])
		}
	}
}

// hashValue feeds a JSON value to h in an encoding without ambiguity: a type
// letter, a length where needed, the content. It allocates next to nothing,
// which json.Marshal does not manage.
func hashValue(h hash.Hash, v any) {
	switch t := v.(type) {
	case nil:
		_, _ = h.Write([]byte{'n'})
	case bool:
		if t {
			_, _ = h.Write([]byte{'t'})
			return
		}
		_, _ = h.Write([]byte{'f'})
	case string:
		hashString(h, t)
	case int64:
		hashTagged(h, 'i', strconv.FormatInt(t, 10))
	case float64:
		hashTagged(h, 'd', strconv.FormatFloat(t, 'g', -1, 64))
	case []any:
		hashTagged(h, 'a', strconv.Itoa(len(t)))
		for _, e := range t {
			hashValue(h, e)
		}
	case map[string]any:
		hashTagged(h, 'o', strconv.Itoa(len(t)))
		for _, k := range slices.Sorted(maps.Keys(t)) {
			hashString(h, k)
			hashValue(h, t[k])
		}
	default:
		// Not a value that unstructured decoding makes; stay right anyway.
		raw, err := json.Marshal(t)
		if err != nil {
			raw = []byte(err.Error())
		}
		hashTagged(h, 'x', string(raw))
	}
}

func hashString(h hash.Hash, s string) { hashTagged(h, 's', s) }

func hashTagged(h hash.Hash, tag byte, s string) {
	var buf [24]byte
	b := append(buf[:0], tag)
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	_, _ = h.Write(b)
	_, _ = h.Write([]byte(s))
}

func sum(h hash.Hash) Digest {
	var full [sha256.Size]byte
	h.Sum(full[:0])
	var d Digest
	copy(d[:], full[:])
	return d
}
