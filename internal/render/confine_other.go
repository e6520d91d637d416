//go:build !linux

package render

import "runtime"

// confine does nothing here: the worker has no credentials and is given no files, and that is all.
func confine() string {
	return sandboxNone + "there is no confinement on " + runtime.GOOS
}

// setMemory does nothing here.
func setMemory(int, uint64) {}
