//go:build !linux

package api_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
