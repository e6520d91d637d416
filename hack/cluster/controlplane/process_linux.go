package controlplane

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func childAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	// A group of its own keeps a Ctrl-C at the terminal from reaching the children before their parent; the
	// parent-death signal ends them however the parent ends.
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processIdentity is the boot and the start time of a process, which together with the pid name it for good.
func processIdentity(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", fmt.Errorf("reading the process table: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	// The command name is in parentheses and may itself hold spaces and parentheses; the fields follow the last.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const state, startTime = 0, 19
	if len(fields) <= startTime {
		return "", fmt.Errorf("reading the process table: %d fields for pid %d", len(fields), pid)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", fmt.Errorf("reading the process table: pid %d has ended", pid)
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startTime], nil
}
