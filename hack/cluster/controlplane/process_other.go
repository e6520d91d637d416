//go:build unix && !linux

package controlplane

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes cannot tie a child to its parent's life here: Stop ends the children, and a killed parent
// leaves them to `go run ./hack/cluster down`.
func childAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// processIdentity is the start time of a process, which together with the pid names it.
func processIdentity(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("reading the process table: %w", err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", fmt.Errorf("reading the process table: pid %d has ended", pid)
	}
	return strings.TrimSpace(started), nil
}
