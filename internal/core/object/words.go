package object

import (
	"crypto/sha256"
	"encoding/binary"
)

// Words are texts that are named together, each with its length so that they stay apart: "a", "bc" is another name than
// "ab", "c".
type Words []byte

// Add adds words.
func (w *Words) Add(words ...string) {
	for _, word := range words {
		*w = binary.AppendUvarint(*w, uint64(len(word)))
		*w = append(*w, word...)
	}
}

// List adds words as one list, with its length.
func (w *Words) List(words []string) {
	w.Count(len(words))
	w.Add(words...)
}

// Count adds a number of things.
func (w *Words) Count(n int) { *w = binary.AppendUvarint(*w, uint64(n)) } //nolint:gosec // a length is not negative

// Digest names them.
func (w Words) Digest() Digest {
	sum := sha256.Sum256(w)
	return Digest(sum[:len(Digest{})])
}
