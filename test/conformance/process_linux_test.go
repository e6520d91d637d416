package conformance_test

import "syscall"

// dieWithParent ends the implementation when the test process is killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
