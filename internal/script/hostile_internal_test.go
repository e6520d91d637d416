package script

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const workerArgument = "script-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerArgument {
		if err := Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testHost(t *testing.T) *Host {
	t.Helper()
	h := NewHost(HostOptions{Command: []string{os.Args[0], workerArgument}})
	t.Cleanup(h.Close)
	return h
}

func documents(names ...string) []map[string]any {
	out := make([]map[string]any, len(names))
	for i, name := range names {
		out[i] = map[string]any{"obj": map[string]any{"metadata": map[string]any{"name": name}}}
	}
	return out
}

// hostile are scripts that want to hurt. Each runs for the object "evil" only.
var hostile = map[string]struct {
	source string
	open   bool
	want   string
}{
	"an endless loop":               {`while true do end`, false, "limit"},
	"an endless loop in a pcall":    {`while true do pcall(function() while true do end end) end`, false, "limit"},
	"a nest of pcalls":              {`local function f() while true do pcall(f) end end f()`, false, "limit"},
	"an xpcall with a handler":      {`while true do xpcall(function() while true do end end, function() while true do end end) end`, false, "limit"},
	"a repeat":                      {`repeat until false`, false, "limit"},
	"a goto in recursion":           {`local function f(n) if n == 0 then return 0 end return f(n - 1) + f(n - 1) end return f(60)`, false, "limit"},
	"a text that doubles":           {`local s = "xxxxxxxx" while true do s = s .. s end`, false, "limit"},
	"a text that doubles, caught":   {`while true do pcall(function() local s = "xxxxxxxx" while true do s = s .. s end end) end`, false, "limit"},
	"a list that grows":             {`local t = {} while true do t[#t + 1] = "x" .. #t end`, false, "limit"},
	"tables in tables":              {`local t = {} while true do t = {t, {}, {}, a = {}} end`, false, "limit"},
	"one huge index":                {`local t = {} t[60000000] = 1 return t`, false, "limit"},
	"many large texts":              {`local t = {} for i = 1, 1000 do t[i] = string.rep("x" .. i, 500000) end`, true, "limit"},
	"string.rep":                    {`return string.rep("x", 1000000000)`, true, "longer than"},
	"string.rep as a method":        {`return ("x"):rep(1000000000)`, true, "longer than"},
	"a pattern that backtracks":     {`return string.find(string.rep("a", 200), string.rep("a*", 60) .. "b")`, true, "limit"},
	"string.format":                 {`local s = string.rep("x", 1000000) while true do s = string.format("%s%s", s, s) end`, true, "limit"},
	"concat":                        {`local t = {} for i = 1, 100000 do t[i] = "yyyyyyyyyyyyyyyy" end local s = table.concat(t) while true do t = {} for i = 1, 64 do t[i] = s end s = table.concat(t) end`, false, "limit"},
	"deep recursion":                {`local function f() return 1 + f() end return f()`, false, "stack overflow"},
	"deep recursion by metatables":  {`local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. "x"] end return t.x`, false, "stack overflow"},
	"deep recursion in sort":        {`local function f() table.sort({3, 2, 1}, function(a, b) f() return a < b end) end f()`, false, "stack overflow"},
	"coroutines without end":        {`local t = {} while true do local c = coroutine.create(function() coroutine.yield() end) coroutine.resume(c) t[#t + 1] = c end`, true, "limit"},
	"coroutines in coroutines":      {`local function f() coroutine.wrap(f)() end f()`, true, "limit"},
	"load":                          {`return load("return 1")()`, false, "non-function"},
	"loadstring":                    {`return loadstring("while true do end")()`, true, "non-function"},
	"dofile":                        {`return dofile("/etc/passwd")`, true, "non-function"},
	"loadfile":                      {`return loadfile("/etc/passwd")()`, true, "non-function"},
	"os.execute":                    {`return os.execute("sleep 10")`, true, "non-function"},
	"os.execute by require":         {`return require("os").execute("sleep 10")`, false, "non-function"},
	"os.exit":                       {`os.exit(0)`, true, "non-function"},
	"io.open":                       {`return io.open("/etc/passwd")`, true, "nil"},
	"an answer larger than allowed": {`local t = {} local s = string.rep("x", 1000000) for i = 1, 20 do t[i] = s end return t`, true, "larger than"},
}

// TestHostile: whatever a script does, it is stopped soon and small, and the
// objects before and after it get their true answers.
func TestHostile(t *testing.T) {
	h := testHost(t)
	healthy := Script{Origin: "healthy", Source: `return obj.metadata.name`}
	if r := h.Run(healthy, documents("first")); r[0].Value != "first" {
		t.Fatalf("got %+v", r)
	}
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			s := Script{
				Origin: "argocd-cm key-of-" + name, OpenLibs: c.open,
				Source: `if obj.metadata.name == "evil" then ` + c.source + ` end return obj.metadata.name`,
			}
			// The worker of the second lane, where these end up, is there already.
			h.slow.run(healthy, nil)
			h.slow.mu.Lock()
			_, err := h.slow.start()
			h.slow.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			h.remember(s)
			w := h.slow.worker
			start := time.Now()
			got := h.Run(s, documents("a", "b", "evil", "c", "d"))
			took := time.Since(start)
			t.Logf("%s: %s, baseline %d MiB, at most %d MiB more: %s",
				name, took.Round(time.Millisecond), w.Baseline>>20, (max(w.peak, w.Baseline)-w.Baseline)>>20, got[2].Problem)
			for i, want := range []string{"a", "b", "", "c", "d"} {
				if i != 2 && got[i].Value != want {
					t.Errorf("the neighbour %s got %+v", want, got[i])
				}
			}
			if !strings.HasPrefix(got[2].Problem, s.Origin) || !strings.Contains(got[2].Problem, c.want) {
				t.Errorf("got %+v, want a problem of %s with %q", got[2], s.Origin, c.want)
			}
			if took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if w.peak > w.Baseline+64<<20 {
				t.Errorf("the worker grew by %d MiB", (w.peak-w.Baseline)>>20)
			}
		})
	}
	if r := h.Run(healthy, documents("last")); r[0].Value != "last" {
		t.Errorf("got %+v", r)
	}
}

// TestAHostileScriptHoldsUpItsLikeOnly: others are not behind it in the line.
func TestAHostileScriptHoldsUpItsLikeOnly(t *testing.T) {
	h := testHost(t)
	bad := Script{Origin: "bad", Source: `while true do end`}
	good := Script{Origin: "good", Source: `return obj.metadata.name`}
	h.Run(bad, documents("x"))
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() {
		defer close(over)
		h.Run(bad, documents("x", "y", "z", "u", "v", "w", "q", "r"))
	})
	n := 0
	for more := true; more; {
		select {
		case <-over:
			more = false
		default:
			if r := h.Run(good, documents("a")); r[0].Value != "a" {
				t.Fatalf("got %+v", r)
			}
			n++
		}
	}
	wg.Wait()
	if n < 10 {
		t.Errorf("only %d runs of another script while a bad one ran", n)
	}
}

func TestTheWorkerKnowsNothingOfItsParent(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "canary")
	h := testHost(t)
	if r := h.Run(Script{Source: `return obj.metadata.name`}, documents("x")); r[0].Problem != "" {
		t.Fatal(r[0].Problem)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.fast.worker.Pid()))
	if err != nil {
		t.Skip(err)
	}
	if strings.Contains(string(env), "canary") || strings.Contains(string(env), "HOME=") {
		t.Errorf("the worker's environment is %q", env)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.fast.worker.Pid()))
	if err != nil {
		t.Skip(err)
	}
	t.Logf("the worker has %d descriptors", len(files))
}

func TestTheWorkerEndsWithItsInput(t *testing.T) {
	h := testHost(t)
	if r := h.Run(Script{Source: `return 1`}, documents("x")); r[0].Problem != "" {
		t.Fatal(r[0].Problem)
	}
	w := h.fast.worker
	h.fast.worker = nil
	if err := w.In.Close(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(10*time.Second, w.Kill)
	defer late.Stop()
	if err := w.Wait(); err != nil {
		t.Errorf("it had to be killed: %v", err)
	}
}

func TestAnIdleWorkerIsLetGo(t *testing.T) {
	h := NewHost(HostOptions{Command: []string{os.Args[0], workerArgument}, Idle: time.Millisecond})
	defer h.Close()
	for range 3 {
		if r := h.Run(Script{Source: `return 1`}, documents("x")); r[0].Value != int64(1) {
			t.Fatalf("got %+v", r)
		}
		for gone := false; !gone; time.Sleep(time.Millisecond) {
			h.fast.mu.Lock()
			gone = h.fast.worker == nil
			h.fast.mu.Unlock()
		}
	}
}

func TestAWorkerThatCannotBeStarted(t *testing.T) {
	h := NewHost(HostOptions{Command: []string{"/nowhere/towline"}})
	r := h.Run(Script{Origin: "argocd-cm key", Source: `return 1`}, documents("x", "y"))
	if len(r) != 2 || !strings.Contains(r[1].Problem, "argocd-cm key: the process that runs scripts cannot be started") {
		t.Errorf("got %+v", r)
	}
}

func TestCheck(t *testing.T) {
	h := testHost(t)
	if p := h.Check(Script{Source: `while true do end`}); p != "" {
		t.Errorf("got %q", p)
	}
	p := h.Check(Script{Origin: "argocd-cm key", Source: "local x = 1\nx = = 2\n"})
	if !strings.HasPrefix(p, "argocd-cm key: ") || !strings.Contains(p, "line 2") {
		t.Errorf("got %q", p)
	}
}

func BenchmarkHost(b *testing.B) {
	h := NewHost(HostOptions{Command: []string{os.Args[0], workerArgument}})
	defer h.Close()
	s := Script{Source: `hs = {} hs.status = "Progressing" if obj.status ~= nil then hs.status = obj.status.phase end return hs`}
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			runs := make([]map[string]any, n)
			for i := range runs {
				runs[i] = map[string]any{"obj": widget()}
			}
			for b.Loop() {
				if r := h.Run(s, runs); r[0].Problem != "" {
					b.Fatal(r[0].Problem)
				}
			}
		})
	}
}
