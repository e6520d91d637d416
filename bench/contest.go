package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// The programs of a contest.
const (
	bareName   = "bare"
	engineName = "engine"
	peerName   = "argocd"
)

// spent is what one piece of work took: the four numbers, and memory.
type spent struct {
	Program string  `json:"program"`
	Wall    float64 `json:"wall"`
	// CPU is that of the program with all that it started, Server that of the
	// API server and etcd.
	CPU    float64 `json:"cpu"`
	Server float64 `json:"server"`
	// Requests are those of the program by verb, Revisions those of etcd, Bytes
	// what etcd was sent and sent back.
	Requests  map[string]int `json:"requests"`
	Revisions int64          `json:"revisions"`
	Bytes     float64        `json:"bytes"`
	// Peak is the highest RSS of the program alone, in MiB; 0 is not measured.
	Peak float64 `json:"peak,omitempty"`

	tally tally
	// writes are the patches of Applications by how many an Application got.
	writes map[int]int
}

// take fills in what was counted.
func (s *spent) take(t tally) {
	s.tally, s.Server, s.Requests, s.Revisions, s.Bytes = t, t.server, t.requests, t.revisions, t.bytes
}

// contestant is one of those who do the same work.
type contestant struct {
	name string
	run  func(ctx context.Context) (spent, error)
	// once is for those who take too long to be asked in every round.
	once bool
}

// contest is what each took, in every round.
type contest map[string][]spent

// contend has all of them do the work in turn, so that a busy moment of the
// machine is nobody's alone, and puts what they took into the report.
func (b *bench) contend(ctx context.Context, all ...contestant) (contest, error) {
	b.report.columns("program", "wall s", "cpu s", "server cpu s", "requests", "revisions", "etcd MiB", "peak MiB")
	out := contest{}
	for round := range b.scale.repeats {
		for _, c := range all {
			if c.once && round > 0 {
				continue
			}
			s, err := c.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("having %s do it: %w", c.name, err)
			}
			s.Program = c.name
			out[c.name] = append(out[c.name], s)
			b.report.Runs = append(b.report.Runs, s)
			b.report.row(c.name, s.Wall, s.CPU, s.Server, s.tally, s.Revisions, s.Bytes/mebibyte, s.Peak)
			b.logf("%s: %.2fs, %.2f CPU-s, server %.2f CPU-s, requests %s, of these for the hub %v",
				c.name, s.Wall, s.CPU, s.Server, s.tally, s.tally.onHub)
		}
	}
	b.report.assert(b.scale.repeats >= 3, "%d repeats are too few", b.scale.repeats)
	for _, c := range all {
		b.report.row(c.name+", median", out.of(c.name, wallOf).spread(), out.of(c.name, cpuOfRun).spread(),
			out.of(c.name, serverOf).spread(), "", "", "", "")
	}
	return out, nil
}

func wallOf(s spent) float64    { return s.Wall }
func cpuOfRun(s spent) float64  { return s.CPU }
func serverOf(s spent) float64  { return s.Server }
func peakOfRun(s spent) float64 { return s.Peak }

// bothCPU is all the CPU time that the work took, which others on the machine
// do not change.
func bothCPU(s spent) float64 { return s.CPU + s.Server }

// of is one figure of a program in every round.
func (c contest) of(name string, figure func(spent) float64) sample {
	out := make(sample, len(c[name]))
	for i, s := range c[name] {
		out[i] = figure(s)
	}
	return out
}

// ratio is how many times as much the engine took as the bare program, in
// every round.
func (c contest) ratio(figure func(spent) float64) sample {
	return ratios(c.of(engineName, figure), c.of(bareName, figure))
}

// notes adds to the last line what each took, and how they compare in CPU time.
func (c contest) notes(r *report) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		r.note(name+"_s", c.of(name, wallOf).median())
		r.note(name+"_cpu_s", c.of(name, cpuOfRun).median())
		r.note(name+"_server_cpu_s", c.of(name, serverOf).median())
	}
	r.note("cpu_ratio", c.ratio(bothCPU).median())
}

// spend has a child carry out an order, and takes what that took besides what
// is counted.
func (w *worker) spend(o order) (spent, error) {
	before, err := treeCPU(w.cmd.Process.Pid)
	if err != nil {
		return spent{}, err
	}
	r, err := w.tell(o)
	if err != nil {
		return spent{}, err
	}
	after, err := treeCPU(w.cmd.Process.Pid)
	return spent{Wall: r.Wall, CPU: after - before}, err
}
