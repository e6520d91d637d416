package worker

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Limit takes away from this process what a worker does not need: more memory than it has and a margin, further files
// and connections (there are none without a new descriptor), core dumps. Where a limit cannot be set the parent still
// watches.
func Limit(margin uint64) {
	LimitMemory(margin)
	LimitFiles()
}

// LimitMemory is the part of Limit that reads a file.
func LimitMemory(margin uint64) {
	if mapped := statusField("VmData:"); mapped > 0 {
		limit(syscall.RLIMIT_DATA, mapped+margin)
	}
}

// LimitFiles is the part of Limit after which no file can be opened, by whatever means.
func LimitFiles() {
	limit(syscall.RLIMIT_NOFILE, 0)
	limit(syscall.RLIMIT_FSIZE, 0)
	limit(syscall.RLIMIT_CORE, 0)
}

func limit(resource int, n uint64) {
	_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}

// statusField reads a size of this process from the kernel, in bytes.
func statusField(name string) uint64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(raw) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		kib, err := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}

// ProcessorTime is how much this process has used.
func ProcessorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return time.Hour
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// bind makes the worker end with this process, whatever it is doing.
func bind(cmd *exec.Cmd) {
	// In a group of its own, so that a Ctrl-C is for the parent to answer.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Usage is what a process uses: memory that is really there, and processor time.
func Usage(pid int) (resident uint64, processor time.Duration) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name of the program is in brackets and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return 0, 0
	}
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(string(fields[i]), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	return number(21) * uint64(os.Getpagesize()), time.Duration(number(11)+number(12)) * tick
}
