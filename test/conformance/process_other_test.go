//go:build !linux

package conformance_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
