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

// process is what the kernel says of one: who started it, and its CPU time so
// far in seconds, alone and with those that it started and that have ended.
type process struct {
	parent    int
	own, with float64
}

func processOf(pid int) (process, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	// The program's name is in parentheses and may hold anything.
	text := string(data)
	rest := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const parent, first, last = 1, 11, 14
	if len(rest) <= last {
		return process{}, fmt.Errorf("reading the CPU time of process %d: unexpected %q", pid, text)
	}
	var numbers [1 + last - first + 1]int64
	for i, at := range []int{parent, first, first + 1, first + 2, last} {
		if numbers[i], err = strconv.ParseInt(rest[at], 10, 64); err != nil {
			return process{}, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
		}
	}
	own := numbers[1] + numbers[2]
	return process{parent: int(numbers[0]), own: float64(own) / ticks, with: float64(own+numbers[3]+numbers[4]) / ticks}, nil
}

// cpuOf is the CPU time of a process so far, in seconds.
func cpuOf(pid int) (float64, error) {
	p, err := processOf(pid)
	return p.own, err
}

// treeCPU is the CPU time of a process and of all that it started, in seconds:
// workers that render and programs such as git work for it too.
func treeCPU(root int) (float64, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("listing the processes: %w", err)
	}
	all := map[int]process{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			// Some end while we look.
			if p, err := processOf(pid); err == nil {
				all[pid] = p
			}
		}
	}
	if _, ok := all[root]; !ok {
		return 0, fmt.Errorf("reading the CPU time of process %d: it has ended", root)
	}
	sum := 0.0
	for pid, p := range all {
		for at, hops := pid, 0; hops < len(all); at, hops = all[at].parent, hops+1 {
			if at == root {
				sum += p.with
				break
			}
			if _, ok := all[at]; !ok {
				break
			}
		}
	}
	return sum, nil
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
	m.RSS, m.Peak, err = resident(os.Getpid())
	return m, err
}

// resident reads the RSS of a process and its highest value so far, in MiB.
func resident(pid int) (now, peak float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	into := map[string]*float64{"VmRSS:": &now, "VmHWM:": &peak}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || into[fields[0]] == nil {
			continue
		}
		kib, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
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
