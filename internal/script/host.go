package script

import (
	"fmt"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/worker"
)

// Script is a piece of Lua that a user wrote, with the place where it stands.
type Script struct {
	// Origin names the place to people: "argocd-cm resource.customizations…".
	Origin string
	Source string
	// OpenLibs adds string, math and coroutine to what the script may use.
	OpenLibs bool
}

// Result is what one run of a script gave: a value as JSON has them, or the
// problem that kept it from giving one.
type Result struct {
	Value   any
	Problem string
	// Stopped says that the script reached a limit.
	Stopped bool
}

// HostOptions say how a worker is started.
type HostOptions struct {
	// Command is the program and its arguments that call Work.
	Command []string
	// Idle is how long a worker without work is kept: five minutes.
	Idle time.Duration
}

// Host runs Lua in worker processes of this very program, which it starts when
// there is work, ends when they are idle, and kills when a script gets out of
// hand. It is safe for use by many goroutines.
type Host struct {
	// A script that once reached a limit runs in the second lane, where it
	// holds up nobody but its like.
	fast, slow *lane

	mu        sync.Mutex
	notorious map[Script]struct{}
}

// NewHost makes a host. No process is started before there is work.
func NewHost(o HostOptions) *Host {
	if o.Idle <= 0 {
		o.Idle = 5 * time.Minute
	}
	return &Host{fast: &lane{options: o}, slow: &lane{options: o}, notorious: map[Script]struct{}{}}
}

// largestInput bounds what a script is given, as it travels.
const largestInput = 6 << 20

// Run runs a script once for each set of globals. It takes no longer than the
// limits of a script times the number of runs.
func (h *Host) Run(s Script, runs []map[string]any) []Result {
	out := make([]Result, len(runs))
	inputs, places := encodeRuns(s, runs, out)
	for i, r := range h.lane(s).run(s, inputs) {
		if r.Problem != "" {
			r.Problem = s.Origin + ": " + r.Problem
		}
		if r.Stopped {
			h.remember(s)
		}
		out[places[i]] = r
	}
	return out
}

// encodeRuns makes the inputs, in one piece of memory. A run that cannot be
// made into one gets its result at once; places are those of the others.
func encodeRuns(s Script, runs []map[string]any, out []Result) (inputs [][]byte, places []int) {
	var e worker.Encoder
	var ends []int
	for i, globals := range runs {
		start := len(e.Out)
		e.Fields(globals, 0)
		err := e.Err
		if size := len(e.Out) - start; err == nil && size > largestInput {
			err = fmt.Errorf("the object has %d bytes, more than the %d that a script is given", size, largestInput)
		}
		if err != nil {
			out[i] = Result{Problem: s.Origin + ": " + err.Error()}
			e = worker.Encoder{Out: e.Out[:start]}
			continue
		}
		ends, places = append(ends, len(e.Out)), append(places, i)
	}
	start := 0
	for _, end := range ends {
		inputs = append(inputs, e.Out[start:end])
		start = end
	}
	return inputs, places
}

// Check says whether a script compiles, and why not.
func (h *Host) Check(s Script) (problem string) {
	// It is not run: its first statement is the end.
	probe := s
	probe.Source = "do return end " + s.Source
	return h.Run(probe, []map[string]any{{}})[0].Problem
}

// Close ends the workers.
func (h *Host) Close() {
	h.fast.close()
	h.slow.close()
}

func (h *Host) lane(s Script) *lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.notorious[s]; ok {
		return h.slow
	}
	return h.fast
}

// remembered bounds how many scripts are remembered; users have a few dozen.
const remembered = 1000

func (h *Host) remember(s Script) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.notorious) >= remembered {
		clear(h.notorious)
	}
	h.notorious[s] = struct{}{}
}

// appendGlobals appends what a script finds when it begins, in the form that
// the entries of a map have.
func appendGlobals(out []byte, globals map[string]any) ([]byte, error) {
	e := worker.Encoder{Out: out}
	e.Fields(globals, 0)
	return e.Out, e.Err
}
