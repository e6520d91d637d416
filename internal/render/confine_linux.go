package render

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/towline-cd/towline/internal/worker"
)

// confine takes everything away from this process that a render does not need: files, network, programs, other
// processes, more memory. It says how far that went.
func confine() string {
	// The kernel takes a worker before anybody else when memory is short.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	worker.LimitMemory(memoryMargin)
	release := kernel()
	var missing []string
	// Landlock's own rules take a descriptor, so the last of those goes after.
	if lack := restrictFiles(); lack != "" {
		missing = append(missing, lack)
	}
	worker.LimitFiles()
	if err := filterCalls(); err != nil {
		missing = append(missing, fmt.Sprintf("no system call filter (%v)", err))
	}
	switch len(missing) {
	case 0:
		return sandboxFull
	case 1:
		return sandboxPartial + missing[0] + " (kernel " + release + ")"
	default:
		return sandboxNone + strings.Join(missing, ", ") + " (kernel " + release + ")"
	}
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// networkABI is the first version of landlock with rules for TCP.
const networkABI = 4

// restrictFiles has landlock refuse every path, TCP, and signals to others, on all threads. It says what it could not.
func restrictFiles() (missing string) {
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return "no landlock"
	}
	// Without a rule everything that can be refused is.
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return fmt.Sprintf("no landlock (%v)", err)
	}
	if abi < networkABI {
		return "no landlock network rules"
	}
	return ""
}

// filterCalls has the kernel refuse every system call, on all threads, that the runtime does not need to compute.
func filterCalls() error {
	program, err := callFilter()
	if err != nil {
		return err
	}
	// The flag that a filter asks for belongs to a thread; the filter's way to the other threads takes it along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(program))
	for i, raw := range program {
		filter[i] = unix.SockFilter{Code: raw.Op, Jt: raw.Jt, Jf: raw.Jf, K: raw.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	stray, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	if stray != 0 {
		return fmt.Errorf("thread %d has a filter of its own", stray)
	}
	return nil
}

// setMemory gives a worker another bound on its memory than the one that it set itself; it can only be a lower one.
func setMemory(pid int, margin uint64) {
	var has unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &has); err != nil || has.Max == unix.RLIM_INFINITY || margin >= memoryMargin {
		return
	}
	has.Max -= memoryMargin - margin
	has.Cur = has.Max
	// Where it cannot be set this process still watches.
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &has, nil)
}
