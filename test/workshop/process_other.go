//go:build !linux

package workshop

import "syscall"

// Bound ends a program when the one that started it is killed, on Linux.
func Bound() *syscall.SysProcAttr { return nil }
