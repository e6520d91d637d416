package takeover_test

import "syscall"

// dieWithParent ends a program when the test process is killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
