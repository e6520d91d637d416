package object

import "slices"

// Seen names what a look at an application was made from: the commits of its sources, the APIs of its cluster where renders
// depend on them, and everything else. It means the same in every process, so it may be kept on disk.
type Seen struct {
	Sum       Digest
	Revisions []string
	// APIs are empty where it does not matter what they are.
	APIs string
}

// IsZero reports whether nothing was seen.
func (s Seen) IsZero() bool { return s.Sum.IsZero() }

// Equal reports whether two looks were made from the same.
func (s Seen) Equal(other Seen) bool {
	return s.Sum == other.Sum && s.APIs == other.APIs && slices.Equal(s.Revisions, other.Revisions)
}
