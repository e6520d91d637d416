package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/engine"
)

// TestAPlaceHasItsShare: of six workers one of two places has three, and what it
// may not have is passed by what the other has.
func TestAPlaceHasItsShare(t *testing.T) {
	l := newLanes()
	l.workers = 6
	for i := range 5 {
		l.move(fmt.Sprint("slow ", i), "slow", true)
		l.add(fmt.Sprint("slow ", i), User)
	}
	if l.Len() != 5 {
		t.Errorf("alone, %d of 5 may be taken", l.Len())
	}
	l.move("quick", "quick", true)
	l.add("quick", Resync)
	if d := cmp.Diff([]string{"slow 0", "slow 1", "slow 2", "quick"}, l.drain()); d != "" {
		t.Errorf("the order differs (-want +got):\n%s", d)
	}
	l.done("slow 1")
	if d := cmp.Diff([]string{"slow 3"}, l.drain()); d != "" {
		t.Errorf("after one is done the order differs (-want +got):\n%s", d)
	}
	l.move("quick", "", false)
	if d := cmp.Diff([]string{"slow 4"}, l.drain()); d != "" {
		t.Errorf("alone again the order differs (-want +got):\n%s", d)
	}
}

func to(name, server string) *v1alpha1.Application {
	app := follower(name, "one", "main")
	app.Spec.Destination = v1alpha1.ApplicationDestination{Server: server}
	return app
}

// stuck does not come back for the applications of one cluster.
type stuck struct {
	mu    sync.Mutex
	calls map[string]int
	free  chan struct{}
}

func (s *stuck) Reconcile(_ context.Context, name string) (engine.Result, error) {
	s.mu.Lock()
	s.calls[name]++
	s.mu.Unlock()
	if name[0] == 'd' {
		<-s.free
	}
	return engine.Result{}, nil
}

func (s *stuck) count(names ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, name := range names {
		n += s.calls[name]
	}
	return n
}

// TestADeadClusterCostsItsOwn: while the applications of one cluster hold on to
// their workers, those of another are looked at as often as they ask.
func TestADeadClusterCostsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{calls: map[string]int{}, free: make(chan struct{})}
		c := New(Options{
			Reconciler: s, Resolver: &repository{}, Workers: 4, Place: func(d v1alpha1.ApplicationDestination) string { return d.Server },
			Poll: func() (time.Duration, time.Duration) { return 0, 0 },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Run(ctx) })
		var dead []string
		for i := range 20 {
			dead = append(dead, fmt.Sprint("dead ", i))
		}
		c.ApplicationChanged(nil, to("well", "https://well"))
		for _, name := range dead {
			c.ApplicationChanged(nil, to(name, "https://dead"))
		}
		pass(time.Second)
		if n := s.count(dead...); n != 2 {
			t.Errorf("%d workers are held up, want half of 4", n)
		}
		for range 10 {
			c.Enqueue("well", Drift)
			pass(time.Second)
		}
		if n := s.count("well"); n != 11 {
			t.Errorf("the other was looked at %d times, want 11", n)
		}
		close(s.free)
		pass(time.Second)
		if n := s.count(dead...); n != 20 {
			t.Errorf("%d of 20 were looked at when it was over", n)
		}
		cancel()
		wg.Wait()
	})
}

func TestClustersChanged(t *testing.T) {
	c := New(Options{Poll: func() (time.Duration, time.Duration) { return 0, 0 }})
	defer c.queue.ShutDown()
	defer c.poller.stop()
	named := follower("named", "one", "main")
	named.Spec.Destination = v1alpha1.ApplicationDestination{Name: "prod"}
	for _, app := range []*v1alpha1.Application{to("a", "https://PROD/"), to("b", "https://other"), to("moves", "https://prod"), named} {
		c.ApplicationChanged(nil, app)
	}
	c.ApplicationChanged(to("moves", "https://prod"), to("moves", "https://other"))
	c.lanes.drain()
	got := c.deployed([]v1alpha1.ApplicationDestination{{Server: "https://prod"}, {Name: "prod"}})
	if d := cmp.Diff([]string{"a", "named"}, got); d != "" {
		t.Errorf("the applications differ (-want +got):\n%s", d)
	}
	c.ApplicationChanged(named, nil)
	if got := c.deployed([]v1alpha1.ApplicationDestination{{Name: "prod"}}); len(got) != 0 || len(c.to) != 2 {
		t.Errorf("one that is gone is kept: %v, %v", got, c.to)
	}
	if !slices.Contains(c.deployed([]v1alpha1.ApplicationDestination{{Server: "https://other/"}}), "moves") {
		t.Error("one that moved is not where it went")
	}
}
