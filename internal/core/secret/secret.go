// Package secret is text that must not be seen. It must not offer any way to
// the value but the one that says so.
package secret

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// Text is a value that signs somebody in. However it is printed, logged or
// encoded, it is not told; Reveal is the one way to it.
type Text struct{ value string }

// New hides a value.
func New(value string) Text { return Text{value: value} }

// Reveal is the value, for the one who signs in with it.
func (t Text) Reveal() string { return t.value }

// Empty says that there is none.
func (t Text) Empty() bool { return t.value == "" }

// Digest tells one value from another without telling either.
func (t Text) Digest() [sha256.Size]byte { return sha256.Sum256([]byte(t.value)) }

const hidden = "******"

// String is for people, who do not need to see it.
func (t Text) String() string { return hidden }

// GoString is for debuggers.
func (t Text) GoString() string { return hidden }

// Format is for every verb.
func (t Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalJSON is for every encoder, logs among them.
func (t Text) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// UnmarshalJSON hides a value from the moment that it is read. The word that stands for a hidden one is none: whoever sends
// it back would have it stored.
func (t *Text) UnmarshalJSON(data []byte) error {
	var value string
	if err := json.Unmarshal(data, &value); err != nil {
		return errors.New("it is no text")
	}
	if value == hidden {
		return errors.New("it is the mask of a value, and no value")
	}
	t.value = value
	return nil
}
