//go:build !linux

package worker

import (
	"os/exec"
	"time"
)

// Limit does nothing here: a worker's own limits and the parent's clock are all there is.
func Limit(uint64) {}

// LimitMemory does nothing here.
func LimitMemory(uint64) {}

// LimitFiles does nothing here.
func LimitFiles() {}

// ProcessorTime is not known here, so that only the clock counts.
func ProcessorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }

func bind(*exec.Cmd) {}

// Usage is not known here, so that only the clock counts.
func Usage(int) (resident uint64, processor time.Duration) { return 0, 0 }
