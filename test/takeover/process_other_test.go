//go:build !linux

package takeover_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
