package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// attempts are what a worker must not be able to do. Each gives nil if it could.
func attempts(address string) map[string]func() error {
	raw := func(call, a, b, c uintptr) func() error {
		return func() error {
			if _, _, errno := unix.Syscall(call, a, b, c); errno != 0 {
				return errno
			}
			return nil
		}
	}
	return map[string]func() error{
		"open /etc/passwd": func() error {
			_, err := os.ReadFile("/etc/passwd")
			return err
		},
		"list /": func() error {
			_, err := os.ReadDir("/")
			return err
		},
		"write a file": func() error {
			return os.WriteFile(filepath.Join(os.TempDir(), "towline-probe-"+strconv.Itoa(os.Getpid())), nil, 0o600)
		},
		"stat a file": func() error {
			_, err := os.Stat("/etc/passwd")
			return err
		},
		"dial loopback": func() error {
			conn, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
		"listen":           func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"send a datagram":  raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, 0),
		"a unix socket":    raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0),
		"a netlink socket": raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		"execute /bin/true": func() error {
			return exec.Command("/bin/true").Run()
		},
		"execve itself": func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
		"fork": func() error {
			pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return nil
		},
		"ptrace":               raw(unix.SYS_PTRACE, unix.PTRACE_PEEKTEXT, uintptr(os.Getppid()), 0),
		"signal to its parent": func() error { return syscall.Kill(os.Getppid(), 0) },
		"read its parent":      func() error { _, err := unix.ProcessVMReadv(os.Getppid(), nil, nil, 0); return err },
		"mount":                raw(unix.SYS_MOUNT, 0, 0, 0),
		"unshare":              raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0),
		"bpf":                  raw(unix.SYS_BPF, 0, 0, 0),
		"io_uring_setup":       raw(unix.SYS_IO_URING_SETUP, 1, 0, 0),
		"keyctl":               raw(unix.SYS_KEYCTL, 0, 0, 0),
		"userfaultfd":          raw(unix.SYS_USERFAULTFD, 0, 0, 0),
		"memfd_create": func() error {
			name := []byte("probe\x00")
			_, _, errno := unix.Syscall(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&name[0])), 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		},
		"memory that is a program": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
			return err
		},
		"more files": func() error {
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1})
		},
	}
}

// probe tries everything under some confinement and tells what came of it.
func probe(ctx context.Context, how, address string) {
	out := map[string]string{}
	// A thread that is there before, on which the first attempt may run.
	go func() { time.Sleep(time.Hour) }()
	switch how {
	case "all":
		warm(ctx, warmUps())
		out["sandbox"] = confine()
	case "files":
		out["sandbox"] = restrictFiles()
	case "calls":
		warm(ctx, coldWarmUps())
		if err := filterCalls(); err != nil {
			out["sandbox"] = err.Error()
		}
	}
	for name, attempt := range attempts(address) {
		if (how == "free" || how == "files") && (name == "execve itself" || name == "more files") {
			continue // nothing would come after it
		}
		switch err := attempt(); {
		case err == nil:
			out[name] = "done"
		case errors.Is(err, unix.EPERM):
			out[name] = "EPERM"
		case errors.Is(err, unix.EACCES):
			out[name] = "EACCES"
		default:
			out[name] = err.Error()
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		out["sandbox"] = err.Error()
	}
	fmt.Println(string(text))
}

func probed(t *testing.T, how string) map[string]string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], probeArgument, how, listener.Addr().String())
	cmd.Env = []string{"GOMAXPROCS=2", "TMPDIR=" + t.TempDir()}
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("the probe %s: %v, %s", how, err, text)
	}
	out := map[string]string{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("the probe %s said %q", how, text)
	}
	t.Logf("%s: %v", how, out)
	return out
}

// TestTheSandboxRefuses tries what a worker must not do, in a process that is confined as a worker is. That the same is
// done by a process that is not shows that it is the sandbox that refuses.
func TestTheSandboxRefuses(t *testing.T) {
	free, all := probed(t, "free"), probed(t, "all")
	if strings.HasPrefix(all["sandbox"], sandboxNone) {
		t.Skipf("this kernel has no sandbox: %s", all["sandbox"])
	}
	if all["sandbox"] != sandboxFull {
		t.Logf("the sandbox is not full here: %s", all["sandbox"])
	}
	for name := range attempts("") {
		t.Run(name, func(t *testing.T) {
			if got := all[name]; got != "EPERM" && got != "EACCES" {
				t.Errorf("the kernel did not refuse it: %s", got)
			}
			if free[name] != "done" {
				t.Logf("a process that is free cannot do it here either: %s", free[name])
			}
		})
	}
	for _, name := range []string{
		"open /etc/passwd", "list /", "write a file", "dial loopback", "listen", "a unix socket", "execute /bin/true", "fork", "signal to its parent",
	} {
		if free[name] != "done" {
			t.Errorf("%s: a process that is free should be able to: %s", name, free[name])
		}
	}
}

// TestEachWallStandsAlone: where one of the two is missing the other still holds.
func TestEachWallStandsAlone(t *testing.T) {
	t.Run("landlock", func(t *testing.T) {
		abi, err := llsys.LandlockGetABIVersion()
		if err != nil || abi < networkABI {
			t.Skipf("landlock is of version %d here (%v): it has no rules for the network", abi, err)
		}
		got := probed(t, "files")
		for _, name := range []string{"open /etc/passwd", "list /", "write a file", "dial loopback", "execute /bin/true"} {
			if got[name] != "EACCES" {
				t.Errorf("%s: %s", name, got[name])
			}
		}
	})
	t.Run("system calls", func(t *testing.T) {
		got := probed(t, "calls")
		if got["sandbox"] != "" {
			t.Skipf("no filter here: %s", got["sandbox"])
		}
		for name := range attempts("") {
			if got[name] != "EPERM" {
				t.Errorf("%s: %s", name, got[name])
			}
		}
	})
}

// TestTheWorkerKnowsNothingOfItsParent: it has no environment, no descriptors but three and the runtime's, and a filter
// on each thread.
func TestTheWorkerKnowsNothingOfItsParent(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "canary")
	h := testHost(t, HostOptions{})
	if _, err := h.Render(t.Context(), nil, plugin("a")); err == nil {
		t.Fatal("a render of nothing went well")
	}
	p := h.idle[0]
	proc := func(name string) string { return fmt.Sprintf("/proc/%d/%s", p.Pid(), name) }
	env, err := os.ReadFile(proc("environ"))
	if err != nil {
		t.Skip(err)
	}
	if strings.Contains(string(env), "canary") || strings.Contains(string(env), "HOME=") {
		t.Errorf("the worker's environment is %q", env)
	}
	files, err := os.ReadDir(proc("fd"))
	if err != nil {
		t.Skip(err)
	}
	for _, file := range files {
		target, err := os.Readlink(proc("fd/" + file.Name()))
		// The runtime opens what tells how many processors it may use before it asks whether it has to know.
		if err == nil && !slices.ContainsFunc([]string{"pipe:", "anon_inode:", "/dev/null", "/sys/fs/cgroup/"}, func(known string) bool {
			return strings.HasPrefix(target, known)
		}) {
			t.Errorf("the worker holds %s", target)
		}
	}
	threads, err := os.ReadDir(proc("task"))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(proc("task/" + thread.Name() + "/status"))
		if err != nil {
			continue // it has ended
		}
		for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("thread %s of %d is not confined: no %q", thread.Name(), len(threads), want)
			}
		}
	}
	if adj, err := os.ReadFile(proc("oom_score_adj")); err == nil && strings.TrimSpace(string(adj)) != "1000" {
		t.Errorf("oom_score_adj is %s", adj)
	}
	if got := h.Sandbox(); got != sandboxFull && !strings.HasPrefix(got, sandboxPartial) {
		t.Errorf("Sandbox = %q", got)
	}
}
