package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

const mebibyte = 1 << 20

// ticks is the unit of the CPU times in /proc, which is the same on every
// Linux that Go runs on.
const ticks = 100

// cpuOf is the CPU time of a process so far, in seconds.
func cpuOf(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	// The program's name is in parentheses and may hold anything.
	text := string(data)
	rest := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const user, system = 11, 12
	if len(rest) <= system {
		return 0, fmt.Errorf("reading the CPU time of process %d: unexpected %q", pid, text)
	}
	var sum uint64
	for _, field := range []string{rest[user], rest[system]} {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
		}
		sum += n
	}
	return float64(sum) / ticks, nil
}

// serverCPU is the CPU time of the API server and etcd so far, in seconds.
func serverCPU(p *controlplane.Plane) (float64, error) {
	pids := p.PIDs()
	sum := 0.0
	for _, name := range []string{controlplane.APIServer, controlplane.Etcd} {
		n, err := cpuOf(pids[name])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// ownCPU is the CPU time of this process so far, in seconds.
func ownCPU() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("reading the own CPU time: %w", err)
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds(), nil
}

// memory is what a process holds, in MiB.
type memory struct {
	Heap float64 `json:"heap"`
	RSS  float64 `json:"rss"`
	Peak float64 `json:"peak"`
}

// collect gives back what is not in use and reads the rest.
func collect() (memory, error) {
	// The second collection frees what finalizers of the first let go.
	runtime.GC()
	debug.FreeOSMemory()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m := memory{Heap: float64(s.HeapInuse) / mebibyte}
	var err error
	m.RSS, m.Peak, err = resident()
	return m, err
}

// resident reads the RSS of this process and its highest value so far, in MiB.
func resident() (now, peak float64, err error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, fmt.Errorf("reading the own memory: %w", err)
	}
	into := map[string]*float64{"VmRSS:": &now, "VmHWM:": &peak}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || into[fields[0]] == nil {
			continue
		}
		kib, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the own memory: %w", err)
		}
		*into[fields[0]] = kib / 1024
	}
	return now, peak, nil
}

// loadAverage is that of the last minute.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
