package source

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// limitFiles bounds what the process, and what it starts from now on, may write into one file: a pack that grows without
// end is ended by the system. Git has to find the server first, so this comes before it starts to write.
func limitFiles(command *exec.Cmd, size int64) {
	limit := unix.Rlimit{Cur: uint64(max(size, 0)), Max: uint64(max(size, 0))}
	_ = unix.Prlimit(command.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
}
