package object

import "slices"

// Seen names what a look at an application was made from: the commits of its sources, and everything else. It means the same in
// every process, so it may be kept on disk.
type Seen struct {
	Sum       Digest
	Revisions []string
}

// IsZero reports whether nothing was seen.
func (s Seen) IsZero() bool { return s.Sum.IsZero() }

// Equal reports whether two looks were made from the same.
func (s Seen) Equal(other Seen) bool {
	return s.Sum == other.Sum && slices.Equal(s.Revisions, other.Revisions)
}
