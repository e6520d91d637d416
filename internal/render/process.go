package render

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/worker"
)

// process is a worker, as its parent sees it. One render is made at a time: the libraries have state of their own.
type process struct {
	*worker.Process
	limits Limits
	buf    []byte
	said   []byte
	keys   map[string]string
	kube   *manifest.Kube
	// served counts its renders; since is when the last one ended.
	served int
	since  time.Time
	// spent says that it must not be used again.
	spent bool
}

func startProcess(command []string, limits Limits) (*process, string, error) {
	started, err := worker.Start(command)
	if err != nil {
		return nil, "", err
	}
	setMemory(started.Pid(), limits.Memory)
	hello := worker.Cursor{Data: started.Hello}
	return &process{Process: started, limits: limits, keys: map[string]string{}}, hello.Text(), nil
}

// errStale says that a worker was gone before it was given anything to do.
var errStale = errors.New("the worker had ended")

// render has one render made.
func (p *process) render(ctx context.Context, d *desk, req manifest.Request) (manifest.Result, error) {
	guard := newVigil(p)
	stop := context.AfterFunc(ctx, p.Kill)
	result, heard, err := p.talk(d, req)
	stop()
	killed := guard.over()
	p.served++
	var answered *answeredError
	if killed == nil && (err == nil || errors.As(err, &answered)) && ctx.Err() == nil {
		if answered != nil {
			p.spent = p.spent || tainted(answered.err)
			return manifest.Result{}, answered.err
		}
		return result, nil
	}
	p.spent = true
	p.Kill()
	_ = p.Wait()
	switch {
	case ctx.Err() != nil:
		return manifest.Result{}, fault.Transientf("Cancelled", "rendering %q: %w", req.Source.Path, context.Cause(ctx))
	case killed != nil:
		return manifest.Result{}, killed
	case d.over != nil:
		return manifest.Result{}, d.over
	case errors.Is(err, worker.ErrLarge):
		return manifest.Result{}, p.limits.output()
	case fault.ReasonOf(err) == reasonLimit:
		return manifest.Result{}, err
	case !heard && p.served > 1:
		return manifest.Result{}, errStale
	}
	return manifest.Result{}, p.cause(err)
}

// answeredError is an error that the worker told, as against one that befell it.
type answeredError struct{ err error }

func (e *answeredError) Error() string { return e.err.Error() }

func (e *answeredError) Unwrap() error { return e.err }

// tainted reports whether an error leaves doubt about the state of the worker that told it.
func tainted(err error) bool {
	if remote, ok := errors.AsType[*remoteError](err); ok && remote.id != 0 {
		return false // it came from here
	}
	return fault.ClassOf(err) != fault.Terminal || slices.Contains([]string{reasonLimit, reasonPanic}, fault.ReasonOf(err))
}

// talk puts the request and answers what the worker asks, until it answers. It says whether it heard anything at all.
func (p *process) talk(d *desk, req manifest.Request) (result manifest.Result, heard bool, err error) {
	if err := p.request(d, req); err != nil {
		return result, false, err
	}
	var objects []*unstructured.Unstructured
	budget, bytes := 4*p.limits.OutputBytes, int64(0)
	for {
		if p.said, err = worker.ReadFrame(p.Out, p.said); err != nil {
			return result, heard, err
		}
		heard = true
		c := worker.Cursor{Data: p.said, Known: p.keys, Budget: &budget}
		switch said := c.Tag(); said {
		case saidQuestions:
			err = p.answer(d, &c)
		case saidObjects:
			if bytes += int64(len(p.said)); bytes > p.limits.OutputBytes {
				return result, heard, p.limits.output()
			}
			if objects = readObjects(&c, objects); len(objects) > p.limits.Objects {
				return result, heard, p.limits.objects()
			}
		case saidResult:
			result = readResult(&c)
			result.Objects = objects
			return result, heard, c.Err
		case saidError:
			told := readError(&c)
			if c.Err == nil {
				return result, heard, &answeredError{err: known(told, d)}
			}
		default:
			c.Fail(worker.ErrTag)
		}
		if err = errors.Join(err, c.Err); err != nil {
			return result, heard, err
		}
	}
}

// known gives an error that came from a tree of ours its cause again.
func known(told error, d *desk) error {
	if remote, ok := errors.AsType[*remoteError](told); ok {
		if cause := d.cause(remote.id); cause != nil {
			remote.is = cause
		}
	}
	return told
}

func (p *process) request(d *desk, req manifest.Request) error {
	a := asked{Source: req.Source, App: req.App, Build: req.Build, Limits: p.limits}
	for name := range d.trees {
		a.Trees = append(a.Trees, name)
	}
	var kube *manifest.Kube
	if p.kube == nil || p.kube.Version != req.Kube.Version || !slices.Equal(p.kube.APIs, req.Kube.APIs) {
		kube = &manifest.Kube{Version: req.Kube.Version, APIs: slices.Clone(req.Kube.APIs)}
		p.kube = kube
	}
	frame, err := appendRequest(worker.NewFrame(p.buf), a, kube)
	if err != nil {
		return err
	}
	all := d.foresee(req)
	frame = worker.AppendCount(frame, len(all))
	for _, f := range all {
		frame = d.append(appendQuestion(frame, f.question), f.question.op, f.answer)
	}
	p.buf = frame
	return worker.WriteFrame(p.In, frame)
}

// answer answers what the worker asks.
func (p *process) answer(d *desk, c *worker.Cursor) error {
	var questions []question
	for n := c.Count(); n > 0 && c.Err == nil; n-- {
		questions = append(questions, readQuestion(c))
	}
	if c.Err != nil {
		return c.Err
	}
	answers, err := d.ask(questions)
	if err != nil {
		return err
	}
	frame := worker.NewFrame(p.buf)
	for i, a := range answers {
		frame = d.append(frame, questions[i].op, a)
	}
	p.buf = frame
	return worker.WriteFrame(p.In, frame)
}

// cause says what a worker died of.
func (p *process) cause(err error) error {
	said := p.Said()
	switch {
	case p.OutOfMemory():
		return p.limits.memory()
	case strings.Contains(said, "stack"):
		return p.limits.stack()
	case p.State().ExitCode() == exitLate:
		return p.limits.time()
	case said != "":
		return fault.Terminalf(reasonPanic, "the process that rendered it ended: %s; this is a bug of the tool that renders it, "+
			"or of Towline: please report it with the source", said)
	default:
		return fault.Transientf("WorkerEnded", "the process that rendered it was ended (%v): %w", p.State(), err)
	}
}

// lookEvery is how often a render that takes long is looked at.
const lookEvery = 20 * time.Millisecond

// vigil looks at a worker that takes long and has the last word: it kills.
type vigil struct {
	worker *process
	timer  *time.Timer

	mu        sync.Mutex
	done      bool
	started   time.Time
	processor time.Duration
	killed    error
}

func newVigil(p *process) *vigil {
	v := &vigil{worker: p, started: time.Now(), processor: -1}
	// On a busy machine the first look may come before this line is through.
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(lookEvery, v.look)
	return v
}

func (v *vigil) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done || v.killed != nil {
		return
	}
	limits := v.worker.limits
	resident, processor := worker.Usage(v.worker.Pid())
	if v.processor < 0 {
		v.processor = processor
	}
	used, took := processor-v.processor, time.Since(v.started)
	switch {
	case resident > v.worker.Baseline+limits.Memory+limits.Memory/4:
		v.killed = limits.memory()
	case used > limits.CPU:
		v.killed = limits.processor()
	case took > limits.Wall && resident > 0 && used < limits.CPU/4:
		// It waited more than it worked: for the machine, or for what it reads.
		v.killed = fault.Transientf("RenderSlow", "the render took longer than %s and was stopped, though it used %s of processor time: "+
			"the machine is busy, or reading the source is slow", limits.Wall, used.Round(time.Millisecond))
	case took > limits.Wall:
		v.killed = limits.time()
	default:
		v.timer.Reset(lookEvery)
		return
	}
	v.worker.Kill()
}

// over ends the vigil and says why it killed the worker, if it did.
func (v *vigil) over() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done = true
	v.timer.Stop()
	return v.killed
}

// heavy reports whether it has kept much of what it needed for a render.
func (p *process) heavy() bool {
	resident, _ := worker.Usage(p.Pid())
	return resident > p.Baseline+p.limits.Memory/2
}
