package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// childWord as the first argument makes this program a child; the second says
// which part it plays.
const childWord = "child"

// setup is what a child needs to know.
type setup struct {
	Kubeconfig string `json:"kubeconfig"`
	// Profile is the beginning of the names of its profiles; empty means none.
	Profile string `json:"profile"`
	// Data is a folder that the child has for itself.
	Data string `json:"data"`
	Apps int    `json:"apps"`
	// Rate and Seconds are of the updates that a child makes by itself. For the
	// engine, Rate is how many objects a second are asked about again after a
	// start that knows nothing.
	Rate    int `json:"rate,omitempty"`
	Seconds int `json:"seconds,omitempty"`
	// Loop is for the bare program of a bootstrap.
	Loop loopSetup `json:"loop,omitzero"`
}

// order is what a child is told to do.
type order struct {
	Do string `json:"do"`
	// Object and Version name an object that must have been seen.
	Object  string `json:"object,omitempty"`
	Version string `json:"version,omitempty"`
	// Count is how many of something there must be.
	Count int `json:"count,omitempty"`
}

// reading is what a child answers: what the order cost, and what it counted.
type reading struct {
	Part string  `json:"part"`
	Do   string  `json:"do"`
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
	// Total is the CPU time of the process so far.
	Total  float64          `json:"total"`
	Server float64          `json:"server,omitempty"`
	Memory memory           `json:"memory"`
	Counts map[string]int64 `json:"counts,omitempty"`
	Error  string           `json:"error,omitempty"`
}

// part does what a child is told. The counts go into the answer.
type part interface {
	do(ctx context.Context, o order) (counts map[string]int64, err error)
}

// parts are what a child can play.
func parts() map[string]func(setup) (part, error) {
	return map[string]func(setup) (part, error){
		"index":    newIndexPart,
		"metadata": newMetadataPart,
		"list":     newListPart,
		"engine":   newEnginePart,
		"watch":    newWatchPart,
		"loop":     newLoopPart,
		"lists":    newListsPart,
		"refusal":  newRefusalPart,
		"calls":    newCallsPart,
		"lease":    newLeasePart,
		"fetch":    newFetchPart,
	}
}

// runChild obeys orders until there are no more.
func runChild(ctx context.Context, name string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	klog.SetSlogLogger(slog.Default())
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var s setup
	if err := orders.Decode(&s); err != nil {
		fmt.Fprintln(os.Stderr, "bench: reading the setup:", err)
		return exitRefused
	}
	p, err := parts()[name](s)
	for number := 1; ; number++ {
		var o order
		if orders.Decode(&o) != nil {
			return exitYes
		}
		answer := reading{Do: o.Do}
		if err == nil {
			answer = s.obey(ctx, p, o, s.profileOf(o, number))
		}
		answer.Part = name
		if err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return exitRefused
		}
	}
}

// obey carries out one order and measures it. The order "rest" is everybody's.
func (s setup) obey(ctx context.Context, p part, o order, profile string) reading {
	r := reading{Do: o.Do}
	if o.Do == "rest" {
		m, err := collect()
		r.Memory = m
		return r.with(errors.Join(err, writeHeap(profile)))
	}
	stop, err := startProfile(profile)
	if err != nil {
		return r.with(err)
	}
	stopServer, err := s.profileServer(ctx, profile)
	if err != nil {
		return r.with(err)
	}
	defer stopServer()
	before, err := ownCPU()
	if err != nil {
		return r.with(err)
	}
	start := time.Now()
	counts, err := p.do(ctx, o)
	r.Wall, r.Counts = time.Since(start).Seconds(), counts
	total, cpuErr := ownCPU()
	r.CPU, r.Total = total-before, total
	stop()
	return r.with(errors.Join(err, cpuErr))
}

func (r reading) with(err error) reading {
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// profiled are the orders that are worth a profile, one for each time:
// `go tool pprof` takes several files.
var profiled = []string{"load", "rest", "warm", "pass", "span", "bootstrap", "follow", "removed", "start", "looked"}

func (s setup) profileOf(o order, number int) string {
	if s.Profile == "" || !slices.Contains(profiled, o.Do) {
		return ""
	}
	return fmt.Sprintf("%s-%s-%d.prof", s.Profile, o.Do, number)
}

func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("making a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("making a profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

func writeHeap(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making a profile: %w", err)
	}
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}

// worker is a child as its parent sees it.
type worker struct {
	name    string
	cmd     *exec.Cmd
	input   io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// hire starts a child.
func (b *bench) hire(ctx context.Context, name string, s setup) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	if b.profile {
		b.hired++
		s.Profile = filepath.Join(b.out, fmt.Sprintf("%s-%s-%d", b.scenario, name, b.hired))
	}
	w := &worker{name: name, cmd: exec.CommandContext(ctx, self, childWord, name)}
	w.cmd.Stderr = b.progress
	if w.input, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	w.orders, w.answers = json.NewEncoder(w.input), json.NewDecoder(out)
	if err := w.orders.Encode(s); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), w.dismiss())
	}
	return w, nil
}

// tell gives an order and waits for the answer.
func (w *worker) tell(o order) (reading, error) {
	var r reading
	if err := w.orders.Encode(o); err != nil {
		return r, fmt.Errorf("telling %s to %s: %w", w.name, o.Do, err)
	}
	if err := w.answers.Decode(&r); err != nil {
		return r, fmt.Errorf("waiting for %s to %s: %w", w.name, o.Do, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("having %s %s: %s", w.name, o.Do, r.Error)
	}
	return r, nil
}

// dismiss ends the child: without orders it has nothing to live for.
func (w *worker) dismiss() error {
	_ = w.input.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("ending %s: %w", w.name, err)
	}
	return nil
}

// client reads the kubeconfig of a child. The client's own limit is off, as in
// the product.
func (s setup) client() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
