//go:build !linux

package truth_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
