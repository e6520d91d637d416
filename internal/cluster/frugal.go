package cluster

import "runtime/debug"

// startGC is how much garbage, in percent of what is kept, may gather while an
// index is filled. The first lists of all kinds decode far more than stays; the
// usual hundred percent makes the peak of a start more than one and a half
// times what the index needs afterwards.
const startGC = 70

// Frugal keeps the garbage of a start small until end is called. It is about
// the whole process, so it is for a program's main to call, not for a library.
func Frugal() (end func()) {
	usual := debug.SetGCPercent(startGC)
	return func() { debug.SetGCPercent(usual) }
}
