package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/engine"
)

func TestAsks(t *testing.T) {
	annotate := func(name, value string) func(*v1alpha1.Application) {
		return func(a *v1alpha1.Application) { a.Annotations = map[string]string{name: value} }
	}
	none := func(*v1alpha1.Application) {}
	running := func(a *v1alpha1.Application) { a.Operation = &v1alpha1.Operation{Sync: &v1alpha1.SyncOperation{}} }
	phase := func(p v1alpha1.OperationPhase) func(*v1alpha1.Application) {
		return func(a *v1alpha1.Application) { a.Status.OperationState = &v1alpha1.OperationState{Phase: p} }
	}
	cases := map[string]struct {
		old, app func(*v1alpha1.Application)
		want     bool
	}{
		"nothing":                    {none, none, false},
		"status":                     {none, func(a *v1alpha1.Application) { a.Status.Sync.Status = "Synced" }, false},
		"resourceVersion":            {none, func(a *v1alpha1.Application) { a.ResourceVersion = "2" }, false},
		"a label":                    {none, func(a *v1alpha1.Application) { a.Labels = map[string]string{"x": "y"} }, false},
		"an annotation":              {none, annotate("x", "y"), false},
		"spec":                       {none, func(a *v1alpha1.Application) { a.Spec.Project = "team" }, true},
		"an operation":               {none, running, true},
		"the operation goes":         {running, none, false},
		"the operation stays":        {running, running, false},
		"another operation":          {running, func(a *v1alpha1.Application) { running(a); a.Operation.Sync.Prune = true }, true},
		"refresh":                    {none, annotate(v1alpha1.AnnotationRefresh, "normal"), true},
		"refresh stays":              {annotate(v1alpha1.AnnotationRefresh, "normal"), annotate(v1alpha1.AnnotationRefresh, "normal"), false},
		"refresh becomes hard":       {annotate(v1alpha1.AnnotationRefresh, "normal"), annotate(v1alpha1.AnnotationRefresh, "hard"), true},
		"refresh goes":               {annotate(v1alpha1.AnnotationRefresh, "normal"), none, false},
		"skip":                       {none, annotate(v1alpha1.AnnotationSkipReconcile, "true"), true},
		"skip no more":               {annotate(v1alpha1.AnnotationSkipReconcile, "true"), none, true},
		"deletion":                   {none, func(a *v1alpha1.Application) { a.DeletionTimestamp = &metav1.Time{} }, true},
		"a sync begins":              {none, phase(v1alpha1.OperationRunning), false},
		"a sync is to be terminated": {phase(v1alpha1.OperationRunning), phase(v1alpha1.OperationTerminating), true},
		"a sync is being terminated": {phase(v1alpha1.OperationTerminating), phase(v1alpha1.OperationTerminating), false},
		"a sync was terminated":      {phase(v1alpha1.OperationTerminating), phase(v1alpha1.OperationFailed), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, app := follower("a", "one", "main"), follower("a", "one", "main")
			c.old(old)
			c.app(app)
			if got := asks(old, app); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// script is a Reconciler that answers in turn, the last answer for ever.
type script struct {
	mu      sync.Mutex
	began   time.Time
	answers map[string][]func() (engine.Result, error)
	calls   map[string][]time.Duration
}

func (s *script) Reconcile(ctx context.Context, name string) (engine.Result, error) {
	s.mu.Lock()
	n := len(s.calls[name])
	s.calls[name] = append(s.calls[name], time.Since(s.began))
	list := s.answers[name]
	s.mu.Unlock()
	if len(list) == 0 {
		return engine.Result{}, ctx.Err()
	}
	return list[min(n, len(list)-1)]()
}

func (s *script) times(name string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

type answers = map[string][]func() (engine.Result, error)

func say(after time.Duration, err error) func() (engine.Result, error) {
	return func() (engine.Result, error) { return engine.Result{After: after}, err }
}

// controlled runs a controller in a bubble until the test returns.
func controlled(t *testing.T, workers int, a answers, test func(t *testing.T, c *Controller, s *script)) {
	t.Helper()
	quiet := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(quiet)
	synctest.Test(t, func(t *testing.T) {
		s := &script{began: time.Now(), answers: a, calls: map[string][]time.Duration{}}
		c := New(Options{
			Reconciler: s, Resolver: &repository{}, Workers: workers,
			Poll: func() (time.Duration, time.Duration) { return 0, 0 },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Run(ctx) })
		test(t, c, s)
		cancel()
		wg.Wait()
	})
}

func TestControllerRetries(t *testing.T) {
	transient := fault.Transientf("Unreachable", "no network")
	cases := map[string]struct {
		answers []func() (engine.Result, error)
		want    []time.Duration
	}{
		"done": {[]func() (engine.Result, error){say(0, nil)}, []time.Duration{0}},
		"a terminal error is for a person": {
			[]func() (engine.Result, error){say(0, fault.Terminalf("Forbidden", "no"))}, []time.Duration{0},
		},
		"a waiting error is for an event": {
			[]func() (engine.Result, error){say(0, fault.Waitingf("NotFound", "not yet"))}, []time.Duration{0},
		},
		"a transient error is tried again, less and less often": {
			[]func() (engine.Result, error){say(0, transient), say(0, transient), say(0, transient), say(0, nil)},
			[]time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 350 * time.Millisecond},
		},
		"an error that nobody classified is transient": {
			[]func() (engine.Result, error){say(0, errors.New("what?")), say(0, nil)}, []time.Duration{0, 50 * time.Millisecond},
		},
		"after is honoured": {
			[]func() (engine.Result, error){say(time.Minute, nil), say(1, nil), say(0, nil)}, []time.Duration{0, time.Minute, time.Minute + 1},
		},
		"a panic is an error like others": {
			[]func() (engine.Result, error){func() (engine.Result, error) { panic("poison") }, say(0, nil)}, []time.Duration{0, 50 * time.Millisecond},
		},
		"a success forgets the failures before it": {
			[]func() (engine.Result, error){say(0, transient), say(0, transient), say(time.Second, nil), say(0, transient), say(0, nil)},
			[]time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 1150 * time.Millisecond, 1200 * time.Millisecond},
		},
		"a terminal error forgets them too": {
			[]func() (engine.Result, error){say(0, transient), say(0, fault.Terminalf("Forbidden", "no"))}, []time.Duration{0, 50 * time.Millisecond},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			controlled(t, 2, answers{"a": c.answers}, func(t *testing.T, ctl *Controller, s *script) {
				ctl.Enqueue("a", User)
				pass(time.Hour)
				if d := cmp.Diff(c.want, s.times("a")); d != "" {
					t.Errorf("the times differ (-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestRetriesAreNeverFurtherApartThanTwoMinutes(t *testing.T) {
	controlled(t, 1, answers{"a": {say(0, errors.New("down"))}}, func(t *testing.T, c *Controller, s *script) {
		c.Enqueue("a", User)
		pass(time.Hour)
		times := s.times("a")
		if n := len(times); n < 30 || n > 50 {
			t.Fatalf("%d tries in an hour", n)
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap > 2*time.Minute {
				t.Errorf("try %d came after %v", i, gap)
			}
		}
	})
}

// TestAPoisonApplicationDoesNotStopTheOthers has one worker and an application
// that panics each time.
func TestAPoisonApplicationDoesNotStopTheOthers(t *testing.T) {
	poison := func() (engine.Result, error) { panic(errors.New("nil map")) }
	controlled(t, 1, answers{"poison": {poison}, "good": {say(0, nil)}}, func(t *testing.T, c *Controller, s *script) {
		c.Enqueue("poison", User)
		c.Enqueue("good", Resync)
		pass(time.Second)
		if len(s.times("good")) != 1 || len(s.times("poison")) < 3 {
			t.Errorf("good was looked at %d times, poison %d times", len(s.times("good")), len(s.times("poison")))
		}
	})
}

func TestApplicationChanged(t *testing.T) {
	app := follower("a", "one", "main")
	written := app.DeepCopy()
	written.Status.Sync.Status = v1alpha1.SyncStatusCodeSynced
	asked := app.DeepCopy()
	asked.Spec.Project = "team"
	cases := map[string]struct {
		old, app *v1alpha1.Application
		want     int
	}{
		"came":           {nil, app, 1},
		"went":           {app, nil, 1},
		"status written": {app, written, 0},
		"spec changed":   {app, asked, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			controlled(t, 1, nil, func(t *testing.T, ctl *Controller, s *script) {
				ctl.ApplicationChanged(c.old, c.app)
				pass(time.Minute)
				if got := len(s.times("a")); got != c.want {
					t.Errorf("looked at %d times, want %d", got, c.want)
				}
				ctl.ApplicationChanged(app, nil)
			})
		})
	}
}

// TestTheFirstReadingIsNotUrgent: at the start every application "comes"; a
// person who waits goes before them.
func TestTheFirstReadingIsNotUrgent(t *testing.T) {
	c := New(Options{Poll: func() (time.Duration, time.Duration) { return 0, 0 }})
	defer c.queue.ShutDown()
	defer c.poller.stop()
	c.ApplicationChanged(nil, follower("fleet", "one", "main"))
	c.Enqueue("asked", Drift)
	c.running.Store(true)
	c.ApplicationChanged(nil, follower("new", "one", "main"))
	if d := cmp.Diff([]string{"new", "asked", "fleet"}, c.lanes.drain()); d != "" {
		t.Errorf("the order differs (-want +got):\n%s", d)
	}
}
