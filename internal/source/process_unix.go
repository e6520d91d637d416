//go:build unix

package source

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endWithChildren makes the end of the context end the children of the process too: git does its transfers in them.
// They are asked first, so that they remove their temporary files.
func endWithChildren(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = 2 * time.Second
	command.Cancel = func() error {
		return syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	}
}

// endGroup ends the children that did not listen. It is called as soon as their parent is gone.
func endGroup(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
}

// lockFile takes the file for this process alone, until it is closed.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
