package script

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/worker"
)

// The limits of a run. The worker holds a script to them; where it cannot, the
// parent ends the worker.
const (
	// timeLimit is how long a script may run.
	timeLimit = 100 * time.Millisecond
	// heapLimit is how much a worker may hold. The kernel's limit is a little
	// above, for what comes in a single step.
	heapLimit = 40 << 20
	// softLimit is where the garbage collector stops being lazy.
	softLimit = 28 << 20
	// stackLimit is how deep the library's own recursion may go.
	stackLimit = 8 << 20
	// lookEvery is how often a run that takes long is looked at.
	lookEvery = 2 * time.Millisecond
	// dataMargin is how much more memory than at its start a worker may map: what
	// a script can take in a single step, before anybody looks.
	dataMargin = 48 << 20
)

// exitMemory is how a worker says that a script took too much memory.
const exitMemory = 66

// What an answer begins with.
const (
	answerValue   = 'v' // a value
	answerProblem = 'p' // a text: the script is wrong
	answerTime    = 'z' // the time limit was reached
)

// Work is the worker process: it answers the requests that come in until there
// are none left. It must be given a process of its own, whose memory, files
// and life it limits.
func Work(in io.Reader, out io.Writer) error {
	// A script's dates do not depend on the machine.
	time.Local = time.UTC
	debug.SetMaxStack(stackLimit)
	debug.SetMemoryLimit(softLimit)
	debug.SetGCPercent(50)
	frames := make(chan []byte)
	w := &runner{interpreter: newInterpreter(), watch: newWatch(), out: out}
	// Compile and run something, so that what is made once is made.
	w.interpreter.compile("", "return obj", true)
	w.run("", []byte{0})
	worker.Limit(dataMargin)
	if err := worker.WriteFrame(out, worker.NewFrame(nil)); err != nil {
		return err
	}
	go receive(in, frames)
	for frame := range frames {
		if err := w.answer(frame); err != nil {
			return err
		}
	}
	return nil
}

// receive reads ahead, so that the end of the parent is the end of the worker
// whatever a script is doing.
func receive(in io.Reader, frames chan<- []byte) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		frame, err := worker.ReadFrame(r, nil)
		if err != nil {
			os.Exit(0) //nolint:forbidigo // this process is the worker and nothing else
		}
		frames <- frame
	}
}

type runner struct {
	interpreter *interpreter
	watch       *watch
	out         io.Writer
	buf         []byte
}

// A request is the id of a script, its source if it is new, and the globals of
// each run; each run has an answer of its own, sent as soon as it is known: so
// the parent knows which run a worker died of.
func (w *runner) answer(frame []byte) error {
	c := worker.Cursor{Data: frame}
	id, fresh := c.Text(), c.Tag() == worker.TagTrue
	if fresh {
		open := c.Tag() == worker.TagTrue
		w.interpreter.compile(id, c.Text(), open)
	}
	for n := c.Count(); n > 0 && c.Err == nil; n-- {
		globals := c.Bytes()
		if c.Err != nil {
			break
		}
		w.run(id, globals)
		if err := worker.WriteFrame(w.out, w.buf); err != nil {
			return err
		}
	}
	return c.Err
}

func (w *runner) run(id string, globals []byte) {
	ctx := w.watch.begin()
	out, err := w.interpreter.run(ctx, id, globals, append(worker.NewFrame(w.buf), answerValue))
	w.watch.end()
	switch {
	case errors.Is(ctx.Err(), errTime):
		// What it left behind must not be the burden of the next.
		runtime.GC()
		w.buf = append(worker.NewFrame(w.buf), answerTime)
	case err != nil:
		w.buf = worker.AppendText(append(worker.NewFrame(w.buf), answerProblem), err.Error())
	default:
		w.buf = out
	}
}

// watch is the context of the current run: the Lua library asks it before each
// instruction, also inside of a pcall, so that a script that catches the limit
// gets no further.
type watch struct {
	timer  *time.Timer
	sample []metrics.Sample

	mu      sync.Mutex
	running bool
	started time.Time
	cpu     time.Duration
	done    chan struct{}
	err     error
}

var _ context.Context = (*watch)(nil)

func newWatch() *watch {
	w := &watch{done: make(chan struct{}), sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

func (w *watch) begin() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		w.done, w.err = make(chan struct{}), nil
	}
	w.running, w.started, w.cpu = true, time.Now(), -1
	w.timer.Reset(lookEvery)
	return w
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = false
	w.timer.Stop()
}

// look ends a run that has used up its time, and the process if it holds too
// much: there is no way to take memory away from a script.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.running || w.err != nil {
		return
	}
	metrics.Read(w.sample)
	if w.sample[0].Value.Uint64() > heapLimit {
		os.Exit(exitMemory) //nolint:forbidigo // this process is the worker and nothing else
	}
	if w.cpu < 0 {
		w.cpu = worker.ProcessorTime()
	}
	if time.Since(w.started) >= timeLimit && !w.starved() {
		w.err = errTime
		close(w.done)
		return
	}
	w.timer.Reset(lookEvery)
}

// starved says that the machine did not let the script run, for which it must
// not be blamed; but not for ever.
func (w *watch) starved() bool {
	return worker.ProcessorTime()-w.cpu < timeLimit/2 && time.Since(w.started) < patience
}

// patience is how long a script that gets no processor is waited for.
const patience = 2 * time.Second

// Done is closed when the run is over its limit.
func (w *watch) Done() <-chan struct{} { return w.done }

// Err says which limit was reached.
func (w *watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Deadline is not told: there is none while the machine is busy.
func (w *watch) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value is nothing: a script gets the document alone.
func (w *watch) Value(any) any { return nil }
