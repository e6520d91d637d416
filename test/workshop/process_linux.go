package workshop

import "syscall"

// Bound ends a program when the one that started it is killed.
func Bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
