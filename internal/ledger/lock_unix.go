//go:build unix

package ledger

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other processes away until the file is closed.
func lock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
