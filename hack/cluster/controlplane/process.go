package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// component is one program of the control plane: how to start it, and the process that runs now.
type component struct {
	Name    string   `json:"name"`
	Path    string   `json:"path"`
	Args    []string `json:"args"`
	LogFile string   `json:"logFile"`
	PID     int      `json:"pid"`
	// Identity tells the process from a later one with the same pid.
	Identity string `json:"identity"`

	// done is closed when the process has ended; nil if another process started it.
	done chan struct{}
	exit error
}

// spawner starts all children from one OS thread that lives as long as they do.
//
// Linux delivers a child's parent-death signal when the THREAD that made it ends, not the process. The Go runtime
// moves goroutines between threads and ends threads as it likes, so a child started from any goroutine could be
// killed in the middle of a test. Therefore one goroutine locks itself to its thread, makes every child, and ends
// only after the last of them.
type spawner struct {
	work chan func()
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range s.work {
			job()
		}
		// Returning without unlocking ends the thread, which is safe now: no child is left.
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

func (s *spawner) close() { close(s.work) }

// start runs the component. A detached one gets a session of its own and outlives this process.
func (c *component) start(s *spawner, dir string, detach bool) error {
	log, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", c.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	// A clean environment: kwok would read ~/.kwok and the others proxies and feature switches of the caller.
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	cmd.SysProcAttr = childAttributes(detach)
	if err := s.start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", c.Name, err)
	}
	done := make(chan struct{})
	c.done, c.exit, c.PID = done, nil, cmd.Process.Pid
	c.Identity, _ = processIdentity(c.PID)
	go func() {
		c.exit = cmd.Wait()
		close(done)
	}()
	return nil
}

// alive says whether the very process that was started still runs.
func (c *component) alive() bool {
	if c.done != nil {
		select {
		case <-c.done:
			return false
		default:
			return true
		}
	}
	if c.PID == 0 {
		return false
	}
	identity, err := processIdentity(c.PID)
	return err == nil && identity == c.Identity
}

// stop signals the process and waits for its end. A process that is gone, or whose pid now belongs to another
// one, is left alone.
func (c *component) stop(ctx context.Context, signal syscall.Signal) error {
	if !c.alive() {
		return nil
	}
	if err := syscall.Kill(c.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signalling %s (pid %d): %w", c.Name, c.PID, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for c.alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of %s (pid %d): %w", c.Name, c.PID, context.Cause(ctx))
		case <-c.done:
		case <-tick.C:
		}
	}
	return nil
}

// tail returns the end of the component's log, for error messages.
func (c *component) tail() string {
	const most = 3000
	data, err := os.ReadFile(c.LogFile)
	if err != nil {
		return err.Error()
	}
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return string(data)
}

func newComponent(b Binaries, dir, name string, args []string) *component {
	return &component{Name: name, Path: b.Path(name), Args: args, LogFile: filepath.Join(dir, name+".log")}
}
