package script

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/worker"
)

const (
	// residentLimit is how much more memory than at its start a worker may have
	// before it is killed.
	residentLimit = 56 << 20
	// killAfter is how long a run may take before the worker is killed: its own
	// limit did not hold, since a single step takes that long.
	killAfter = 200 * time.Millisecond
)

// process is a worker, as its parent sees it. One request is made at a time.
type process struct {
	*worker.Process
	// peak is the most memory that was seen.
	peak uint64
	// known are the scripts that the worker has, by the ids they have there.
	known map[Script]string
	buf   []byte
	// dead says that it has ended.
	dead bool
}

func startProcess(command []string) (*process, error) {
	started, err := worker.Start(command)
	if err != nil {
		return nil, err
	}
	return &process{Process: started, known: map[Script]string{}}, nil
}

// ask has the inputs run. Where the worker dies, the answers that came are
// those of the runs before, and death is the result of the one that it died
// of; nil if that one had answered after all.
func (w *process) ask(s Script, inputs [][]byte) (answers []Result, death *Result) {
	guard := newVigil(w)
	err := worker.WriteFrame(w.In, w.request(s, inputs))
	var frame []byte
	for err == nil && len(answers) < len(inputs) {
		guard.begins(len(answers))
		if frame, err = worker.ReadFrame(w.Out, frame); err != nil {
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
	w.Kill()
	_ = w.Wait()
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
	c := worker.Cursor{Data: frame}
	var r Result
	switch c.Tag() {
	case answerValue:
		r.Value = c.Value(0)
	case answerProblem:
		r.Problem = c.Text()
	case answerTime:
		r = Result{Problem: stoppedByTime, Stopped: true}
	default:
		c.Fail(errors.New("the answer has an unknown form"))
	}
	return r, c.Err
}

var (
	stoppedByTime   = fmt.Sprintf("it was stopped at its time limit of %s", timeLimit)
	stoppedByMemory = fmt.Sprintf("it was stopped at its memory limit of %d MiB", heapLimit>>20)
)

// cause says what a worker died of.
func (w *process) cause(err error) string {
	said := w.Said()
	switch {
	case w.State().ExitCode() == exitMemory, w.OutOfMemory():
		return stoppedByMemory
	case strings.Contains(said, "stack"):
		return fmt.Sprintf("it was stopped at its stack limit of %d MiB", stackLimit>>20)
	case said != "":
		return "the process that ran it ended: " + said
	default:
		return fmt.Sprintf("the process that ran it ended (%v): %v", w.State(), err)
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
	resident, processor := worker.Usage(v.worker.Pid())
	if v.processor < 0 {
		v.processor = processor
	}
	v.worker.peak = max(v.worker.peak, resident)
	took := time.Since(v.started)
	switch {
	case resident > v.worker.Baseline+residentLimit:
		v.killed = stoppedByMemory
	case took > killAfter && (resident == 0 || processor-v.processor > killAfter/2 || took > patience+killAfter):
		// A worker that the machine did not let run is given more time.
		v.killed = stoppedByTime
	default:
		v.timer.Reset(lookEvery)
		return
	}
	v.worker.Kill()
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
