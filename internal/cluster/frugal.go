package cluster

import (
	"runtime"
	"runtime/debug"
)

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

// spareRoom counts as in use, so that as much garbage again may gather before it
// is collected. A process that holds little would else collect all the time while
// it works, for a sixth of what it does in a first sync of many applications; the
// room itself is never touched and takes no memory.
const spareRoom = 32 << 20

// Roomy gives a process that room until end is called. As Frugal, it is for a
// program's main.
func Roomy() (end func()) {
	room := make([]byte, spareRoom)
	return func() { runtime.KeepAlive(room) }
}
