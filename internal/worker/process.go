package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// startLimit is how long a worker may take to say that it is there.
const startLimit = 20 * time.Second

// Process is a worker, as its parent sees it.
type Process struct {
	In  io.WriteCloser
	Out *bufio.Reader
	// Hello is what it said when it was ready.
	Hello []byte
	// Baseline is the memory that it had when it began.
	Baseline uint64

	cmd    *exec.Cmd
	stderr *firstWords
}

// Start starts a program and waits until it says, by a first message, that it is ready. It is given nothing of this
// process: no tokens, no proxies, no paths.
func Start(command []string) (*Process, error) {
	if len(command) == 0 {
		return nil, errors.New("no command is set")
	}
	p := &Process{stderr: &firstWords{}}
	p.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx // its runs have limits of their own
	p.cmd.Env = []string{"GOTRACEBACK=none", "GOMAXPROCS=2"}
	p.cmd.Dir = "/"
	p.cmd.Stderr = p.stderr
	bind(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.In, p.Out = in, bufio.NewReaderSize(out, 16<<10)
	late := time.AfterFunc(startLimit, p.Kill)
	defer late.Stop()
	if p.Hello, err = ReadFrame(p.Out, nil); err != nil {
		p.Kill()
		_ = p.cmd.Wait()
		return nil, fmt.Errorf("it ended at once: %s", p.stderr.first(err.Error()))
	}
	p.Baseline, _ = Usage(p.Pid())
	return p, nil
}

// Pid is the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends it at once, whatever it does.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Wait waits for its end.
func (p *Process) Wait() error { return p.cmd.Wait() }

// End lets a worker go that did nothing wrong.
func (p *Process) End() {
	_ = p.In.Close()
	late := time.AfterFunc(time.Second, p.Kill)
	defer late.Stop()
	_ = p.cmd.Wait()
}

// State is how it ended, after Wait.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Said is the first line that it wrote to its standard error.
func (p *Process) Said() string { return p.stderr.first("") }

// outOfMemory are the words of a runtime that gets no more from the kernel: for its heap, for the stack of another
// thread, or where nobody asked whether it did.
var outOfMemory = []string{
	"out of memory", "cannot allocate memory", "failed to allocate", "pthread_create failed", "failed to create new OS thread",
	"SIGSEGV: segmentation violation", "unexpected signal during runtime execution",
}

// OutOfMemory reports whether it said that it got no more memory.
func (p *Process) OutOfMemory() bool {
	said := p.Said()
	return slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(said, words) })
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
