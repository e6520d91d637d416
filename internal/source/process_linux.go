package source

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// bound bounds what the process, and what it starts from now on, may write into one file and have in memory: a pack that
// grows without end is ended by the system, and so is one of whose few bytes an object of gigabytes is made. Git has to
// find the server first, so this comes before it starts to write.
func (l limits) bound(command *exec.Cmd) {
	for what, most := range map[int]int64{unix.RLIMIT_FSIZE: l.file, unix.RLIMIT_DATA: l.memory} {
		limit := unix.Rlimit{Cur: uint64(max(most, 0)), Max: uint64(max(most, 0))}
		_ = unix.Prlimit(command.Process.Pid, what, &limit, nil)
	}
}
