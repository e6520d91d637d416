package render

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// HostOptions say how workers are started and what they may take.
type HostOptions struct {
	// Command is the program and its arguments that call Work.
	Command []string
	// Workers is how many there may be at once: one for each processor.
	Workers int
	// Limits bound each render.
	Limits Limits
	// Idle is how long a worker without work is kept: five minutes.
	Idle time.Duration
	// Renders is how many renders a worker makes before another takes its place: 200.
	Renders int
}

// Host renders in worker processes of this very program, which it starts when there is work, ends when they are idle or
// have worked enough, and kills when a render gets out of hand. It is safe for use by many goroutines.
type Host struct {
	options HostOptions
	// slots are taken by renders that run.
	slots chan struct{}

	mu      sync.Mutex
	idle    []*process // the one that was used last is last
	timer   *time.Timer
	sandbox string
	closed  bool
}

// NewHost makes a host. No process is started before there is work.
func NewHost(o HostOptions) *Host {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Idle <= 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Renders <= 0 {
		o.Renders = 200
	}
	o.Limits = o.Limits.withDefaults()
	return &Host{options: o, slots: make(chan struct{}, o.Workers)}
}

// Render turns content into manifests, or says what has to be fetched first. An error is never a smaller result. A
// worker that dies is the affair of its own render and of no other.
func (h *Host) Render(ctx context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return manifest.Result{}, fault.Transientf("Cancelled", "waiting to render %q: %w", req.Source.Path, context.Cause(ctx))
	}
	for {
		p, err := h.take()
		if err != nil {
			return manifest.Result{}, fault.Transientf("WorkerUnavailable", "the process that renders cannot be started: %w", err)
		}
		d := newDesk(trees, h.options.Limits)
		result, err := p.render(ctx, d, req)
		h.give(p)
		if errors.Is(err, errStale) {
			continue // each time there is one worker less that can be
		}
		if err != nil {
			return manifest.Result{}, err
		}
		result.Reads = d.set()
		return result, nil
	}
}

// Sandbox says how far workers are confined: "full", or what is missing. It starts a worker if there was none yet.
func (h *Host) Sandbox() string {
	h.mu.Lock()
	known := h.sandbox
	h.mu.Unlock()
	if known != "" {
		return known
	}
	p, err := h.take()
	if err != nil {
		return fmt.Sprintf("%sthe process that renders cannot be started: %v", sandboxNone, err)
	}
	h.give(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sandbox
}

// Close ends the workers that are idle; those that are not end with their render.
func (h *Host) Close() {
	h.mu.Lock()
	all := h.idle
	h.idle, h.closed = nil, true
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	for _, p := range all {
		p.End()
	}
}

// take gives a worker to the caller alone.
func (h *Host) take() (*process, error) {
	h.mu.Lock()
	if n := len(h.idle); n > 0 {
		p := h.idle[n-1]
		h.idle = h.idle[:n-1]
		h.mu.Unlock()
		return p, nil
	}
	h.mu.Unlock()
	p, level, err := startProcess(h.options.Command, h.options.Limits)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sandbox = level
	return p, nil
}

// checkEvery is after how many renders a worker's memory is looked at.
const checkEvery = 16

// give takes a worker back, or ends it.
func (h *Host) give(p *process) {
	old := p.served >= h.options.Renders || (p.served%checkEvery == 0 && p.served > 0 && p.heavy())
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case p.State() != nil:
		return // it has ended
	case p.spent || old || h.closed:
		go p.End()
		return
	}
	p.since = time.Now()
	h.idle = append(h.idle, p)
	if h.timer == nil {
		h.timer = time.AfterFunc(h.options.Idle, h.rest)
	}
}

// rest ends the workers that had nothing to do for a while.
func (h *Host) rest() {
	h.mu.Lock()
	var tired []*process
	h.idle = slices.DeleteFunc(h.idle, func(p *process) bool {
		if time.Since(p.since) < h.options.Idle {
			return false
		}
		tired = append(tired, p)
		return true
	})
	if len(h.idle) > 0 && !h.closed {
		h.timer.Reset(h.options.Idle)
	} else {
		h.timer = nil
	}
	h.mu.Unlock()
	for _, p := range tired {
		p.End()
	}
}
