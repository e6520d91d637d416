package script

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/worker"
)

// lane is one worker after the other, and the runs that it is given in turn.
type lane struct {
	options HostOptions

	mu     sync.Mutex
	worker *process
	idle   *time.Timer
	// refused is when and why a worker last could not be started.
	refused   time.Time
	refusedBy error
}

// Together in one message: enough to make the way there cheap, and little
// enough for the worker's memory.
const (
	batchRuns  = 64
	batchBytes = 1 << 20
)

// run gives the inputs to the worker. The one that a worker dies of gets the
// blame, and those after it go to the next worker.
func (l *lane) run(s Script, inputs [][]byte) []Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Result, 0, len(inputs))
	for len(out) < len(inputs) {
		w, err := l.start()
		if err != nil {
			for len(out) < len(inputs) {
				out = append(out, Result{Problem: fmt.Sprintf("the process that runs scripts cannot be started: %v", err)})
			}
			return out
		}
		answers, death := w.ask(s, batchOf(inputs[len(out):]))
		out = append(out, answers...)
		if death != nil {
			out = append(out, *death)
		}
		if w.dead {
			l.worker = nil
		}
	}
	l.rest()
	return out
}

func batchOf(inputs [][]byte) [][]byte {
	size := 0
	for i, in := range inputs {
		size += len(in)
		if i > 0 && (i == batchRuns || size > batchBytes) {
			return inputs[:i]
		}
	}
	return inputs
}

// again is how long nobody tries to start a worker after one could not be.
const again = 5 * time.Second

func (l *lane) start() (*process, error) {
	if l.worker != nil {
		return l.worker, nil
	}
	if l.refusedBy != nil && time.Since(l.refused) < again {
		return nil, l.refusedBy
	}
	w, err := startProcess(l.options.Command)
	if err != nil {
		l.refused, l.refusedBy = time.Now(), err
		return nil, err
	}
	l.worker, l.refusedBy = w, nil
	return w, nil
}

// rest ends the worker when there is no work for a while.
func (l *lane) rest() {
	if l.idle == nil {
		l.idle = time.AfterFunc(l.options.Idle, l.close)
		return
	}
	l.idle.Reset(l.options.Idle)
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.worker != nil {
		l.worker.End()
		l.worker = nil
	}
}

// request is the message that asks for the runs.
func (w *process) request(s Script, inputs [][]byte) []byte {
	id, known := w.known[s]
	if !known {
		id = strconv.Itoa(len(w.known))
	}
	frame := worker.AppendText(worker.NewFrame(w.buf), id)
	if known {
		frame = append(frame, worker.TagFalse)
	} else {
		w.known[s] = id
		frame = append(frame, worker.TagTrue, worker.BoolTag(s.OpenLibs))
		frame = worker.AppendText(frame, s.Source)
	}
	frame = worker.AppendCount(frame, len(inputs))
	for _, in := range inputs {
		frame = append(worker.AppendCount(frame, len(in)), in...)
	}
	w.buf = frame
	return frame
}
