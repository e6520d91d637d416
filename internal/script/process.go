package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// residentLimit is how much more memory than at its start a worker may have
	// before it is killed.
	residentLimit = 56 << 20
	// killAfter is how long a run may take before the worker is killed: its own
	// limit did not hold, since a single step takes that long.
	killAfter = 200 * time.Millisecond
	// startLimit is how long a worker may take to say that it is there.
	startLimit = 20 * time.Second
)

// process is a worker, as its parent sees it. One request is made at a time.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *firstWords
	// baseline is the memory that it had when it began, peak the most that was
	// seen since.
	baseline, peak uint64
	// known are the scripts that the worker has, by the ids they have there.
	known map[Script]string
	buf   []byte
	// dead says that it has ended.
	dead bool
}

func startProcess(command []string) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("no command is set")
	}
	w := &process{stderr: &firstWords{}, known: map[Script]string{}}
	w.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx // its runs have limits of their own
	// Nothing of this process: no tokens, no proxies, no paths.
	w.cmd.Env = []string{"GOTRACEBACK=none", "GOMAXPROCS=2"}
	w.cmd.Dir = "/"
	w.cmd.Stderr = w.stderr
	bind(w.cmd)
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 16<<10)
	late := time.AfterFunc(startLimit, w.kill)
	defer late.Stop()
	if _, err := readFrame(w.out, nil); err != nil {
		w.kill()
		_ = w.cmd.Wait()
		return nil, fmt.Errorf("it ended at once: %s", w.stderr.first(err.Error()))
	}
	w.baseline, _ = usage(w.cmd.Process.Pid)
	return w, nil
}

func (w *process) kill() { _ = w.cmd.Process.Kill() }

// end lets a worker go that did nothing wrong.
func (w *process) end() {
	_ = w.in.Close()
	late := time.AfterFunc(time.Second, w.kill)
	defer late.Stop()
	_ = w.cmd.Wait()
}

// ask has the inputs run. Where the worker dies, the answers that came are
// those of the runs before, and death is the result of the one that it died
// of; nil if that one had answered after all.
func (w *process) ask(s Script, inputs [][]byte) (answers []Result, death *Result) {
	guard := newVigil(w)
	err := writeFrame(w.in, w.request(s, inputs))
	var frame []byte
	for err == nil && len(answers) < len(inputs) {
		guard.begins(len(answers))
		if frame, err = readFrame(w.out, frame); err != nil {
			break
		}
		var r Result
		if r, err = answerOf(frame); err == nil {
			answers = append(answers, r)
		}
	}
	killed, at := guard.over()
	if err == nil && killed == "" {
		return answers, nil
	}
	w.dead = true
	w.kill()
	_ = w.cmd.Wait()
	switch {
	case killed == "":
		return answers, &Result{Problem: w.cause(err), Stopped: true}
	case at == len(answers):
		return answers, &Result{Problem: killed, Stopped: true}
	default:
		// The answer came while the worker was being killed for its lateness.
		return answers, nil
	}
}

func answerOf(frame []byte) (Result, error) {
	c := cursor{data: frame}
	var r Result
	switch c.tag() {
	case answerValue:
		r.Value = c.value(0)
	case answerProblem:
		r.Problem = c.text()
	case answerTime:
		r = Result{Problem: stoppedByTime, Stopped: true}
	default:
		c.fail(errors.New("the answer has an unknown form"))
	}
	return r, c.err
}

var (
	stoppedByTime   = fmt.Sprintf("it was stopped at its time limit of %s", timeLimit)
	stoppedByMemory = fmt.Sprintf("it was stopped at its memory limit of %d MiB", heapLimit>>20)
)

// outOfMemory are the words of a runtime that gets no more from the kernel: for
// its heap, or for the stack of another thread.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread"}

// cause says what a worker died of.
func (w *process) cause(err error) string {
	said := w.stderr.first("")
	switch {
	case w.cmd.ProcessState.ExitCode() == exitMemory, slices.ContainsFunc(outOfMemory, func(words string) bool {
		return strings.Contains(said, words)
	}):
		return stoppedByMemory
	case strings.Contains(said, "stack"):
		return fmt.Sprintf("it was stopped at its stack limit of %d MiB", stackLimit>>20)
	case said != "":
		return "the process that ran it ended: " + said
	default:
		return fmt.Sprintf("the process that ran it ended (%v): %v", w.cmd.ProcessState, err)
	}
}

// vigil looks at a worker that takes long and has the last word: it kills.
type vigil struct {
	worker *process
	timer  *time.Timer

	mu        sync.Mutex
	done      bool
	started   time.Time
	processor time.Duration
	// run is the one that the worker is at; killed is why it was killed at it.
	run    int
	killed string
}

func newVigil(w *process) *vigil {
	v := &vigil{worker: w, started: time.Now(), processor: -1}
	// On a busy machine the first look may come before this line is through.
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(5*time.Millisecond, v.look)
	return v
}

// begins says which run the worker is at.
func (v *vigil) begins(run int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.killed == "" {
		v.run, v.started, v.processor = run, time.Now(), -1
	}
}

func (v *vigil) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done || v.killed != "" {
		return
	}
	resident, processor := usage(v.worker.cmd.Process.Pid)
	if v.processor < 0 {
		v.processor = processor
	}
	v.worker.peak = max(v.worker.peak, resident)
	took := time.Since(v.started)
	switch {
	case resident > v.worker.baseline+residentLimit:
		v.killed = stoppedByMemory
	case took > killAfter && (resident == 0 || processor-v.processor > killAfter/2 || took > patience+killAfter):
		// A worker that the machine did not let run is given more time.
		v.killed = stoppedByTime
	default:
		v.timer.Reset(lookEvery)
		return
	}
	v.worker.kill()
}

// over ends the vigil and says why it killed the worker, if it did, and at
// which run.
func (v *vigil) over() (killed string, at int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done = true
	v.timer.Stop()
	return v.killed, v.run
}

// firstWords keeps the beginning of what a worker says, which is why it died.
type firstWords struct {
	mu   sync.Mutex
	text []byte
}

func (f *firstWords) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := 2048 - len(f.text); room > 0 {
		f.text = append(f.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (f *firstWords) first(or string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range strings.Lines(string(f.text)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return or
}
